//! What the tests see of a table that no caller does.

#[cfg(not(ratecell_model))]
use super::Verdict;
use super::{Lookup, Table};
use ratecell_core::algorithm::Algorithm;
use ratecell_core::{Decision, Request};

impl<const SLOTS: usize> Table<SLOTS> {
    /// How many member slots the key of hash `h` has: never more than one.
    pub(crate) fn members(&self, h: u64) -> usize {
        let address = self.buckets.address(h);
        let members = self.entries().filter(|entry| entry.tag.is_member() && entry.home.is(address.home));
        members
            .filter(|entry| entry.tag.is_key_of(address.identity.in_role(entry.tag.is_alternate())))
            .count()
    }

    /// Decides `cost` at `now` on the key of hash `h`, and charges it if it is allowed.
    pub(crate) fn check<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        cost: u32,
        lookup: Lookup,
    ) -> Decision {
        let request = Request::default().cost(cost);
        self.report(algorithm, &self.charge(algorithm, h, now, &request, lookup), now, &request)
    }

    /// Units that all words hold at `now`, the shared cells' included.
    pub(crate) fn held<A: Algorithm>(&self, algorithm: &A, now: u64) -> u64 {
        let own = self.entries().map(|entry| entry.word);
        let shared = self.buckets.from(0).map(|home| home.ledger().overflow.load());
        own.chain(shared).map(|word| algorithm.level(word, now)).sum()
    }

    /// Marks the slot of a key, as a reclaimer that then dies.
    #[cfg(ratecell_model)]
    pub(crate) fn mark(&self, h: u64) {
        if let Some((slot, tag)) = self.find(&self.buckets.address(h)) {
            slot.tag.change(tag, tag.next_mark());
        }
    }

    /// How many slots the table has.
    #[cfg(not(ratecell_model))]
    pub(crate) fn slots(&self) -> usize {
        self.buckets.count() * SLOTS
    }
}

#[cfg(not(ratecell_model))]
impl Verdict<'_> {
    /// The word before the charge and after it.
    pub(crate) fn words(&self) -> Option<(u64, u64)> {
        self.charge.map(|(_, charge)| (charge.before, charge.after))
    }
}
