//! Policies to be tried: well-known ones, any that the grammar can say, and any text.

use arbitrary::Arbitrary;
use core::fmt;
use std::ffi::CString;

/// Each algorithm and each of its modes, and layers of them.
const LISTED: [&str; 17] = [
    "3/s",
    "10/s burst=50",
    "token_bucket 5/10s capacity=10 mode=interval",
    "token_bucket 4/m capacity=4 mode=interval_first",
    "leaky_meter 3/s capacity=7",
    "leaky_queue 10/s queue=20",
    "sliding_window 10/1m",
    "sliding_window 3/1s strict=true",
    "sliding_log 5/1h",
    "fixed_window 6/1m offset=17s",
    "fixed_window 5000/1h start=first",
    "calendar_window 5/month tz=Europe/Berlin at=02:30 day=31 heal=1h",
    "7/1d burst=1 heal=1h",
    "10/s burst=20 & sliding_window 30/1m & fixed_window 40/1d",
    "sliding_log 3/s & 2/s",
    "2/s & sliding_log 30/10s & leaky_queue 1/s queue=2",
    "1/1w burst=4294967295 horizon=52w",
];

/// A policy's text.
#[derive(Arbitrary, Debug)]
pub(crate) enum PolicyText {
    Listed(u8),
    Said(Layer, Vec<Layer>),
    Any([u8; 24]),
}

impl PolicyText {
    /// The text as C has it: up to the first NUL.
    pub(crate) fn to_c(&self) -> CString {
        let mut text = match self {
            Self::Listed(number) => LISTED[usize::from(*number) % LISTED.len()].into(),
            Self::Said(first, others) => {
                let others = others.iter().map(|layer| format!(" & {layer}"));
                format!("{first}{}", others.collect::<String>()).into_bytes()
            }
            Self::Any(bytes) => bytes.to_vec(),
        };
        text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
        CString::new(text).expect("no NUL is left")
    }
}

/// A number below 2^40 in two bytes: small ones are likely, large ones possible.
#[derive(Arbitrary, Clone, Copy, Debug, Default)]
pub(crate) struct Number {
    digits: u8,
    shift: u8,
}

impl Number {
    pub(crate) fn get(self) -> u64 {
        // The first quarter of the shifts are none.
        u64::from(self.digits) << ((self.shift % 43).saturating_sub(10))
    }

    /// As a cost, of which there is none above the greatest.
    pub(crate) fn cost(self) -> u32 {
        u32::try_from(self.get()).unwrap_or(u32::MAX)
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Unit {
    Ns,
    Us,
    Ms,
    S,
    M,
    H,
    D,
    W,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Duration(u8, Unit);

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, unit) = self;
        let name = match unit {
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
            Unit::S => "s",
            Unit::M => "m",
            Unit::H => "h",
            Unit::D => "d",
            Unit::W => "w",
        };
        write!(f, "{count}{name}")
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Shape {
    Gcra { burst: Option<Number> },
    TokenBucket { capacity: Number, mode: Mode },
    LeakyMeter { capacity: Number },
    LeakyQueue { queue: Number, burst: Option<Number> },
    SlidingWindow { strict: bool },
    SlidingLog,
    FixedWindow { offset: Option<Duration> },
    FixedWindowFirst,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Mode {
    Continuous,
    Interval,
    IntervalFirst,
}

/// One layer, as the grammar says it: most numbers make a policy, some do not.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) struct Layer {
    shape: Shape,
    limit: Number,
    period: Duration,
    heal: Option<Duration>,
    horizon: Option<Duration>,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quota = format!("{}/{}", self.limit.get(), self.period);
        match self.shape {
            Shape::Gcra { .. } => write!(f, "{quota}")?,
            Shape::TokenBucket { capacity, mode } => {
                let mode = match mode {
                    Mode::Continuous => "continuous",
                    Mode::Interval => "interval",
                    Mode::IntervalFirst => "interval_first",
                };
                write!(f, "token_bucket {quota} capacity={} mode={mode}", capacity.get())?;
            }
            Shape::LeakyMeter { capacity } => write!(f, "leaky_meter {quota} capacity={}", capacity.get())?,
            Shape::LeakyQueue { queue, .. } => write!(f, "leaky_queue {quota} queue={}", queue.get())?,
            Shape::SlidingWindow { strict } => write!(f, "sliding_window {quota} strict={strict}")?,
            Shape::SlidingLog => write!(f, "sliding_log {quota}")?,
            Shape::FixedWindow { .. } => write!(f, "fixed_window {quota}")?,
            Shape::FixedWindowFirst => write!(f, "fixed_window {quota} start=first")?,
        }
        if let Shape::Gcra { burst: Some(burst) } | Shape::LeakyQueue { burst: Some(burst), .. } = self.shape
        {
            write!(f, " burst={}", burst.get())?;
        }
        let offset = if let Shape::FixedWindow { offset } = self.shape { offset } else { None };
        for (name, duration) in [("offset", offset), ("heal", self.heal), ("horizon", self.horizon)] {
            if let Some(duration) = duration {
                write!(f, " {name}={duration}")?;
            }
        }
        Ok(())
    }
}
