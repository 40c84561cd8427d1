//! The answers of a full table: the cell that newcomers share, or a plain yes or no.

use super::buckets::{Address, Index};
use super::insert::{is_still_absent, settle};
use super::judge::Judge;
use super::layout::{Ground, Seat};
use super::tag::Tag;
use super::{Table, Verdict, WhenFull};
use ratecell_core::algorithm::Algorithm;
use ratecell_core::{Decision, Outcome, Request};

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// Charges the cell that newcomers without room share: the word of their home's header.
    ///
    /// One exchange of the header is the charge and its place in the order of the home's insertions. While the cell is
    /// not fresh none is inserted, and the reservation that stood before is void. So no key has both a share and a cell
    /// of its own.
    #[cold]
    pub(super) fn charge_shared<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        address: &Address<'t, SLOTS>,
        ground: Ground,
        now: u64,
        request: &Request<'_>,
    ) -> Option<Verdict<Seat<'t, J::Watch<'t>>>> {
        let header = &address.home.bucket().header;
        let (before, charged) = algorithm.newcomer(ground.word, 0, now, request);
        let done = match charged {
            None => is_still_absent(address, ground.version),
            Some(word) => {
                settle(address, ground.version)
                    && header.replace(ground, Ground { version: ground.version.next(), word })
            }
        };
        done.then(|| {
            self.counters.at(address.home).shared();
            Verdict::without_refund(before)
        })
    }

    /// The word of a shared cell as one of this era. Only a table of one policy has such cells.
    pub(super) fn carried_shared(&self, ground: Ground) -> u64 {
        self.era.carried(Tag::EMPTY.of_generation(ground.version.generation()), ground.word).1
    }

    /// Carries the shared cell's word to this era; it names the same slot in the same order. Where that fails another
    /// caller was in the way.
    #[cold]
    pub(super) fn carry_shared(&self, home: Index<'_, SLOTS>, ground: Ground) {
        let word = self.carried_shared(ground);
        let version = ground.version.of_generation(self.era.in_tag());
        let _ = home.bucket().header.replace(ground, Ground { version, word });
    }

    /// The verdict where no place may be taken before `free_at`.
    #[cold]
    pub(super) fn full(&self, address: &Address<'_, SLOTS>, free_at: u64) -> Verdict<Seat<'_, J::Watch<'_>>> {
        let counters = self.counters.at(address.home);
        match self.when_full {
            WhenFull::Allow => counters.allowed(),
            WhenFull::Evict | WhenFull::Share | WhenFull::Deny => counters.denied(),
        }
        Verdict::full(free_at)
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
            true => algorithm.decide(0, now, &request.units_alone(0)).decision,
            false => algorithm.decide(0, now, request).decision,
        };
        match (self.when_full, unkept.outcome()) {
            (WhenFull::Allow, _) | (_, Outcome::Never | Outcome::ClockRange) => unkept,
            (WhenFull::Evict | WhenFull::Share | WhenFull::Deny, _) => unkept.without_room(free_at, now),
        }
    }
}
