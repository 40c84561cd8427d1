//! What was given back, for each bucket: a total of all its keys, which only grows.
//!
//! A reservation remembers the total from before its charge. What the total has grown by since is at least what was given
//! back on its key: a greater number gives back less, which is safe.

use crate::memory::{Array, Memory};
use crate::sync::{AtomicU64, Ordering};

/// The totals of one table, if they are kept.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// As many as there are buckets.
    totals: Option<Array<AtomicU64>>,
}

impl Given {
    pub(super) const NOT_KEPT: Self = Self { totals: None };

    /// Those that stand `offset` bytes into `memory`, one for each of so many buckets; `None` where they do not fit.
    pub(super) fn in_memory(memory: &Memory, offset: usize, buckets: usize) -> Option<Self> {
        Some(Self { totals: Some(memory.array(offset, buckets)?) })
    }

    pub(super) fn is_kept(&self) -> bool {
        self.totals.is_some()
    }

    /// The total of the bucket of that number; `None` where it is not kept.
    #[inline(always)]
    pub(super) fn of(&self, bucket: usize) -> Option<Total<'_>> {
        self.totals.as_ref()?.all().get(bucket).map(Total)
    }
}

/// What has been given back in one bucket, in the units of the words' axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Total<'t>(&'t AtomicU64);

impl Total<'_> {
    /// So far.
    #[inline(always)]
    pub(super) fn now(self) -> u64 {
        // Acquire: the caller charges after this load. After the load of a word it sees what was added for each giving
        // back that the word shows, for that was added before the word was lowered.
        self.0.load(Ordering::Acquire)
    }

    /// Adds what is about to be given back. The total wraps: only differences are meant.
    #[inline(always)]
    pub(super) fn add(self, back: u64) {
        // Relaxed: the exchange that lowers the word comes after it, and releases it.
        self.0.fetch_add(back, Ordering::Relaxed);
    }
}
