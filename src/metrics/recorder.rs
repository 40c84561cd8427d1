//! For the crate `metrics`.

use ::metrics::{SharedString, Unit, counter, describe_counter, describe_gauge, gauge};

use super::{Kind, Value, samples};
use crate::limiter::Shared;
use crate::table::Stats;

/// Gives what a limiter holds and has counted to the recorder of the crate `metrics`, with the label `limiter`.
///
/// Call it as often as the metrics are read, such as every ten seconds. A call costs what
/// [`Limiter::stats`](crate::Limiter::stats) did, and some microseconds; checks cost nothing more. Any thread may call it.
/// Without a recorder nothing happens.
///
/// ```
/// use ratecell::{Limiter, Policy, metrics};
///
/// let limiter = Limiter::builder("3/h".parse::<Policy>()?).max_keys(1_000).build()?;
/// metrics::record("logins", &limiter.stats(), limiter.shared().as_ref());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn record(limiter: impl Into<SharedString>, stats: &Stats, shared: Option<&Shared>) {
    let limiter = limiter.into();
    for sample in samples(stats, shared) {
        let (name, help) = (sample.metric.name, sample.metric.help);
        let unit = match sample.metric.unit() {
            Some("bytes") => Unit::Bytes,
            Some("seconds") => Unit::Seconds,
            _ => Unit::Count,
        };
        match (sample.metric.kind, sample.value) {
            (Kind::Counter, Value::Count(count)) => {
                describe_counter!(name, unit, help);
                counter!(name, "limiter" => limiter.clone()).absolute(count);
            }
            (_, value) => {
                describe_gauge!(name, unit, help);
                gauge!(name, "limiter" => limiter.clone()).set(value.as_f64());
            }
        }
    }
}
