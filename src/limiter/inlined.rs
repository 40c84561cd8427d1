//! What is decided in the caller.

use super::states::Layers;
use super::tables::LayerTable;
use super::words::WordTable;
use crate::table::log::LogTable;
use crate::table::{Lookup, Table};
use ratecell_core::algorithm::{Gcra, Kernel, Lease};
use ratecell_core::{Decision, Outcome};

/// The kernel and the table of a limiter by one layer, of which a known key is decided in the caller: found by one
/// comparison. They are those of the first regime.
pub(super) enum Inlined {
    /// The commonest policy by far.
    Gcra(Gcra, Table),
    /// Units of many machines.
    Lease(Lease, Table),
    /// Another policy, which is decided by a call.
    None,
}

impl Inlined {
    pub(super) fn of(layers: &Layers<WordTable, LogTable>) -> Self {
        match layers {
            Layers::One(LayerTable::Words(Kernel::Gcra(gcra), WordTable::Own(table))) => {
                Self::Gcra(*gcra, table.clone())
            }
            Layers::One(LayerTable::Words(Kernel::Lease(lease), WordTable::Own(table))) => {
                Self::Lease(*lease, table.clone())
            }
            _ => Self::None,
        }
    }

    /// The same, which leaves denials to another call.
    pub(super) fn handing_denials_on(self) -> Self {
        match self {
            Self::Gcra(gcra, table) => Self::Gcra(gcra, table.handing_denials_on()),
            Self::Lease(lease, table) => Self::Lease(lease, table.handing_denials_on()),
            Self::None => Self::None,
        }
    }

    /// The decision on a known key, or why there is none. A lease is not used at an instant that is given: it ends by the
    /// limiter's own clock.
    #[inline(always)]
    pub(super) fn try_hit(&self, h: u64, now: u64, cost: u32, is_given: bool) -> Result<Decision, Lookup> {
        match self {
            Self::Gcra(gcra, table) => table.try_hit(gcra, h, now, cost),
            Self::Lease(lease, table) if !is_given => {
                let decision = table.try_hit(lease, h, now, cost)?;
                if decision.outcome() == Outcome::Asked { Err(Lookup::NotYet) } else { Ok(decision) }
            }
            Self::Lease(..) | Self::None => Err(Lookup::NotYet),
        }
    }
}
