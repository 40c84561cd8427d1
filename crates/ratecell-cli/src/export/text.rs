//! The two formats of metrics, which libraries write one of each.
//!
//! Sources: <https://prometheus.io/docs/instrumenting/exposition_formats/>,
//! <https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md>.

use std::fmt::Write;

use ratecell::metrics::{Kind, Metric, Value};

use super::accept::Format;

/// A label's name and value.
pub(crate) type Label<'a> = (&'static str, &'a str);

/// Writes metrics one after the other.
pub(crate) struct Text {
    format: Format,
    text: String,
}

impl Text {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, text: String::new() }
    }

    /// Writes a metric with all its samples, or nothing if there are none.
    pub(crate) fn family<'a>(
        &mut self,
        metric: &Metric,
        samples: impl IntoIterator<Item = (Vec<Label<'a>>, Value)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        let (family, kind) = self.family_of(metric);
        self.line(format_args!("# HELP {family} {}", metric.help));
        self.line(format_args!("# TYPE {family} {kind}"));
        if let (Format::OpenMetrics, Some(unit)) = (self.format, metric.unit()) {
            self.line(format_args!("# UNIT {family} {unit}"));
        }
        for (labels, value) in samples {
            let labels: Vec<_> =
                labels.iter().map(|(name, text)| format!("{name}=\"{}\"", escaped(text))).collect();
            self.line(format_args!("{}{{{}}} {value}", metric.name, labels.join(",")));
        }
    }

    /// The name of a family and its type. In OpenMetrics the ends of the samples' names are not in it.
    fn family_of(&self, metric: &Metric) -> (&'static str, &'static str) {
        let (name, kind) = (metric.name, metric.kind.as_str());
        if self.format == Format::Prometheus {
            return (name, kind);
        }
        match (name.strip_suffix("_total"), name.strip_suffix("_info")) {
            (Some(family), _) if metric.kind == Kind::Counter => (family, kind),
            (_, Some(family)) => (family, "info"),
            _ => (name, kind),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Text always takes more.
        let _ = writeln!(self.text, "{line}");
    }

    pub(crate) fn end(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTER: Metric = Metric::new("a_b_total", "", Kind::Counter, "Counts.");
    const INFO: Metric = Metric::new("a_info", "", Kind::Gauge, "Says.");
    const BYTES: Metric = Metric::new("a_bytes", "", Kind::Gauge, "Bytes.");
    const NONE: Metric = Metric::new("a_none", "", Kind::Gauge, "Nothing.");

    fn written(format: Format) -> String {
        let mut text = Text::new(format);
        text.family(
            &COUNTER,
            [(vec![("file", "\\\"\n")], Value::Count(7)), (vec![("file", "b")], Value::Count(0))],
        );
        text.family(&INFO, [(vec![("file", "b"), ("policy", "é")], Value::Count(1))]);
        text.family(&BYTES, [(vec![("file", "b")], Value::Real(0.5))]);
        text.family(&NONE, []);
        text.end()
    }

    #[test]
    fn prometheus_has_whole_names() {
        let expected = r#"# HELP a_b_total Counts.
# TYPE a_b_total counter
a_b_total{file="\\\"\n"} 7
a_b_total{file="b"} 0
# HELP a_info Says.
# TYPE a_info gauge
a_info{file="b",policy="é"} 1
# HELP a_bytes Bytes.
# TYPE a_bytes gauge
a_bytes{file="b"} 0.5
"#;
        assert_eq!(written(Format::Prometheus), expected);
    }

    #[test]
    fn open_metrics_has_families_units_and_an_end() {
        let expected = r#"# HELP a_b Counts.
# TYPE a_b counter
a_b_total{file="\\\"\n"} 7
a_b_total{file="b"} 0
# HELP a Says.
# TYPE a info
a_info{file="b",policy="é"} 1
# HELP a_bytes Bytes.
# TYPE a_bytes gauge
# UNIT a_bytes bytes
a_bytes{file="b"} 0.5
# EOF
"#;
        assert_eq!(written(Format::OpenMetrics), expected);
    }
}
