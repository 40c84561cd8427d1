//! The layers of a limiter of keys: each an algorithm and the table of its keys' states.

use super::states::{Logs, States};
use super::words::WordTable;
use crate::error::BuildError;
use crate::memory::Memory;
use crate::table::era::Era;
use crate::table::log::LogTable;
use crate::table::{Extent, Holding, Stats, Superseded, Table, Unused, WhenFull, buckets_for};
use ratecell_core::algorithm::{Entries, InFlight, Kernel, Plan, SlidingLog};
use ratecell_core::{Decision, Request, with_kernel};

/// A layer and the table of its keys' states.
pub(super) type LayerTable = States<WordTable, LogTable>;

impl LayerTable {
    /// With all its memory, for this process.
    pub(super) fn alone(
        plan: Plan,
        max_keys: usize,
        when_full: WhenFull,
        era: Era,
    ) -> Result<Self, BuildError> {
        Ok(match plan {
            Plan::Word(kernel) => {
                let table = Table::made_in(buckets_for(max_keys)?, when_full, Memory::private, era)?;
                let counts_given = kernel.packing().counts_what_is_given_back();
                // A page of the totals is resident once something was given back in it.
                Self::own(kernel, if counts_given { table.with_totals(Memory::sparse)? } else { table })
            }
            Plan::Log(log) => Self::Logs(log, LogTable::for_keys(max_keys, when_full, era)?),
        })
    }

    /// With a table of its own.
    pub(super) fn own(kernel: Kernel, table: Table) -> Self {
        Self::Words(kernel, WordTable::Own(table))
    }

    pub(super) fn prefetch_rest(&self, h: u64) {
        match self {
            Self::Words(_, words) => words.prefetch_rest(h),
            Self::Logs(..) => {}
        }
    }

    pub(super) fn prefetch(&self, h: u64) {
        match self {
            Self::Words(_, words) => words.prefetch(h),
            Self::Logs(..) => {}
        }
    }

    pub(super) fn stats(&self, now: u64, extent: Extent) -> Stats {
        match self {
            Self::Words(kernel, words) => {
                with_kernel!(kernel, algorithm => words.stats(algorithm, now, extent))
            }
            // A log takes no memory before it is used.
            Self::Logs(log, table) => table.stats(log, now),
        }
    }

    /// Whether what is charged here can be given back.
    pub(super) fn can_give_back(&self) -> bool {
        match self {
            Self::Words(kernel, words) => {
                !kernel.packing().counts_what_is_given_back() || words.counts_what_is_given_back()
            }
            Self::Logs(..) => true,
        }
    }

    pub(super) fn in_flight(&self) -> Option<(&InFlight, &WordTable)> {
        match self {
            Self::Words(Kernel::InFlight(in_flight), words) => Some((in_flight, words)),
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
            Self::Words(kernel, words) => {
                with_kernel!(kernel, algorithm => words.settle(algorithm, h, unused, clock))
            }
            Self::Logs(log, table) => {
                table.settle(log, h, &unused.holding, unused.units, clock);
                Ok(None)
            }
        }
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
