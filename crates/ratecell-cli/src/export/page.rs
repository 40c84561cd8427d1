//! What is told of the files.

use ratecell::metrics::{self, Kind, Metric, Sample, Value};

use super::accept::Format;
use super::files::{Files, Reading};
use super::text::{Label, Text};

const UP: Metric =
    Metric::new("ratecell_up", "", Kind::Gauge, "1 if the file is a region that can be read, otherwise 0.");
const POLICY: Metric = Metric::new(
    "ratecell_policy_info",
    "",
    Kind::Gauge,
    "1; the labels are the policy in force and what a full table does. In a file of rules, one for each limit, with its name.",
);
const BUILD: Metric =
    Metric::new("ratecell_build_info", "", Kind::Gauge, "1; the label is the version of the program.");

/// A metric, and its value where there is one.
type Of = (Metric, fn(&Reading) -> Option<Value>);

/// Of each region beside what all limiters have.
const OWN: [Of; 5] = [
    (Metric::new("ratecell_max_keys", "", Kind::Gauge, "Keys that have room."), |reading| {
        Some(Value::Count(reading.max_keys as u64))
    }),
    (
        Metric::new("ratecell_fill_ratio", "", Kind::Gauge, "Live keys by the keys that have room."),
        |reading| Some(Value::Real(reading.stats.live as f64 / reading.max_keys.max(1) as f64)),
    ),
    (
        Metric::new(
            "ratecell_epoch_timestamp_seconds",
            "",
            Kind::Gauge,
            "The zero of the region's clock, in seconds since 1970.",
        ),
        |reading| Some(Value::Real(reading.epoch)),
    ),
    (
        Metric::new(
            "ratecell_file_created_timestamp_seconds",
            "",
            Kind::Gauge,
            "When the file was made, in seconds since 1970, where the file system knows it.",
        ),
        |reading| reading.created.map(Value::Real),
    ),
    (
        Metric::new(
            "ratecell_denied_requests_total",
            "",
            Kind::Counter,
            "Requests that were denied, where the file names denied keys.",
        ),
        |reading| reading.denied.map(Value::Count),
    ),
];

/// The metrics of all files, read now.
pub(super) fn metrics(files: &Files, format: Format) -> String {
    let found = files.read();
    let files = || found.iter().map(|(file, reading)| (vec![("file", file.as_str())], reading.as_ref()));
    let read = || files().filter_map(|(labels, reading)| Some((labels, reading?)));
    let mut text = Text::new(format);
    text.family(&UP, files().map(|(labels, reading)| (labels, Value::Count(reading.is_some().into()))));
    text.family(
        &POLICY,
        read().flat_map(|(labels, reading)| {
            reading.policies.iter().map(move |of| {
                let rule = of.rule.as_deref().map(|rule| ("rule", rule));
                let more: [Label<'_>; 2] = [("policy", &of.policy), ("when_full", &reading.when_full)];
                (labels.iter().copied().chain(rule).chain(more).collect(), Value::Count(1))
            })
        }),
    );
    for (metric, of) in &OWN {
        text.family(metric, read().filter_map(|(labels, reading)| Some((labels, of(reading)?))));
    }
    let samples: Vec<(Vec<Label<'_>>, Vec<Sample>)> = read()
        .map(|(labels, reading)| {
            (labels, metrics::samples(&reading.stats, reading.shared.as_ref()).collect())
        })
        .collect();
    for metric in metrics::all() {
        let of =
            |samples: &[Sample]| samples.iter().find(|sample| sample.metric == metric).map(|of| of.value);
        let family = samples.iter().filter_map(|(labels, samples)| Some((labels.clone(), of(samples)?)));
        text.family(metric, family);
    }
    text.family(&BUILD, [(vec![("version", env!("CARGO_PKG_VERSION"))], Value::Count(1))]);
    text.end()
}

/// What this is, for who opens its address.
pub(super) fn home(files: &Files) -> String {
    let mut text = format!(
        "ratecell {}: the metrics of rate limits are at /metrics, as Prometheus text or OpenMetrics.\n\nFiles:\n",
        env!("CARGO_PKG_VERSION")
    );
    for name in files.names() {
        text.push_str(&crate::output::one_line(&name));
        text.push('\n');
    }
    text
}
