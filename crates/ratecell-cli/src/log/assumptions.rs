//! What a replay assumes of the times of a log.

use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;
use ratecell_logs::Spread;

use super::args::{At, LogArgs, Order, SpreadArg};
use crate::zone::Zone;

/// In which order requests are decided, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assumptions {
    pub(crate) at: At,
    /// Of times that are written without an offset.
    pub(crate) zone: Option<Zone>,
    /// The window in which records wait for earlier ones; without one they are decided in the order of the file.
    pub(crate) window_ns: Option<u64>,
    pub(crate) spread: Spread,
}

/// Where the window is not given.
const WINDOW_NS: u64 = 60_000_000_000;

impl Assumptions {
    pub(crate) fn new(args: &LogArgs) -> Self {
        Self {
            at: args.at,
            zone: args.zone,
            window_ns: match args.order {
                Order::Time => Some(u64::try_from(args.window.as_nanos()).unwrap_or(u64::MAX)),
                Order::File => None,
            },
            spread: match args.spread {
                SpreadArg::Even => Spread::Even,
                SpreadArg::Together => Spread::Together,
            },
        }
    }

    /// Whether each request is decided at its stamp, in the order of the file.
    pub(crate) fn is_at_once(self) -> bool {
        self.window_ns.is_none() && self.spread == Spread::Together
    }

    /// What the answers are compared with: at once, or the default, if these are at once.
    pub(crate) fn other(self) -> Self {
        let (window_ns, spread) = match self.is_at_once() {
            true => (Some(WINDOW_NS), Spread::Even),
            false => (None, Spread::Together),
        };
        Self { window_ns, spread, ..self }
    }

    /// Those under which requests wait for others: these, or what they are compared with.
    pub(crate) fn ordered(self) -> Self {
        if self.is_at_once() { self.other() } else { self }
    }

    /// With what a record shares its stamp that is decided with others of that stamp.
    pub(crate) fn sharer(self) -> &'static str {
        if self.window_ns.is_some() { "another" } else { "the record before or after it" }
    }

    /// The options that say so.
    pub(crate) fn options(self) -> String {
        let order = if self.window_ns.is_some() { "time" } else { "file" };
        format!("--order {order} --spread {}", self.spread_word())
    }

    pub(crate) fn spread_word(self) -> &'static str {
        match self.spread {
            Spread::Even => "even",
            Spread::Together => "together",
        }
    }
}

impl fmt::Display for Assumptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.window_ns {
            Some(ns) => write!(f, "in the order of time within a window of {}", duration(ns))?,
            None => f.write_str("in the order of the files")?,
        }
        match self.spread {
            Spread::Even => f.write_str(", those of one stamp spread evenly over it"),
            Spread::Together => f.write_str(", those of one stamp all at its beginning"),
        }
    }
}

/// A time as people write it.
pub(crate) fn duration(ns: u64) -> String {
    let duration = SignedDuration::try_from(Duration::from_nanos(ns)).unwrap_or(SignedDuration::MAX);
    format!("{duration:#}")
}
