//! The layers of a limiter of keys: each an algorithm and the table of its keys' states.

use super::states::{Logs, States, Words};
use crate::cell::Verdict;
use crate::error::BuildError;
use crate::memory::{Memory, MemoryError};
use crate::table::era::Era;
use crate::table::log::LogTable;
use crate::table::{Extent, Holding, Lookup, Seat, Stats, Superseded, Table, Unused, WhenFull, buckets_for};
use ratecell_core::algorithm::{Algorithm, Entries, InFlight, Kernel, Plan, Reserve, SlidingLog};
use ratecell_core::{Decision, Request, with_kernel};

/// A layer and the table of its keys' states.
pub(super) type LayerTable = States<Table, LogTable>;

impl LayerTable {
    /// With all its memory, for this process.
    pub(super) fn alone(
        plan: Plan,
        max_keys: usize,
        when_full: WhenFull,
        memory: fn(usize) -> Result<Memory, MemoryError>,
        era: Era,
    ) -> Result<Self, BuildError> {
        Ok(match plan {
            Plan::Word(kernel) => {
                let table = Table::made_in(buckets_for(max_keys)?, when_full, memory, era)?;
                let counts_given = kernel.packing().counts_what_is_given_back();
                Self::Words(kernel, if counts_given { table.with_totals()? } else { table })
            }
            Plan::Log(log) => Self::Logs(log, LogTable::for_keys(max_keys, when_full, era)?),
        })
    }

    pub(super) fn prefetch_rest(&self, h: u64) {
        match self {
            Self::Words(_, table) => table.prefetch_rest(h),
            Self::Logs(..) => {}
        }
    }

    pub(super) fn prefetch(&self, h: u64) {
        match self {
            Self::Words(_, table) => table.prefetch(h),
            Self::Logs(..) => {}
        }
    }

    pub(super) fn stats(&self, now: u64, extent: Extent) -> Stats {
        match self {
            Self::Words(kernel, table) => {
                with_kernel!(kernel, algorithm => table.stats(algorithm, now, extent))
            }
            // A log takes no memory before it is used.
            Self::Logs(log, table) => table.stats(log, now),
        }
    }

    /// Whether what is charged here can be given back.
    pub(super) fn can_give_back(&self) -> bool {
        match self {
            Self::Words(kernel, table) => {
                !kernel.packing().counts_what_is_given_back() || table.counts_what_is_given_back()
            }
            Self::Logs(..) => true,
        }
    }

    pub(super) fn in_flight(&self) -> Option<(&InFlight, &Table)> {
        match self {
            Self::Words(Kernel::InFlight(in_flight), table) => Some((in_flight, table)),
            _ => None,
        }
    }

    /// What a peek sees afterwards, where that is known; an error if nothing was done.
    pub(super) fn settle(
        &self,
        h: u64,
        unused: Unused,
        clock: impl Fn() -> u64,
    ) -> Result<Option<Decision>, Superseded> {
        match self {
            Self::Words(kernel, table) => {
                with_kernel!(kernel, algorithm => table.settle(algorithm, h, unused, clock))
            }
            Self::Logs(log, table) => {
                table.settle(log, h, &unused.holding, unused.units, clock);
                Ok(None)
            }
        }
    }
}

impl Words for Table {
    type Cell<'c> = Seat<'c>;

    fn charge<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> Verdict<Seat<'_>> {
        self.charge(algorithm, h, now, request)
    }

    fn reserve<A: Reserve>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Verdict<Seat<'_>>, Option<Holding>) {
        self.reserve(algorithm, h, now, request)
    }

    fn release(&self, in_flight: &InFlight, h: u64, permit: &Holding, cost: u32, now: u64) {
        // If the policy has just been changed, the permit comes back by itself.
        let _ = self.release(in_flight, h, permit, cost, || now);
    }

    #[inline]
    fn decide_cost<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        cost: u32,
        lookup: Lookup,
    ) -> Decision {
        self.decide_cost(algorithm, h, now, cost, lookup)
    }

    fn report<A: Algorithm>(
        &self,
        algorithm: &A,
        verdict: &Verdict<Seat<'_>>,
        now: u64,
        request: &Request<'_>,
    ) -> Decision {
        self.report(algorithm, verdict, now, request)
    }

    fn peek<A: Algorithm>(&self, algorithm: &A, h: u64, now: u64, request: &Request<'_>) -> Decision {
        self.peek(algorithm, h, now, request)
    }

    fn forget(&self, h: u64) -> bool {
        self.forget(h)
    }
}

impl Logs for LogTable {
    fn charge(
        &self,
        log: &SlidingLog,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Option<Entries>) {
        self.charge(log, h, now, request)
    }

    fn reserve(
        &self,
        log: &SlidingLog,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Option<Entries>, Option<Holding>) {
        self.reserve(log, h, now, request)
    }

    fn peek(&self, log: &SlidingLog, h: u64, now: u64, cost: u32) -> Decision {
        self.peek(log, h, now, cost)
    }

    fn refund(&self, h: u64, entries: Entries) {
        self.refund(h, entries);
    }

    fn forget(&self, h: u64) -> bool {
        self.forget(h)
    }
}
