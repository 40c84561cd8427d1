//! What the tests see of a table that no caller does.

use super::buckets::Index;
use super::judge::Judge;
use super::{Lookup, Table};
use ratecell_core::Decision;
use ratecell_core::algorithm::Algorithm;

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// How many slots the key of hash `h` has: never more than one.
    pub(crate) fn members(&self, h: u64) -> usize {
        let address = self.address(h);
        let of_home = self.entries().filter(|entry| entry.home.is(address.home));
        of_home
            .filter(|entry| entry.tag.is_of_key(address.identity.in_role(entry.tag.is_alternate())))
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
        self.decide_cost(algorithm, h, now, cost, lookup)
    }

    /// Units that all words hold at `now`, the shared cells' included.
    pub(crate) fn held<A: Algorithm>(&self, algorithm: &A, now: u64) -> u64 {
        let own = self
            .entries()
            .map(|entry| self.era.level(algorithm, entry.tag, self.word_in_era(entry.tag, entry.word), now));
        let of_home =
            |home: Index<'_, SLOTS>| algorithm.level(self.carried_shared(home.bucket().header.ground()), now);
        let shared = self.buckets.from(0).filter(|_| self.shares()).map(of_home);
        own.chain(shared).sum()
    }

    /// How many slots the table has.
    #[cfg(not(ratecell_model))]
    pub(crate) fn slots(&self) -> usize {
        self.buckets.count() * SLOTS
    }
}
