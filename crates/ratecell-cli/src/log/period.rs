//! The times of a log's requests.

use jiff::Timestamp;

const DAY_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// The times of the records, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    /// Nanosecond zero of the limiters.
    pub(crate) epoch_ns: u64,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

impl Period {
    pub(crate) fn from(time_ns: u64) -> Self {
        // The midnight before belongs to the day before; the records of a log that steps back a little are still
        // after it.
        let epoch_ns = (time_ns / DAY_NS).saturating_sub(1) * DAY_NS;
        Self { epoch_ns, first_ns: time_ns, last_ns: time_ns }
    }

    pub(crate) fn now_ns(&self, time_ns: u64) -> u64 {
        time_ns.saturating_sub(self.epoch_ns)
    }

    /// The time that is so many nanoseconds after the epoch.
    pub(crate) fn at(&self, now_ns: u64) -> Timestamp {
        timestamp(self.epoch_ns.saturating_add(now_ns))
    }

    /// The same, where it can be before the epoch.
    pub(crate) fn at_signed(&self, now_ns: i64) -> Timestamp {
        timestamp(self.epoch_ns.saturating_add_signed(now_ns))
    }

    pub(crate) fn first(&self) -> Timestamp {
        timestamp(self.first_ns)
    }

    pub(crate) fn last(&self) -> Timestamp {
        timestamp(self.last_ns)
    }
}

/// The time of a log so many nanoseconds after 1970: those are below 2^63.
fn timestamp(ns: u64) -> Timestamp {
    Timestamp::from_nanosecond(ns.into()).unwrap_or_default()
}
