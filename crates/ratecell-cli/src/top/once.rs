//! One sample as text, for a pipe.

use anyhow::Result;
use serde::Serialize;

use super::figures::{grouped, rate};
use super::model::{Model, Row, digits};
use crate::output;

/// The fields and their order are the documented ones.
#[derive(Debug, Serialize)]
struct Report<'m> {
    file: &'m str,
    policy: &'m str,
    max_keys: u64,
    live: u64,
    live_error: u64,
    looked_at: f64,
    admitted_per_second: Option<f64>,
    admitted_error: Option<f64>,
    evicted_per_second: f64,
    forgiven_per_second: f64,
    denied_full_per_second: f64,
    /// `null` where denied keys are not named.
    denied_per_second: Option<f64>,
    keys: Vec<Key>,
}

#[derive(Debug, Serialize)]
struct Key {
    hash: String,
    layer: usize,
    used: u64,
    limit: u64,
    admitted_per_second: f64,
    /// `null` where it is not known.
    name: Option<String>,
    denied_per_second: f64,
    /// `null`: no wait helps.
    retry_after_ns: Option<u64>,
}

impl From<&Row> for Key {
    fn from(row: &Row) -> Self {
        Self {
            hash: digits(row.hash),
            layer: row.layer,
            used: row.used,
            limit: row.limit,
            admitted_per_second: row.admitted,
            name: row.name.clone(),
            denied_per_second: row.denied,
            retry_after_ns: row.retry_after.map(|wait| u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)),
        }
    }
}

impl<'m> From<&'m Model> for Report<'m> {
    fn from(model: &'m Model) -> Self {
        let sample = &model.sample;
        let (admitted, error) = sample.admitted_rate().unzip();
        let [evicted, forgiven, denied_full] = sample.rates();
        let (seen, all) = sample.sampled;
        Self {
            file: &model.about.file,
            policy: &model.about.policy,
            max_keys: model.about.max_keys,
            live: sample.live,
            live_error: sample.live_error,
            looked_at: seen as f64 / all.max(1) as f64,
            admitted_per_second: admitted,
            admitted_error: error,
            evicted_per_second: evicted,
            forgiven_per_second: forgiven,
            denied_full_per_second: denied_full,
            denied_per_second: sample.denied_rate(),
            keys: model.rows.iter().map(Key::from).collect(),
        }
    }
}

pub(super) fn print(model: &Model, is_json: bool) -> Result<()> {
    if is_json {
        output::print(serde_json::to_string(&Report::from(model))?)
    } else {
        output::print(text(model))
    }
}

fn text(model: &Model) -> String {
    let mut lines = vec![format!("{}: {}", model.about.file, model.about.policy), model.summary()];
    lines.extend(model.sampled());
    for gauge in model.gauges(1) {
        lines.push(format!("{:<12}{:>12} {}", gauge.label, gauge.figure, gauge.remark).trim_end().to_owned());
    }
    let row = |row: &Row| {
        let (layer, denied) = (row.layer.to_string(), rate(row.denied));
        [row.title(), grouped(row.used), grouped(row.limit), layer, rate(row.admitted), denied, row.retry()]
    };
    let heading = ["key", "used", "limit", "layer", "admitted/s", "denied/s", "retry after"];
    lines.push(output::table(heading, 1, model.rows.iter().map(row).collect()).to_string());
    lines.join("\n")
}
