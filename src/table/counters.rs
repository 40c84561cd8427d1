//! What the table counts: rare events only, on lines of their own, so that no check waits for another.

use super::buckets::Index;
use crate::memory::{Array, Memory};
use crate::sync::{AtomicU64, Ordering};

/// The contents of a limiter, and the counts of its events. With several layers, events and bytes are summed, and slots
/// and live keys are those of the layer with the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Places for keys. The table is advertised for five sevenths of them.
    pub slots: usize,
    /// Live keys: keys that, at the given time, are not as good as never used.
    pub live: usize,
    /// The bound on the error of `live`, up or down. 0 if every key was counted, which is exact while nothing else runs. For
    /// a sample it is four standard errors, which bounds the error of all but 1 of 10,000 limiters.
    pub live_error: usize,
    /// Bytes of memory, fixed at construction. The entries of a `sliding_log` are not counted.
    pub bytes: usize,
    /// Live keys that were erased for newcomers.
    pub evicted: u64,
    /// Units that erased keys still held, rounded up for each key: the most that may have passed beyond the policy.
    pub forgiven: u64,
    /// Requests decided on a cell shared by newcomers without room.
    pub shared: u64,
    /// Newcomers denied for want of room.
    pub denied_full: u64,
    /// Newcomers allowed uncharged for want of room.
    pub allowed_full: u64,
    /// Requests that met so many others at the same time that they were answered as by a full table.
    pub exhausted: u64,
}

impl Stats {
    /// The stats of two layers as those of one limiter. Counts are of any memory, and end at the greatest.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            slots: self.slots.max(other.slots),
            live: self.live.max(other.live),
            live_error: self.live_error.max(other.live_error),
            bytes: self.bytes + other.bytes,
            evicted: self.evicted.saturating_add(other.evicted),
            forgiven: self.forgiven.saturating_add(other.forgiven),
            shared: self.shared.saturating_add(other.shared),
            denied_full: self.denied_full.saturating_add(other.denied_full),
            allowed_full: self.allowed_full.saturating_add(other.allowed_full),
            exhausted: self.exhausted.saturating_add(other.exhausted),
        }
    }
}

/// The counters of some homes, on a line of their own. All are statistics, hence Relaxed; none orders
/// anything.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Stripe {
    evicted: AtomicU64,
    forgiven: AtomicU64,
    shared: AtomicU64,
    denied: AtomicU64,
    allowed: AtomicU64,
    exhausted: AtomicU64,
}

fn add(counter: &AtomicU64, count: u64) {
    // Relaxed: a statistic.
    counter.fetch_add(count, Ordering::Relaxed);
}

impl Stripe {
    pub(crate) fn evicted(&self, units: u64) {
        add(&self.evicted, 1);
        add(&self.forgiven, units);
    }

    /// Takes back what was counted of an eviction that was not to be.
    pub(crate) fn not_evicted(&self, units: u64) {
        add(&self.evicted, 1_u64.wrapping_neg());
        add(&self.forgiven, units.wrapping_neg());
    }

    pub(crate) fn shared(&self) {
        add(&self.shared, 1);
    }

    pub(crate) fn denied(&self) {
        add(&self.denied, 1);
    }

    pub(crate) fn allowed(&self) {
        add(&self.allowed, 1);
    }

    pub(crate) fn exhausted(&self) {
        add(&self.exhausted, 1);
    }

    fn stats(&self) -> Stats {
        // Relaxed: a statistic.
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            evicted: read(&self.evicted),
            forgiven: read(&self.forgiven),
            shared: read(&self.shared),
            denied_full: read(&self.denied),
            allowed_full: read(&self.allowed),
            exhausted: read(&self.exhausted),
            ..Stats::default()
        }
    }
}

/// The bytes of a line of counters.
pub(crate) const COUNTER_LINE: usize = size_of::<Stripe>();
/// The lines of counters that a table is made with.
pub(crate) const COUNTER_LINES: usize = 8;

/// The counters of a table, striped by home.
#[derive(Clone, Debug)]
pub(crate) struct Counters(Array<Stripe>);

impl Counters {
    pub(super) fn in_memory(memory: &Memory, offset: usize, lines: usize) -> Option<Self> {
        memory.array(offset, lines).map(Self)
    }

    pub(super) fn at<const SLOTS: usize>(&self, home: Index<'_, SLOTS>) -> &Stripe {
        self.0.around(home.number())
    }

    pub(super) fn sum(&self) -> Stats {
        self.0.all().iter().fold(Stats::default(), |sum, stripe| sum.with(stripe.stats()))
    }
}
