//! What was given back, for each bucket: a total of all its keys, which only grows.
//!
//! A reservation remembers the total from before its charge. What the total has grown by since is at least what was given
//! back on its key: a greater number gives back less, which is safe.

use super::buckets::Index;
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

    /// What has been given back in the bucket so far, in the units of the words' axis; `None` where it is not kept.
    pub(super) fn total<const SLOTS: usize>(&self, bucket: Index<'_, SLOTS>) -> Option<u64> {
        // Acquire: the caller charges after this load. After the load of a word it sees what was added for each giving
        // back that the word shows, for that was added before the word was lowered.
        Some(self.totals.as_ref()?.all().get(bucket.number())?.load(Ordering::Acquire))
    }

    /// Adds what is about to be given back. The total wraps: only differences are meant.
    pub(super) fn add<const SLOTS: usize>(&self, bucket: Index<'_, SLOTS>, back: u64) {
        if let Some(total) = self.totals.as_ref().and_then(|totals| totals.all().get(bucket.number())) {
            // Relaxed: the exchange that lowers the word comes after it, and releases it.
            total.fetch_add(back, Ordering::Relaxed);
        }
    }
}
