//! The pictures of a report, as SVG. Each colour stands for a meaning; the page's style gives it its shade.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::Axis;
use crate::replay::tally::Counts;

pub(super) const ALLOWED: RGBColor = RGBColor(0x25, 0x63, 0xA8);
pub(super) const DENIED: RGBColor = RGBColor(0xC2, 0x41, 0x0C);
pub(super) const FAINT: RGBColor = RGBColor(0x4B, 0x55, 0x63);

const WIDTH: u32 = 560;
const HEIGHT: u32 = 220;
/// Of a time line in a row of a table.
const SPARK: (u32, u32) = (192, 26);

const FONT: (&str, i32) = ("sans-serif", 16);

/// The key with that many requests, at its rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank {
    pub(super) rank: usize,
    pub(super) requests: u64,
    pub(super) is_denied: bool,
}

/// Allowed and denied requests by span, the denied ones above the allowed.
pub(super) fn over_time(axis: &Axis, counts: &[Counts]) -> Result<String> {
    draw((WIDTH, HEIGHT), |root| {
        let most = counts.iter().map(Counts::all).max().unwrap_or(0).max(1);
        let mut chart = ChartBuilder::on(root)
            .margin(6)
            .margin_right(24)
            .x_label_area_size(28)
            .y_label_area_size(58)
            .build_cartesian_2d(0.0..axis.count as f64, 0.0..most as f64)
            .map_err(drawn)?;
        let format = if axis.has_days() { "%d %b %Hh" } else { "%H:%M:%S" };
        let time = |place: &f64| axis.start_of(*place).strftime(format).to_string();
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(FAINT)
            .label_style(FONT.into_font().color(&FAINT))
            .x_labels(5)
            .y_labels(4)
            .x_label_formatter(&time)
            .y_label_formatter(&|count| format!("{count:.0}"))
            .draw()
            .map_err(drawn)?;
        chart.draw_series(bars(counts)).map_err(drawn)?;
        Ok(())
    })
}

/// The same without axes, for a row of a table.
pub(super) fn spark(counts: &[Counts]) -> Result<String> {
    draw(SPARK, |root| {
        let most = counts.iter().map(Counts::all).max().unwrap_or(0).max(1);
        let mut chart = ChartBuilder::on(root)
            .build_cartesian_2d(0.0..counts.len() as f64, 0.0..most as f64)
            .map_err(drawn)?;
        chart.draw_series(bars(counts)).map_err(drawn)?;
        Ok(())
    })
}

/// The requests of clients by their rank, both logarithmic; those that are denied are hollow.
pub(super) fn by_use(ranks: &[Rank]) -> Result<String> {
    draw((WIDTH, HEIGHT), |root| {
        let last = ranks.iter().map(|rank| rank.rank).max().unwrap_or(1).max(2);
        let most = ranks.iter().map(|rank| rank.requests).max().unwrap_or(1).max(2);
        let mut chart = ChartBuilder::on(root)
            .margin(6)
            .margin_right(24)
            .x_label_area_size(46)
            .y_label_area_size(58)
            .build_cartesian_2d((0.9..last as f64 * 1.2).log_scale(), (0.9..most as f64 * 1.2).log_scale())
            .map_err(drawn)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(FAINT)
            .label_style(FONT.into_font().color(&FAINT))
            .x_labels(5)
            .y_labels(4)
            .x_desc("clients by use, the heaviest first; both axes logarithmic")
            .x_label_formatter(&|rank| format!("{rank:.0}"))
            .y_label_formatter(&|requests| format!("{requests:.0}"))
            .draw()
            .map_err(drawn)?;
        let dots = ranks.iter().map(|rank| {
            let at = (rank.rank as f64, rank.requests as f64);
            if rank.is_denied {
                Circle::new(at, 5, DENIED.stroke_width(2))
            } else {
                Circle::new(at, 3, ALLOWED.filled())
            }
        });
        chart.draw_series(dots).map_err(drawn)?;
        Ok(())
    })
}

/// The SVG that `paint` draws.
fn draw(
    size: (u32, u32),
    paint: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Result<()>,
) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        paint(&root)?;
        root.present().map_err(drawn)?;
    }
    Ok(svg)
}

fn bars(counts: &[Counts]) -> impl Iterator<Item = Rectangle<(f64, f64)>> + '_ {
    counts.iter().enumerate().flat_map(|(place, counts)| {
        let (left, right) = (place as f64, place as f64 + 1.0);
        let (allowed, all) = (counts.allowed as f64, counts.all() as f64);
        let bar = |from: f64, to: f64, colour: RGBColor| {
            (to > from).then(|| Rectangle::new([(left, from), (right, to)], colour.filled()))
        };
        [bar(0.0, allowed, ALLOWED), bar(allowed, all, DENIED)].into_iter().flatten()
    })
}

fn drawn(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("a picture cannot be drawn: {error}")
}
