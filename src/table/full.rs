//! The answers of a full table: the cell that newcomers share, or a plain yes or no.

use super::buckets::Address;
use super::layout::Version;
use super::{Table, Verdict, WhenFull};
use ratecell_core::algorithm::Algorithm;
use ratecell_core::{Decision, Outcome, Request};

impl<const SLOTS: usize> Table<SLOTS> {
    /// Charges the cell that newcomers without room share.
    ///
    /// The version's CAS orders the charge among the insertions of the home: while the cell is not
    /// fresh none is inserted, and later ones are judged no earlier than it is fresh. So no key has
    /// both a share and a cell of its own.
    pub(super) fn charge_overflow<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        address: &Address<'t, SLOTS>,
        version: Version,
        now: u64,
        request: &Request<'_>,
    ) -> Option<Verdict<'t>> {
        let ledger = address.home.ledger();
        let before = ledger.overflow.load();
        let (word, charged) = algorithm.newcomer(before, ledger.floor.load(), now, request);
        let counters = self.counters.at(address.home);
        let Some(after) = charged else {
            let current = ledger.version.load() == version;
            return current.then(|| {
                counters.shared();
                Verdict::uncharged(word)
            });
        };
        // Without the commit the charge stays on the shared cell, which over-denies.
        if !ledger.overflow.replace(before, after)
            || !ledger.version.commit(version, version.next_without_slot())
        {
            return None;
        }
        counters.shared();
        Some(Verdict::uncharged(word))
    }

    /// The verdict where no place may be taken before `free_at`.
    pub(super) fn full(&self, address: &Address<'_, SLOTS>, free_at: u64) -> Verdict<'_> {
        let counters = self.counters.at(address.home);
        match self.when_full {
            WhenFull::Allow => counters.allowed(),
            WhenFull::Evict | WhenFull::Share | WhenFull::Deny => counters.denied(),
        }
        Verdict { full_until: Some(free_at), ..Verdict::uncharged(0) }
    }

    /// The decision of a request for which there was no room before `free_at`.
    #[cold]
    pub(super) fn report_full<A: Algorithm>(
        &self,
        algorithm: &A,
        free_at: u64,
        now: u64,
        request: &Request<'_>,
    ) -> Decision {
        // Nothing is charged, and the answer to a charge is a peek's.
        let unkept = match request.is_charge() {
            true => algorithm.report(0, now, 0),
            false => algorithm.decide(0, now, request).decision,
        };
        match (self.when_full, unkept.outcome()) {
            (WhenFull::Allow, _) | (_, Outcome::Never | Outcome::ClockRange) => unkept,
            (WhenFull::Evict | WhenFull::Share | WhenFull::Deny, _) => unkept.without_room(free_at, now),
        }
    }
}
