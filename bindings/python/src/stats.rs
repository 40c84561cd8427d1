//! `Stats`: what a limiter holds.

use pyo3::prelude::*;

/// What a limiter holds and what has happened to it. Of several layers, the sum of the events and of the
/// bytes, and the most slots and live keys of any.
#[pyclass(frozen, eq, module = "ratecell")]
#[derive(PartialEq)]
pub(crate) struct Stats {
    pub(crate) stats: ratecell::Stats,
    /// All 0 but of a limiter whose units are those of many machines.
    pub(crate) shared: ratecell::Shared,
}

#[pymethods]
impl Stats {
    /// Places for keys; `max_keys` is five sevenths of them.
    #[getter]
    fn slots(&self) -> usize {
        self.stats.slots
    }

    /// Keys that are not as good as never used.
    #[getter]
    fn live(&self) -> usize {
        self.stats.live
    }

    /// How many more or fewer than `live` there may be: 0 where all were counted, which is exact while nothing else
    /// runs. Of a sample it is four standard errors, and bounds the error of all but 1 of 10,000 limiters.
    #[getter]
    fn live_error(&self) -> usize {
        self.stats.live_error
    }

    /// Bytes of memory, fixed at construction; a `sliding_log`'s entries come on top.
    #[getter]
    fn bytes(&self) -> usize {
        self.stats.bytes
    }

    /// Live keys that were erased for newcomers.
    #[getter]
    fn evicted(&self) -> u64 {
        self.stats.evicted
    }

    /// Units that erased keys still held: what may have passed beyond the policy.
    #[getter]
    fn forgiven(&self) -> u64 {
        self.stats.forgiven
    }

    /// Requests decided on a cell shared by newcomers without room.
    #[getter]
    fn shared(&self) -> u64 {
        self.stats.shared
    }

    /// Newcomers denied for want of room.
    #[getter]
    fn denied_full(&self) -> u64 {
        self.stats.denied_full
    }

    /// Newcomers allowed uncharged for want of room.
    #[getter]
    fn allowed_full(&self) -> u64 {
        self.stats.allowed_full
    }

    /// Requests that met so many others at once that they were answered as by a full table.
    #[getter]
    fn exhausted(&self) -> u64 {
        self.stats.exhausted
    }

    /// Units that the store granted to this machine. This and all below are 0 but of a file of leases, whose counts are
    /// those of all processes since it was made.
    #[getter]
    fn leased(&self) -> u64 {
        self.shared.leased
    }

    /// Units of them that were used. A lease is counted when it is replaced.
    #[getter]
    fn used(&self) -> u64 {
        self.shared.used
    }

    /// Units of them that passed unused.
    #[getter]
    fn passed(&self) -> u64 {
        self.shared.passed
    }

    /// Units that were given back to the store.
    #[getter]
    fn given_back(&self) -> u64 {
        self.shared.given_back
    }

    /// Requests that no lease could answer.
    #[getter]
    fn misses(&self) -> u64 {
        self.shared.misses
    }

    /// Misses that waited for the store.
    #[getter]
    fn waits(&self) -> u64 {
        self.shared.waits
    }

    /// Misses that waited in vain.
    #[getter]
    fn timeouts(&self) -> u64 {
        self.shared.timeouts
    }

    /// Operations that were sent to the store.
    #[getter]
    fn operations(&self) -> u64 {
        self.shared.operations
    }

    /// Operations that came after another machine's, and were repeated.
    #[getter]
    fn swaps_lost(&self) -> u64 {
        self.shared.swaps_lost
    }

    /// How far the machine's idea of the store's clock is behind at most, in nanoseconds.
    #[getter]
    fn lag_ns(&self) -> u64 {
        self.shared.lag_ns
    }

    /// Words that were found below what this machine had charged. Above 0, the store has forgotten what it was told.
    #[getter]
    fn healed(&self) -> u64 {
        self.shared.healed
    }

    /// Misses that had no room on the machine's board.
    #[getter]
    fn board_full(&self) -> u64 {
        self.shared.board_full
    }

    /// Units that were allowed uncharged, because the store was away.
    #[getter]
    fn opened(&self) -> u64 {
        self.shared.opened
    }

    /// Units that the agent granted by its part of the policy, because the store was away.
    #[getter]
    fn local(&self) -> u64 {
        self.shared.local
    }

    /// Whether an agent is there, and the store answers it.
    #[getter]
    fn connected(&self) -> bool {
        self.shared.is_connected
    }

    fn __repr__(&self) -> String {
        let ratecell::Stats { slots, live, bytes, evicted, forgiven, .. } = self.stats;
        format!(
            "<Stats: live={live} slots={slots} bytes={bytes} evicted={evicted} forgiven={forgiven} shared={} \
             denied_full={} allowed_full={} exhausted={} live_error={}>",
            self.stats.shared,
            self.stats.denied_full,
            self.stats.allowed_full,
            self.stats.exhausted,
            self.stats.live_error
        )
    }
}
