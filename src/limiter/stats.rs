//! How full a limiter is, and what it has done.

#[cfg(feature = "rules")]
use std::sync::Arc;

use super::Limiter;
#[cfg(feature = "rules")]
use super::mixed::MixedTable;
use crate::table::{Extent, Stats};

impl Limiter {
    /// Returns the number of live keys, the memory, and the counts of events.
    ///
    /// Above 163,840 keys, the number of live keys is an estimate, from the same 4 MiB of each layer each time, and
    /// [`Stats::live_error`] bounds its error. No other memory is read. A `sliding_log` is always counted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats_at(self.clock.now())
    }

    /// [`stats`](Self::stats) at `now_ns`.
    #[must_use]
    pub fn stats_at(&self, now_ns: u64) -> Stats {
        self.survey(now_ns, Extent::Sample)
    }

    /// [`stats`](Self::stats) with every key counted. This reads the whole table: it takes tens of milliseconds for ten
    /// million keys, and makes all memory of a region resident.
    #[must_use]
    pub fn stats_exact(&self) -> Stats {
        self.stats_exact_at(self.clock.now())
    }

    /// [`stats_exact`](Self::stats_exact) at `now_ns`.
    #[must_use]
    pub fn stats_exact_at(&self, now_ns: u64) -> Stats {
        self.survey(now_ns, Extent::All)
    }

    fn survey(&self, now_ns: u64, extent: Extent) -> Stats {
        let layers = &self.regimes.reigning_or_first().layers;
        layers.iter().fold(Stats::default(), |sum, layer| sum.with(layer.stats(now_ns, extent)))
    }

    /// [`stats_at`](Self::stats_at) of those of its tables that `is_new` says are not counted yet: a table in which words of
    /// several limiters stand is asked for.
    #[cfg(feature = "rules")]
    pub(crate) fn stats_beside(
        &self,
        now_ns: u64,
        mut is_new: impl FnMut(&Arc<MixedTable>) -> bool,
    ) -> Stats {
        let layers = &self.regimes.reigning_or_first().layers;
        let counted = layers.iter().filter(|layer| layer.mixed().is_none_or(&mut is_new));
        counted.fold(Stats::default(), |sum, layer| sum.with(layer.stats(now_ns, Extent::Sample)))
    }
}
