//! Leases: what a store answered is written to a key's slot.

use super::find::Search;
use super::judge::Judge;
use super::layout::Seat;
use super::{MAX_ROUNDS, Table};
use ratecell_core::Request;
use ratecell_core::algorithm::Answered;

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// Writes what the store answered to the key of hash `h`, and inserts the key if it has no slot. False: no place was
    /// found, or others were always in the way.
    ///
    /// A use that strays costs a stranger a unit, which only denies more; a grant that strays would admit more. So both
    /// ways change the tag and the word by one exchange, from exactly what was seen.
    pub(crate) fn lend(&self, answered: &Answered, h: u64, now: u64) -> bool {
        let address = self.address(h);
        for _ in 0..MAX_ROUNDS {
            match self.find(&address) {
                Search::Found(Seat { slot, tag, .. }, word) => {
                    // With another void: a refund of a use of what stood here before is one no more.
                    if slot.replace((tag, word), (tag.next_void(), answered.word())) {
                        return true;
                    }
                }
                Search::Lost => {}
                Search::InVain(version) => {
                    if let Some(verdict) = self.round(answered, &address, version, now, Request::default) {
                        return verdict.full_until().is_none();
                    }
                }
            }
        }
        self.counters.at(address.home).exhausted();
        false
    }

    /// The word of the key of hash `h`, or 0.
    pub(crate) fn word_of(&self, h: u64) -> u64 {
        match self.find(&self.address(h)) {
            Search::Found(seat, word) if seat.is_held() => word,
            _ => 0,
        }
    }
}
