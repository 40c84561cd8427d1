//! The names under which limiters are monitored: the same in every language, in nginx and in `ratecell export`.
//!
//! [docs/OPERATIONS.md] lists them. Reading is all that costs: no check does anything for a metric that it does not do
//! anyway, for all counts are those of [`Stats`] and [`Shared`].
//!
//! ```
//! use ratecell::{Limiter, Policy, metrics};
//!
//! let limiter = Limiter::builder("3/h".parse::<Policy>()?).max_keys(1_000).build()?;
//! assert!(limiter.check("user:42").is_allowed());
//! let (stats, shared) = (limiter.stats(), limiter.shared());
//! let live = metrics::samples(&stats, shared.as_ref()).find(|sample| sample.metric.name == "ratecell_live_keys");
//! assert_eq!(live.unwrap().value.to_string(), "1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the feature `metrics`, [`record`] gives them to the recorder of the crate `metrics`.
//!
//! [docs/OPERATIONS.md]: https://github.com/ratecell/ratecell/blob/main/docs/OPERATIONS.md

use core::fmt;

use crate::limiter::Shared;
use crate::table::Stats;

#[cfg(feature = "metrics")]
mod recorder;

#[cfg(feature = "metrics")]
pub use recorder::record;

/// A metric: what it is called, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Metric {
    /// By the conventions of Prometheus, such as `ratecell_evicted_keys_total`.
    pub name: &'static str,
    /// The field of [`Stats`] or [`Shared`] that it shows.
    pub field: &'static str,
    /// How it changes.
    pub kind: Kind,
    /// One sentence.
    pub help: &'static str,
}

/// How a metric changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It only grows, until what it counts is made anew.
    Counter,
    /// It goes up and down.
    Gauge,
}

impl Kind {
    /// The word of Prometheus: `counter` or `gauge`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

impl Metric {
    /// The base unit that ends the name, if it is one that OpenMetrics knows: `bytes`, `seconds` or `ratio`.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        ["bytes", "seconds", "ratio"].into_iter().find(|unit| self.name.ends_with(&format!("_{unit}")))
    }

    /// A metric of a program's own beside those of [`samples`].
    #[must_use]
    pub const fn new(name: &'static str, field: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, field, kind, help }
    }
}

/// What a metric is at some moment. Printed, it is a number of the exposition formats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number of keys, units, requests, bytes or the like.
    Count(u64),
    /// A time in seconds, or a ratio.
    Real(f64),
}

impl Value {
    /// The nearest number with a fraction: exact up to 2^53.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Real(real) => real,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Real(real) => real.fmt(f),
        }
    }
}

/// A metric and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sample {
    /// What it is.
    pub metric: &'static Metric,
    /// What it is now.
    pub value: Value,
}

/// What a limiter holds and has counted, in the order of the documentation. Without `shared` there are none of the metrics
/// of a store.
pub fn samples(stats: &Stats, shared: Option<&Shared>) -> impl Iterator<Item = Sample> {
    let table = TABLE.iter().map(|(metric, of)| Sample { metric, value: of(stats) });
    let store = STORE.iter().filter_map(move |(metric, of)| Some(Sample { metric, value: of(shared?) }));
    table.chain(store)
}

/// All metrics that [`samples`] may have.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    TABLE.iter().map(|(metric, _)| metric).chain(STORE.iter().map(|(metric, _)| metric))
}

type Of<T> = (Metric, fn(&T) -> Value);

const fn counter<T>(
    name: &'static str,
    field: &'static str,
    help: &'static str,
    of: fn(&T) -> Value,
) -> Of<T> {
    (Metric::new(name, field, Kind::Counter, help), of)
}

const fn gauge<T>(name: &'static str, field: &'static str, help: &'static str, of: fn(&T) -> Value) -> Of<T> {
    (Metric::new(name, field, Kind::Gauge, help), of)
}

/// A number of this machine, which has at most 64 bits.
fn count(number: usize) -> Value {
    Value::Count(number as u64)
}

static TABLE: [Of<Stats>; 10] = [
    gauge("ratecell_live_keys", "live", "Keys that hold used units.", |of| count(of.live)),
    gauge(
        "ratecell_live_keys_error",
        "live_error",
        "How many more or fewer live keys there may be; 0 where all were counted.",
        |of| count(of.live_error),
    ),
    gauge("ratecell_slots", "slots", "Places for keys; the table is made for five sevenths of them.", |of| {
        count(of.slots)
    }),
    gauge("ratecell_table_bytes", "bytes", "Bytes of memory of the table.", |of| count(of.bytes)),
    counter("ratecell_evicted_keys_total", "evicted", "Live keys that were erased for new ones.", |of| {
        Value::Count(of.evicted)
    }),
    counter(
        "ratecell_forgiven_units_total",
        "forgiven",
        "Units that erased keys still held: the most that passed beyond the policy.",
        |of| Value::Count(of.forgiven),
    ),
    counter(
        "ratecell_shared_requests_total",
        "shared",
        "Requests decided on the cell that new keys without a place share.",
        |of| Value::Count(of.shared),
    ),
    counter(
        "ratecell_denied_full_requests_total",
        "denied_full",
        "Requests of new keys that were denied because the table was full.",
        |of| Value::Count(of.denied_full),
    ),
    counter(
        "ratecell_allowed_full_requests_total",
        "allowed_full",
        "Requests of new keys that were allowed uncharged because the table was full.",
        |of| Value::Count(of.allowed_full),
    ),
    counter(
        "ratecell_exhausted_requests_total",
        "exhausted",
        "Requests answered as by a full table because too many others came at once.",
        |of| Value::Count(of.exhausted),
    ),
];

static STORE: [Of<Shared>; 15] = [
    counter("ratecell_leased_units_total", "leased", "Units that the store granted to this machine.", |of| {
        Value::Count(of.leased)
    }),
    counter(
        "ratecell_used_units_total",
        "used",
        "Units of leases that were used; a lease is counted when it is replaced.",
        |of| Value::Count(of.used),
    ),
    counter("ratecell_passed_units_total", "passed", "Units of leases that passed unused.", |of| {
        Value::Count(of.passed)
    }),
    counter(
        "ratecell_given_back_units_total",
        "given_back",
        "Units that were given back to the store.",
        |of| Value::Count(of.given_back),
    ),
    counter("ratecell_misses_total", "misses", "Requests that no lease could answer.", |of| {
        Value::Count(of.misses)
    }),
    counter("ratecell_waits_total", "waits", "Misses that waited for the store.", |of| {
        Value::Count(of.waits)
    }),
    counter("ratecell_timeouts_total", "timeouts", "Misses that waited for the store in vain.", |of| {
        Value::Count(of.timeouts)
    }),
    counter(
        "ratecell_store_operations_total",
        "operations",
        "Operations that were sent to the store.",
        |of| Value::Count(of.operations),
    ),
    counter(
        "ratecell_swaps_lost_total",
        "swaps_lost",
        "Operations that came after another machine's, and were repeated.",
        |of| Value::Count(of.swaps_lost),
    ),
    gauge(
        "ratecell_lag_seconds",
        "lag_ns",
        "How far the agent's time is behind the store's at most, in seconds.",
        |of| Value::Real(of.lag_ns as f64 / 1e9),
    ),
    counter(
        "ratecell_healed_words_total",
        "healed",
        "Words at the store below what this machine had charged: above 0, the store has forgotten.",
        |of| Value::Count(of.healed),
    ),
    counter(
        "ratecell_board_full_total",
        "board_full",
        "Misses that had no room on the machine's board.",
        |of| Value::Count(of.board_full),
    ),
    counter(
        "ratecell_opened_units_total",
        "opened",
        "Units that were allowed uncharged because the store was away.",
        |of| Value::Count(of.opened),
    ),
    counter(
        "ratecell_local_units_total",
        "local",
        "Units that the agent granted by its part of the policy because the store was away.",
        |of| Value::Count(of.local),
    ),
    gauge("ratecell_connected", "connected", "1 if an agent is there and the store answers it.", |of| {
        Value::Count(u64::from(of.is_connected))
    }),
];

#[cfg(test)]
mod tests;
