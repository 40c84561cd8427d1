//! The plots, as SVG.
//!
//! A store has its colour in all of them; ratecell's lines are thick, the floors' are grey. Lines are named at
//! their ends.

use std::error::Error;
use std::fs;
use std::path::Path;

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::contests::{BACK_TO_BACK, LONE, TWO, ZIPF, table};
use crate::results::{Part, Results};
use crate::stores::{Answer, floor, governor, maps, pingora, ratecell, throttlecrab};
use crate::{grouped, storm};

type Drawn = Result<(), Box<dyn Error>>;

const SIZE: (u32, u32) = (960, 540);
const FONT: &str = "sans-serif";
const GREY: RGBColor = RGBColor(140, 140, 140);
const OURS: RGBColor = RGBColor(200, 30, 30);

/// A row of the tables as a line: its name beside it, its colour, and whether it is drawn thick.
struct Line {
    row: &'static str,
    name: &'static str,
    colour: RGBColor,
    width: u32,
}

const fn line(row: &'static str, name: &'static str, (r, g, b): (u8, u8, u8), width: u32) -> Line {
    Line { row, name, colour: RGBColor(r, g, b), width }
}

/// Colours that differ for the colour-blind too: those of Okabe and Ito, and greys.
const LINES: [Line; 13] = [
    line(floor::LOAD, "floor: one line's load", (140, 140, 140), 1),
    line(ratecell::OWN_CLOCK, "ratecell", (200, 30, 30), 4),
    line(ratecell::CALLER_HASH, "ratecell, caller's clock and hash", (235, 110, 90), 4),
    line(ratecell::BATCH_32, "ratecell, batch of 32", (120, 0, 40), 4),
    line(governor::OWN_CLOCK, "governor", (0, 114, 178), 2),
    line(governor::CALLER_HASH, "governor, caller's clock and hash", (86, 180, 233), 2),
    line(governor::HASH_MAP_OWN_CLOCK, "governor in a HashMap", (60, 70, 150), 2),
    line(maps::PAPAYA, "papaya", (230, 159, 0), 2),
    line(maps::SCC, "scc", (204, 121, 167), 2),
    line(maps::SHARDED, "64 RwLock<hashbrown>", (0, 158, 115), 2),
    line(maps::MUTEX, "Mutex<hashbrown>", (110, 150, 40), 2),
    line(throttlecrab::NAME, "throttlecrab", (150, 100, 60), 2),
    line(pingora::NAME, "pingora-limits", (90, 90, 90), 2),
];

fn text(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&BLACK)
}

/// What a decision takes over the number of keys, of one table.
fn by_keys(results: &Results, title: &str, caption: &str, path: &Path) -> Drawn {
    let title = table(title, Answer::Allowed);
    let columns: Vec<_> = results.columns.iter().filter(|column| column.table == title).collect();
    if columns.len() < 2 {
        return Ok(());
    }
    let last = (columns.len() - 1) as f64;
    let medians = |row: &str| -> Vec<(f64, f64)> {
        let medians = columns
            .iter()
            .enumerate()
            .filter_map(|(at, column)| column.row(row).map(|series| (at as f64, series.ns().median)));
        medians.collect()
    };
    let most = LINES.iter().flat_map(|line| medians(line.row)).map(|(_, ns)| ns).fold(0.0, f64::max);

    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(caption, text(18))
        .margin(12)
        .margin_right(270)
        .x_label_area_size(44)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..last, (1.0..most * 1.2).log_scale())?;
    let name =
        |at: &f64| columns.get(at.round() as usize).map(|column| column.name.clone()).unwrap_or_default();
    chart
        .configure_mesh()
        .x_labels(columns.len())
        .x_label_formatter(&name)
        .y_label_formatter(&|ns| format!("{ns}"))
        .x_desc("keys")
        .y_desc("ns a decision, median")
        .light_line_style(RGBColor(240, 240, 240))
        .label_style(text(13))
        .draw()?;

    let mut ends = Vec::new();
    for line in &LINES {
        let points = medians(line.row);
        let Some(end) = points.last().copied() else { continue };
        ends.push((chart.backend_coord(&end), line));
        chart.draw_series(LineSeries::new(points.clone(), line.colour.stroke_width(line.width)))?;
        let dots = points.iter().map(|point| Circle::new(*point, line.width + 1, line.colour.filled()));
        chart.draw_series(dots)?;
    }
    name_ends(&root, ends)?;
    root.present()?;
    Ok(())
}

/// The lines' names at their right ends, moved apart where they would touch.
fn name_ends(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    mut ends: Vec<((i32, i32), &Line)>,
) -> Drawn {
    const APART: i32 = 16;
    ends.sort_by_key(|((_, y), _)| *y);
    let mut places: Vec<i32> = Vec::new();
    for ((_, y), _) in &ends {
        places.push(places.last().map_or(*y, |above| (*y).max(above + APART)));
    }
    // None below the plot: those that came to be are pushed up again.
    let mut lowest = SIZE.1 as i32 - 60;
    for place in places.iter_mut().rev() {
        *place = (*place).min(lowest);
        lowest = *place - APART;
    }
    for (((x, y), line), place) in ends.iter().zip(&places) {
        let (from, to) = ((x + 6, *y), (x + 22, *place));
        root.draw(&PathElement::new(vec![from, to], line.colour.stroke_width(1)))?;
        let style = (FONT, 14).into_font().color(&line.colour).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(line.name, (x + 26, *place), style))?;
    }
    Ok(())
}

/// Bars, one below the other, each with its number.
fn bars(caption: &str, bars: &[(String, f64)], logarithmic: bool, path: &Path) -> Drawn {
    const ROW: i32 = 24;
    const LEFT: i32 = 340;
    const TOP: i32 = 56;
    if bars.is_empty() {
        return Ok(());
    }
    let height = TOP + ROW * bars.len() as i32 + 12;
    let root = SVGBackend::new(path, (SIZE.0, height as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    root.draw(&Text::new(caption, (16, 18), text(18)))?;
    let most = bars.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max);
    let scale: RangedCoordf64 = (0.0..if logarithmic { (1.0 + most).ln() } else { most }).into();
    let room = (LEFT, SIZE.0 as i32 - 110);
    for (at, (name, value)) in bars.iter().enumerate() {
        let top = TOP + ROW * at as i32;
        let middle = top + ROW / 2;
        let length = if logarithmic { (1.0 + value).ln() } else { *value };
        let end = plotters::coord::ranged1d::Ranged::map(&scale, &length, room);
        let colour = if name.starts_with("ratecell") { OURS } else { GREY };
        root.draw(&Rectangle::new([(LEFT, top + 4), (end, top + ROW - 4)], colour.filled()))?;
        let right = text(14).pos(Pos::new(HPos::Right, VPos::Center));
        root.draw(&Text::new(name.clone(), (LEFT - 8, middle), right))?;
        let left = text(14).pos(Pos::new(HPos::Left, VPos::Center));
        let digits = if *value < 10.0 { 1 } else { 0 };
        root.draw(&Text::new(format!("{value:.digits$}"), (end + 6, middle), left))?;
    }
    root.present()?;
    Ok(())
}

fn plain(name: &str) -> String {
    name.replace("**", "")
}

/// The worst insertion and the memory, of the largest storm that went beyond what the stores were built for.
fn storms(results: &Results, folder: &Path) -> Drawn {
    let mut beyond = results.storms.iter().filter(|storm| storm.parts.iter().any(|part| part.percent > 100));
    let Some(keys) = beyond.next().map(|storm| storm.keys) else { return Ok(()) };
    let storms = results.storms.iter().filter(|storm| storm.keys == keys && storm.store != storm::NOTHING);
    let worst = storms.flat_map(|storm| {
        let (beyond, within): (Vec<_>, Vec<_>) = storm.parts.iter().partition(|part| part.percent > 100);
        let worst = |parts: &[&Part]| parts.iter().map(|part| part.worst_us).fold(0.0, f64::max);
        let name = plain(storm.store);
        [(name.clone(), worst(&within)), (format!("{name}, beyond"), worst(&beyond))]
    });
    let caption = format!(
        "The worst single insertion, µs of processor time (logarithmic): up to the {} keys built for, and beyond",
        grouped(keys)
    );
    bars(&caption, &worst.collect::<Vec<_>>(), true, &folder.join("worst-insertion.svg"))?;
    let memory = results.memory.iter().filter(|memory| memory.keys == keys && memory.key_len == 16);
    let memory: Vec<_> = memory.map(|memory| (plain(memory.store), memory.bytes_per_key)).collect();
    let caption = format!("Resident bytes a key, {} keys of 16 bytes", grouped(keys));
    bars(&caption, &memory, false, &folder.join("memory.svg"))
}

pub(super) fn all(results: &Results, folder: &Path) -> Result<(), String> {
    let charts = [
        (LONE, "A check alone, allowed, uniform keys, one thread", "alone.svg"),
        (BACK_TO_BACK, "Checks back to back, allowed, uniform keys, one thread", "back-to-back.svg"),
        (ZIPF, "Checks back to back, allowed, Zipf keys, one thread", "zipf.svg"),
        (TWO, "Checks back to back, allowed, uniform keys, each of two threads", "two-threads.svg"),
    ];
    let draw = || -> Drawn {
        fs::create_dir_all(folder)?;
        for (title, caption, file) in charts {
            by_keys(results, title, caption, &folder.join(file))?;
        }
        storms(results, folder)
    };
    draw().map_err(|error| format!("plots in {}: {error}", folder.display()))
}
