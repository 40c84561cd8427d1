//! The answers of a full table: the cell that newcomers share, or a plain yes or no.

use super::layout::{Address, Version};
use super::{Charged, Table, WhenFull};
use crate::algorithm::Algorithm;
use crate::decision::{Decision, Outcome};

impl<const SLOTS: usize> Table<SLOTS> {
    /// Charges the cell that newcomers without room share.
    ///
    /// The version's CAS orders the charge among the insertions of the home: while the cell is not
    /// fresh none is inserted, and later ones are judged no earlier than it is fresh. So no key has
    /// both a share and a cell of its own.
    pub(super) fn charge_overflow<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        address: &Address,
        version: Version,
        now: u64,
        cost: u32,
    ) -> Option<Charged<'t>> {
        let ledger = self.ledger.get(address.home);
        let before = ledger.overflow.load();
        let step = algorithm.step(algorithm.above(before, ledger.floor.load(), now), now, cost);
        let counters = self.counters.at(address.home);
        if !step.decision.is_allowed() {
            let current = ledger.version.load() == version;
            return current.then(|| {
                counters.shared();
                Charged::uncharged(step.decision)
            });
        }
        // Without the commit the charge stays on the shared cell, which over-denies.
        if !ledger.overflow.replace(before, step.word)
            || !ledger.version.commit(version, version.next_without_slot())
        {
            return None;
        }
        counters.shared();
        Some(Charged::uncharged(step.decision))
    }

    /// The answer where no place may be taken before `free_at`.
    pub(super) fn full<A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address,
        now: u64,
        cost: u32,
        free_at: u64,
    ) -> Charged<'_> {
        let counters = self.counters.at(address.home);
        let mut decision = algorithm.step(0, now, cost).decision;
        if self.when_full == WhenFull::Allow {
            counters.allowed();
        } else {
            counters.denied();
            decision.outcome = Outcome::Denied;
            decision.remaining = 0;
            decision.retry_after_ns = free_at.saturating_sub(now).clamp(1, Decision::NEVER - 1);
            decision.reset_after_ns = decision.retry_after_ns;
            decision.delay_ns = 0;
        }
        Charged::uncharged(decision)
    }
}
