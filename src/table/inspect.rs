//! What the tests see of a table that no caller does.

#[cfg(not(any(ratecell_loom, ratecell_shuttle)))]
use super::Verdict;
use super::{Sought, Table};
use ratecell_core::algorithm::Algorithm;
use ratecell_core::{Decision, Request};

impl<const SLOTS: usize> Table<SLOTS> {
    /// How many member slots the key of hash `h` has: never more than one.
    pub(crate) fn members(&self, h: u64) -> usize {
        let places = self.places(&self.geometry.address(h));
        places.alike().filter(|place| place.tag.is_member() && place.tag.is_key_of(place.identity)).count()
    }

    /// Decides `cost` at `now` on the key of hash `h`, and charges it if it is allowed.
    pub(crate) fn check<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        cost: u32,
        sought: Sought,
    ) -> Decision {
        let request = Request::default().cost(cost);
        self.report(algorithm, &self.charge(algorithm, h, now, &request, sought), now, &request)
    }

    /// Units that all words hold at `now`, the shared cells' included.
    pub(crate) fn held<A: Algorithm>(&self, algorithm: &A, now: u64) -> u64 {
        let cells = self.geometry.indices_from(0).map(|index| {
            let slots = self.buckets.get(index).slots.iter().map(|slot| slot.cell.load());
            let overflow = self.ledger.get(index).overflow.load();
            slots.chain([overflow]).map(|word| algorithm.level(word, now)).sum::<u64>()
        });
        cells.sum()
    }

    /// Marks the slot of a key, as a reclaimer that then dies.
    #[cfg(any(ratecell_loom, ratecell_shuttle))]
    pub(crate) fn mark(&self, h: u64) {
        if let Some((slot, tag)) = self.find(&self.geometry.address(h)) {
            slot.tag.change(tag, tag.next_mark());
        }
    }

    /// How many slots the table has.
    #[cfg(not(any(ratecell_loom, ratecell_shuttle)))]
    pub(crate) fn slots(&self) -> usize {
        self.geometry.buckets() * SLOTS
    }
}

#[cfg(not(any(ratecell_loom, ratecell_shuttle)))]
impl Verdict<'_> {
    /// The word before the charge and after it.
    pub(crate) fn words(&self) -> Option<(u64, u64)> {
        self.charge.map(|(_, charge)| (charge.before, charge.after))
    }
}
