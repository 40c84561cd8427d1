//! The layers of a limiter: each an algorithm and the table of its keys' states.

use core::ops::Deref;

use super::layers::Layer;
use crate::error::BuildError;
use crate::table::log::LogTable;
use crate::table::{Extent, Sought, Stats, Table, Verdict, WhenFull, buckets_for};
use ratecell_core::Decision;
use ratecell_core::algorithm::SlidingLog;
use ratecell_core::algorithm::{Asked, Filling, Within};
use ratecell_core::algorithm::{Kernel, Plan};
use ratecell_core::with_kernel;

/// The layers of a limiter. One alone, as most have, stands in the limiter itself.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a pointer less to follow, in every check")]
pub(super) enum Layers {
    One(LayerTable),
    Several(Box<[LayerTable]>),
}

impl FromIterator<LayerTable> for Layers {
    fn from_iter<I: IntoIterator<Item = LayerTable>>(layers: I) -> Self {
        let mut layers: Vec<_> = layers.into_iter().collect();
        match (layers.pop(), layers.is_empty()) {
            (Some(layer), true) => Self::One(layer),
            (last, _) => {
                layers.extend(last);
                Self::Several(layers.into_boxed_slice())
            }
        }
    }
}

impl Deref for Layers {
    type Target = [LayerTable];

    #[inline]
    fn deref(&self) -> &[LayerTable] {
        match self {
            Self::One(layer) => core::slice::from_ref(layer),
            Self::Several(layers) => layers,
        }
    }
}

/// A layer and the table of its keys' states.
#[derive(Debug)]
pub(super) enum LayerTable {
    Words(Kernel, Table),
    Logs(SlidingLog, LogTable),
}

impl LayerTable {
    /// With all its memory, for this process.
    pub(super) fn alone(plan: Plan, max_keys: usize, when_full: WhenFull) -> Result<Self, BuildError> {
        Ok(match plan {
            Plan::Word(kernel) => Self::Words(kernel, Table::private(buckets_for(max_keys)?, when_full)?),
            Plan::Log(log) => Self::Logs(log, LogTable::for_keys(max_keys, when_full)?),
        })
    }

    #[inline]
    pub(super) fn check(&self, h: u64, now: u64, cost: u32, sought: Sought) -> Decision {
        match self {
            Self::Words(kernel, table) => {
                with_kernel!(kernel, algorithm => table.check(algorithm, h, now, cost, sought))
            }
            Self::Logs(log, table) => table.charge(log, h, now, cost),
        }
    }

    pub(super) fn own_delay_ns(&self, now: u64, cost: u32) -> u64 {
        match self {
            Self::Words(kernel, _) => kernel.own_delay_ns(now, cost),
            Self::Logs(..) => 0,
        }
    }

    pub(super) fn check_within(&self, h: u64, now: u64, cost: u32, max_delay_ns: u64) -> Decision {
        match self {
            Self::Words(Kernel::Gcra(gcra), table) => {
                table.check(&Asked(*gcra, Within(max_delay_ns)), h, now, cost, Sought::NotYet)
            }
            // No other delays a request: their tables are not compiled once more for it.
            Self::Words(..) | Self::Logs(..) => self.check(h, now, cost, Sought::NotYet),
        }
    }

    pub(super) fn fill(&self, h: u64, now: u64, cost: u32) -> Decision {
        match self {
            Self::Words(kernel, table) => {
                with_kernel!(kernel, algorithm => table.check(&Asked(*algorithm, Filling), h, now, cost, Sought::NotYet))
            }
            Self::Logs(log, table) => table.fill(log, h, now, cost),
        }
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

    pub(super) fn forget(&self, h: u64, now: u64) -> bool {
        match self {
            Self::Words(kernel, table) => with_kernel!(kernel, algorithm => table.forget(algorithm, h, now)),
            Self::Logs(_, table) => table.forget(h),
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
}

/// What takes a charge back.
#[derive(Debug)]
pub(super) enum Receipt<'l> {
    Word(Verdict<'l>),
    /// When it was charged, by the log's own clock; `None` if it stays.
    Log(Option<u64>),
}

impl Layer for LayerTable {
    type Receipt<'l> = Receipt<'l>;

    fn peek(&self, h: u64, now: u64, cost: u32) -> Decision {
        match self {
            Self::Words(kernel, table) => {
                with_kernel!(kernel, algorithm => table.peek(algorithm, h, now, cost))
            }
            Self::Logs(log, table) => table.peek(log, h, now, cost),
        }
    }

    fn charge(&self, h: u64, now: u64, cost: u32) -> (Decision, Self::Receipt<'_>) {
        match self {
            Self::Words(kernel, table) => {
                with_kernel!(kernel, algorithm => {
                    let verdict = table.charge(algorithm, h, now, cost, Sought::NotYet);
                    (table.report(algorithm, &verdict, now, cost), Receipt::Word(verdict))
                })
            }
            Self::Logs(log, table) => {
                let (decision, clock) = table.charge_refundable(log, h, now, cost);
                (decision, Receipt::Log(clock))
            }
        }
    }

    fn refund(&self, receipt: Self::Receipt<'_>, h: u64, cost: u32) {
        match (self, receipt) {
            (Self::Words(..), Receipt::Word(verdict)) => verdict.refund(),
            (Self::Logs(_, table), Receipt::Log(Some(clock))) => table.refund(h, clock, cost),
            (Self::Words(..) | Self::Logs(..), Receipt::Word(_) | Receipt::Log(_)) => {}
        }
    }
}
