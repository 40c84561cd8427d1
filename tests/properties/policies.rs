//! Random policies, as a user may say them.

use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ratecell::{Decision, Mode, Period, Policy, PolicyError, Start};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Algorithm {
    Gcra {
        burst: Option<u32>,
    },
    TokenBucket {
        capacity: u32,
        mode: Mode,
    },
    LeakyMeter {
        capacity: u32,
    },
    LeakyQueue {
        queue: u32,
        burst: Option<u32>,
    },
    SlidingWindow {
        strict: bool,
    },
    SlidingLog,
    FixedWindow {
        offset_ns: u64,
    },
    FixedWindowFirst,
    /// Days of UTC.
    CalendarWindow,
    InFlight,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub(crate) algorithm: Algorithm,
    pub(crate) limit: u32,
    pub(crate) period_ns: u64,
    pub(crate) heal_ns: Option<u64>,
    pub(crate) horizon_ns: Option<u64>,
}

impl Layer {
    pub(crate) fn capacity(&self) -> u32 {
        match self.algorithm {
            Algorithm::Gcra { burst } => burst.unwrap_or(self.limit),
            Algorithm::TokenBucket { capacity, .. } | Algorithm::LeakyMeter { capacity } => capacity,
            Algorithm::LeakyQueue { queue, burst } => queue.saturating_add(burst.unwrap_or(1)),
            Algorithm::SlidingWindow { .. }
            | Algorithm::SlidingLog
            | Algorithm::FixedWindow { .. }
            | Algorithm::FixedWindowFirst
            | Algorithm::CalendarWindow
            | Algorithm::InFlight => self.limit,
        }
    }

    /// Whether its words hold whole units, and no part of one.
    pub(crate) fn counts(&self) -> bool {
        match self.algorithm {
            Algorithm::SlidingWindow { .. }
            | Algorithm::SlidingLog
            | Algorithm::FixedWindow { .. }
            | Algorithm::FixedWindowFirst
            | Algorithm::CalendarWindow
            | Algorithm::InFlight => true,
            Algorithm::TokenBucket { mode, .. } => mode != Mode::Continuous,
            Algorithm::Gcra { .. } | Algorithm::LeakyMeter { .. } | Algorithm::LeakyQueue { .. } => false,
        }
    }

    /// The layer as a policy, by the constructors.
    pub(crate) fn build(&self) -> Result<Policy, PolicyError> {
        let period = Duration::from_nanos(self.period_ns);
        macro_rules! build {
            ($builder:expr $(, $option:ident = $value:expr)*) => {{
                let mut builder = $builder;
                $(if let Some(value) = $value { builder = builder.$option(value) })*
                if let Some(heal) = self.heal_ns { builder = builder.heal(Duration::from_nanos(heal)) }
                if let Some(horizon) = self.horizon_ns { builder = builder.horizon(Duration::from_nanos(horizon)) }
                builder.build()
            }};
        }
        match self.algorithm {
            Algorithm::Gcra { burst } => build!(Policy::gcra(self.limit, period), burst = burst),
            Algorithm::TokenBucket { capacity, mode } => {
                build!(Policy::token_bucket(self.limit, period, capacity), mode = Some(mode))
            }
            Algorithm::LeakyMeter { capacity } => build!(Policy::leaky_meter(self.limit, period, capacity)),
            Algorithm::LeakyQueue { queue, burst } => {
                build!(Policy::leaky_queue(self.limit, period, queue), burst = burst)
            }
            Algorithm::SlidingWindow { strict } => {
                build!(Policy::sliding_window(self.limit, period), strict = Some(strict))
            }
            Algorithm::SlidingLog => build!(Policy::sliding_log(self.limit, period)),
            Algorithm::FixedWindow { offset_ns } => {
                build!(
                    Policy::fixed_window(self.limit, period),
                    offset = Some(Duration::from_nanos(offset_ns))
                )
            }
            Algorithm::FixedWindowFirst => {
                build!(Policy::fixed_window(self.limit, period), start = Some(Start::First))
            }
            Algorithm::CalendarWindow => build!(Policy::calendar_window(self.limit, Period::Day, "UTC")?),
            Algorithm::InFlight => build!(Policy::in_flight(self.limit, period)),
        }
    }
}

/// The layer as text, with every duration in nanoseconds.
impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quota = format!("{}/{}ns", self.limit, self.period_ns);
        match self.algorithm {
            Algorithm::Gcra { burst: None } => write!(f, "{quota}"),
            Algorithm::Gcra { burst: Some(burst) } => write!(f, "gcra {quota} burst={burst}"),
            Algorithm::TokenBucket { capacity, mode } => {
                let mode = match mode {
                    Mode::Interval => "interval",
                    Mode::IntervalFirst => "interval_first",
                    _ => "continuous",
                };
                write!(f, "token_bucket {quota} capacity={capacity} mode={mode}")
            }
            Algorithm::LeakyMeter { capacity } => write!(f, "leaky_meter {quota} capacity={capacity}"),
            Algorithm::LeakyQueue { queue, burst: None } => write!(f, "leaky_queue {quota} queue={queue}"),
            Algorithm::LeakyQueue { queue, burst: Some(burst) } => {
                write!(f, "leaky_queue {quota} queue={queue} burst={burst}")
            }
            Algorithm::SlidingWindow { strict } => write!(f, "sliding_window {quota} strict={strict}"),
            Algorithm::SlidingLog => write!(f, "sliding_log {quota}"),
            Algorithm::FixedWindow { offset_ns } => write!(f, "fixed_window {quota} offset={offset_ns}ns"),
            Algorithm::FixedWindowFirst => write!(f, "fixed_window {quota} start=first"),
            Algorithm::CalendarWindow => write!(f, "calendar_window {}/day tz=UTC", self.limit),
            Algorithm::InFlight => write!(f, "in_flight {} hold={}ns", self.limit, self.period_ns),
        }?;
        self.heal_ns.map_or(Ok(()), |ns| write!(f, " heal={ns}ns"))?;
        self.horizon_ns.map_or(Ok(()), |ns| write!(f, " horizon={ns}ns"))
    }
}

/// A policy that the crate accepts, and what it was made of.
#[derive(Clone)]
pub(crate) struct Accepted {
    pub(crate) layers: Vec<Layer>,
    pub(crate) policy: Policy,
}

impl fmt::Debug for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.policy)
    }
}

impl Accepted {
    fn new(layers: Vec<Layer>) -> Option<Self> {
        let text: Vec<String> = layers.iter().map(Layer::to_string).collect();
        let policy = text.join(" & ").parse().ok()?;
        Some(Self { layers, policy })
    }

    /// The most units at one instant.
    pub(crate) fn capacity(&self) -> u32 {
        self.layers.iter().map(Layer::capacity).min().unwrap_or(0)
    }

    /// The instant `wait` after `now`, if it can be decided. A wait of `NEVER - 1` stands for all that
    /// a decision cannot tell.
    pub(crate) fn after(&self, now: u64, wait: u64) -> Option<u64> {
        let wait = Some(wait).filter(|wait| *wait < Decision::NEVER - 1)?;
        now.checked_add(wait).filter(|instant| *instant <= self.policy.max_now_ns())
    }
}

/// Whether the policies have a `heal` time.
#[derive(Clone, Copy)]
pub(crate) enum Heal {
    Never,
    /// Only policies of one layer.
    Alone,
    Sometimes,
}

/// Policies of every algorithm, of one layer or of a few.
pub(crate) fn policies(heal: Heal) -> impl Strategy<Value = Accepted> {
    let (alone, among) = match heal {
        Heal::Never => (false, false),
        Heal::Alone => (true, false),
        Heal::Sometimes => (true, true),
    };
    let layers = prop_oneof![
        9 => layer(alone).prop_map(|layer| vec![layer]),
        1 => vec(layer(among), 2..=4),
    ];
    layers.prop_filter_map("refused", Accepted::new)
}

/// Policies of one layer, of the kinds that are wanted: the others are not even read.
pub(crate) fn policies_of(wanted: impl Fn(&Algorithm) -> bool) -> impl Strategy<Value = Accepted> {
    layer(true)
        .prop_filter("another kind of state", move |layer| wanted(&layer.algorithm))
        .prop_filter_map("refused", |layer| Accepted::new(vec![layer]))
}

/// A layer of one of three worlds: numbers so small that every corner is near, numbers as people use
/// them, and any numbers at all.
fn layer(may_heal: bool) -> impl Strategy<Value = Layer> {
    prop_oneof![
        2 => of(may_heal, 1..=8, (1..=64_u64).boxed(), Just(Some(1 << 40)).boxed()),
        2 => of(may_heal, 1..=1_000, usual_period().boxed(), Just(None).boxed()),
        1 => of(may_heal, 1..=u32::MAX, magnitude(62).boxed(), option::of(magnitude(60)).boxed()),
    ]
}

fn usual_period() -> impl Strategy<Value = u64> {
    const S: u64 = 1_000_000_000;
    prop::sample::select(vec![S / 1_000, S, 7 * S + 13, 60 * S, 3_600 * S, 86_400 * S, 604_800 * S])
}

/// A number of any length up to `bits`.
fn magnitude(bits: u32) -> impl Strategy<Value = u64> {
    (0..bits, any::<u64>()).prop_map(|(bits, value)| (1 << bits) | (value & ((1 << bits) - 1)))
}

fn units(range: RangeInclusive<u32>) -> impl Strategy<Value = u32> {
    let bits = range.end().ilog2();
    (0..=bits, any::<u32>()).prop_map(move |(bits, value)| {
        let value = (1 << bits) | (value & ((1 << bits) - 1));
        value.clamp(*range.start(), *range.end())
    })
}

/// A timestamp a unit: what a log may hold in a test.
const MAX_LOG: u32 = 40;

/// A day of UTC.
const DAY: u64 = 86_400_000_000_000;

/// The least window of those that start with a request, in quanta.
const MIN_QUANTA: u64 = 1_000;

fn of(
    may_heal: bool,
    limits: RangeInclusive<u32>,
    period: BoxedStrategy<u64>,
    horizon: BoxedStrategy<Option<u64>>,
) -> impl Strategy<Value = Layer> {
    let numbers = (units(limits.clone()), units(limits.clone()), units(limits));
    let times = (period, any::<u64>(), option::of(0..=3_000_u64), horizon);
    (0..14, option::of(Just(())), numbers, times).prop_map(
        move |(algorithm, said, (limit, other, third), (period_ns, offset, heal_share, horizon_ns))| {
            let algorithm = match algorithm {
                0 | 1 => Algorithm::Gcra { burst: said.map(|()| other) },
                2 => Algorithm::TokenBucket { capacity: other, mode: Mode::Continuous },
                3 => Algorithm::TokenBucket { capacity: other, mode: Mode::Interval },
                4 => Algorithm::TokenBucket { capacity: other, mode: Mode::IntervalFirst },
                5 => Algorithm::LeakyMeter { capacity: other },
                6 => Algorithm::LeakyQueue { queue: other - 1, burst: said.map(|()| third) },
                7 => Algorithm::SlidingWindow { strict: false },
                8 => Algorithm::SlidingWindow { strict: true },
                9 => Algorithm::SlidingLog,
                10 => Algorithm::FixedWindow { offset_ns: offset % period_ns },
                11 => Algorithm::FixedWindowFirst,
                12 => Algorithm::CalendarWindow,
                _ => Algorithm::InFlight,
            };
            let limit = if matches!(algorithm, Algorithm::SlidingLog) { limit.min(MAX_LOG) } else { limit };
            let period_ns = match algorithm {
                Algorithm::FixedWindowFirst | Algorithm::TokenBucket { mode: Mode::IntervalFirst, .. } => {
                    period_ns.max(MIN_QUANTA)
                }
                Algorithm::CalendarWindow => DAY,
                _ => period_ns,
            };
            // Up to three periods.
            let heal_share = heal_share.filter(|_| may_heal);
            let heal_ns = heal_share.map(|share| (u128::from(period_ns) * u128::from(share) / 1_000) as u64);
            Layer { algorithm, limit, period_ns, heal_ns, horizon_ns }
        },
    )
}
