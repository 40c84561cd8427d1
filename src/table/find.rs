//! Where a key is looked for: first where it most likely stands, then in all places that it may have.

use core::hint::select_unpredictable;

use super::buckets::Address;
use super::judge::Judge;
use super::layout::{Bucket, Seat, Slot};
use super::tag::{Tag, Version};
use super::{Table, group};

/// A slot that a key may have, and the tag it was seen with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'t> {
    pub(super) slot: &'t Slot,
    pub(super) tag: Tag,
    /// In its bucket, counted from 1.
    pub(super) number: usize,
    /// The key's tag in this bucket.
    pub(super) identity: Tag,
}

/// All places that a key may have, by their bits in a search of the group: the slots of its home, and after them those
/// of its alternate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'t, const SLOTS: usize> {
    home: &'t Bucket<SLOTS>,
    /// Home again in a table of one bucket: its slots are then seen twice, and as the alternate's they are of no key.
    alternate: &'t Bucket<SLOTS>,
    identity: Tag,
}

impl<'t, const SLOTS: usize> Places<'t, SLOTS> {
    #[inline]
    pub(super) fn of(address: &Address<'t, SLOTS>) -> Self {
        let Address { home, identity } = *address;
        Self { home: home.bucket(), alternate: address.alternate().bucket(), identity }
    }

    /// The place of that bit, if it is one.
    #[inline(always)]
    fn at(&self, bit: usize) -> Option<Place<'t>> {
        let (number, in_alternate) = (bit % group::BITS, bit >= group::BITS);
        // Which of the two nobody could predict.
        let bucket = select_unpredictable(in_alternate, self.alternate, self.home);
        let slot = bucket.slots.get(number.wrapping_sub(1))?;
        Some(Place { slot, tag: slot.tag(), number, identity: self.identity.in_role(in_alternate) })
    }

    /// The places of those bits.
    #[inline(always)]
    pub(super) fn among(self, mut bits: u32) -> impl Iterator<Item = Place<'t>> {
        core::iter::from_fn(move || {
            let bit = bits.trailing_zeros() as usize;
            bits &= bits.checked_sub(1)?;
            self.at(bit)
        })
    }

    /// The key's place, if it has one, with a word of any generation: all tags are compared at once.
    #[inline(always)]
    pub(super) fn find(self) -> Option<Place<'t>> {
        let alike = group::alike(self.home, self.alternate, self.identity);
        self.among(alike).find(|place| place.tag.is_of_key(place.identity))
    }

    /// The bits of the places that look empty, at home and in the alternate.
    #[inline]
    pub(super) fn empty(&self) -> [u32; 2] {
        const HOME: u32 = (1 << group::BITS) - 1;
        let empty = group::alike(self.home, self.alternate, Tag::EMPTY);
        [empty & HOME, empty & !HOME]
    }
}

/// What came of a search.
#[derive(Clone, Copy, Debug)]
pub(super) enum Search<'t, W> {
    /// With a word of this era, or of one four changes after it.
    Found(Seat<'t, W>, u64),
    /// Nowhere. The version was loaded before the search.
    InVain(Version),
    /// Its word was of another generation: the caller is to look anew.
    Lost,
}

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// Asks for the cache lines that a check of `h` will need first.
    #[inline]
    pub(crate) fn prefetch(&self, h: u64) {
        if self.outgrows_cache {
            self.buckets.address(h).home.prefetch();
        }
    }

    /// Asks for the others, if it will need them: when the first ones are there.
    #[inline]
    pub(crate) fn prefetch_rest(&self, h: u64) {
        let address = self.buckets.address(h);
        if self.outgrows_cache && !stands_in_pair(&address) {
            address.alternate().prefetch();
        }
    }

    /// Finds the cell of a key, with its word. A word of another era is carried to this one, and the caller is to look for the
    /// key anew, if this era is still in force.
    #[inline(always)]
    pub(super) fn find<'t>(&'t self, address: &Address<'t, SLOTS>) -> Search<'t, J::Watch<'t>> {
        if self.outgrows_cache {
            // Under way while the pair is looked at: up to one key in three is elsewhere.
            address.home.prefetch();
            address.alternate().prefetch();
        }
        if let Some((slot, tag, word)) = find_in_pair(address) {
            return Search::Found(Seat { slot, tag, watch: self.era.watch() }, word);
        }
        let version = address.home.bucket().header.version();
        match Places::of(address).find() {
            Some(Place { slot, tag, .. }) if self.era.is_of(tag) => {
                Search::Found(Seat { slot, tag, watch: self.era.watch() }, slot.word())
            }
            Some(Place { slot, tag, .. }) => {
                self.carry(slot, tag);
                Search::Lost
            }
            None => Search::InVain(version),
        }
    }

    /// Finds the cell of a key, with a word of any generation.
    pub(super) fn find_any<'t>(address: &Address<'t, SLOTS>) -> Option<(&'t Slot, Tag)> {
        Places::of(address).find().map(|Place { slot, tag, .. }| (slot, tag))
    }

    /// Carries the word of a slot to this era. Says no if another caller was in the way, or the policy was changed.
    ///
    /// The void is stepped: four changes later the two bits are the same, and the word may be the same number, of other units.
    #[cold]
    #[inline(never)]
    pub(super) fn carry(&self, slot: &Slot, tag: Tag) -> bool {
        let word = slot.word();
        self.is_of_before(slot, tag) && {
            let (to, carried) = self.era.carried(tag, word);
            slot.replace((tag, word), (to.next_void(), carried))
        }
    }

    /// What `word`, which was loaded after `tag`, is in this era. `None` if another caller was in the way, or the policy was
    /// changed.
    ///
    /// The tag is the same again, so both are of one generation; and after that this era is still in force, so it is one
    /// of the three before it.
    #[inline(always)]
    pub(super) fn carried(&self, slot: &Slot, tag: Tag, word: u64) -> Option<u64> {
        if self.era.is_of(tag) {
            return Some(word);
        }
        self.carried_late(slot, tag, word)
    }

    #[cold]
    #[inline(never)]
    fn carried_late(&self, slot: &Slot, tag: Tag, word: u64) -> Option<u64> {
        let (_, carried) = self.is_of_before(slot, tag).then(|| self.era.carried(tag, word))?;
        Some(carried)
    }

    fn is_of_before(&self, slot: &Slot, tag: Tag) -> bool {
        slot.tag() == tag && self.era.is_in_force()
    }
}

/// Whether a key stands where it most likely does, with a word of any generation.
#[inline(always)]
fn stands_in_pair<const SLOTS: usize>(address: &Address<'_, SLOTS>) -> bool {
    let (slots, pair) = (&address.home.bucket().slots, address.pair());
    let pair = [slots.get(pair), slots.get((pair + 1) % SLOTS)];
    pair.into_iter().flatten().any(|slot| slot.tag().is_of_key(address.identity))
}

/// Finds a cell where it most likely stands.
#[inline(always)]
fn find_in_pair<'t, const SLOTS: usize>(address: &Address<'t, SLOTS>) -> Option<(&'t Slot, Tag, u64)> {
    let slots = &address.home.bucket().slots;
    let pair = address.pair();
    let (first, second) = (slots.get(pair)?, slots.get((pair + 1) % SLOTS)?);
    let tags = (first.tag(), second.tag());
    // Both words, so that neither waits for the comparison.
    let words = (first.word(), second.word());
    let is_second = tags.1.is_of(address.identity);
    // Which of the two nobody could predict.
    let slot = select_unpredictable(is_second, second, first);
    let tag = select_unpredictable(is_second, tags.1, tags.0);
    let word = select_unpredictable(is_second, words.1, words.0);
    tag.is_of(address.identity).then_some((slot, tag, word))
}

#[cfg(all(test, not(ratecell_model)))]
mod tests {
    use super::super::{Lookup, WhenFull, keys_in, spread};
    use super::*;
    use crate::tests::kernels::kernel;
    use ratecell_core::with_kernel;

    /// How many of the first `keys` keys of a table stand in their pair, and how many anywhere.
    fn standing(buckets: usize, keys: usize) -> (usize, usize) {
        let table = <Table>::alone(buckets, WhenFull::Deny);
        let hashes: Vec<u64> = (1..=keys as u64).map(spread).collect();
        for h in &hashes {
            let _ = with_kernel!(kernel("1/d"), gcra => table.check(&gcra, *h, 0, 1, Lookup::NotYet));
        }
        let addresses = || hashes.iter().map(|h| table.address(*h));
        let in_pair = addresses().filter(|address| find_in_pair(address).is_some()).count();
        let found = addresses().filter(|address| matches!(table.find(address), Search::Found(..))).count();
        (in_pair, found)
    }

    #[test]
    fn most_keys_stand_in_their_pair() {
        let (buckets, room) = (10_000, keys_in(10_000));
        let (at_half, all) = standing(buckets, room / 2);
        assert!(at_half * 100 > all * 86 && all == room / 2, "{at_half} of {all}");
        let (when_full, all) = standing(buckets, room);
        assert!(when_full * 100 > all * 66 && all > room - 50, "{when_full} of {all}");
    }

    #[test]
    fn one_bucket_is_filled_and_found() {
        assert_eq!(standing(1, 7).1, 7);
    }
}
