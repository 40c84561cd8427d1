//! A machine's tables follow the policy of the store: their leases are of its units.

use super::{Machine, leases};
use crate::board::Counter;
use crate::error::BuildError;
use crate::limiter::regime::Regime;
use crate::limiter::tables::LayerTable;
use ratecell_core::algorithm::LayoutChoice;
use ratecell_core::{Generation, Policy};
use std::sync::Arc;

impl Machine {
    /// Has all callers of the machine decide by the policy of that generation of the store. What the tables hold is of the
    /// generation before: from now on it is missed.
    pub(super) fn follow_to(&mut self, generation: &Generation) -> Result<(), BuildError> {
        // By the epoch of the machine's own clock, as each of its processes reads it.
        let policy: Policy = generation.policy().to_string().parse()?;
        let policy = policy.repacked(|_| LayoutChoice::WIDE)?;
        let generations = &self.regimes.generations;
        generations.exclusively(|| {
            self.regimes.sweep_if_due()?;
            let number = self.regimes.reigning()?.number.saturating_add(1);
            // Capacities are 32-bit parameters.
            let reach = policy.layers().iter().map(|layer| layer.capacity() as u32).collect();
            let next = Generation::recorded(&policy, number, reach, 0)?.leased();
            generations.put_in_force(next, None, &self.clock)
        })?;
        self.layers = leases(&self.regimes.reigning()?.layers);
        self.is_of(generation.number());
        Ok(())
    }

    /// The leases are of that generation of the store. It is said before the first of them is there: an agent that finds
    /// another generation at the store, or none, lets none of them be used.
    pub(super) fn is_of(&self, generation: u64) {
        self.board.set(Counter::Generation, generation.wrapping_add(1));
    }

    /// What the agent that was here before said of the leases.
    pub(super) fn was_of(&self) -> Option<u64> {
        let counters = self.board.counters();
        counters.get(Counter::Generation as usize).and_then(|number| number.checked_sub(1))
    }
}

/// The same tables, with handles of the agent's own.
pub(super) fn copied(regime: &Regime) -> Regime {
    let layers = regime.layers.iter().map(|layer| match layer {
        LayerTable::Words(kernel, table) => LayerTable::Words(kernel.clone(), table.clone()),
        LayerTable::Logs(log, table) => LayerTable::Logs(*log, table.clone()),
    });
    let (policy, lineage) = (Arc::clone(&regime.policy), Arc::clone(&regime.lineage));
    Regime { number: regime.number, policy, layers: layers.collect(), lineage }
}
