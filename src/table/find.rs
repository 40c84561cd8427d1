//! Where a key is looked for: first where it most likely stands, then in all places that it may have.

use core::hint::select_unpredictable;

use super::buckets::Address;
use super::layout::{Bucket, Slot, Tag};
use super::{Table, group};

/// A slot, where it is, and the tag it was seen with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'t> {
    pub(super) slot: &'t Slot,
    pub(super) index: usize,
    /// The tag that the key has in this bucket.
    pub(super) identity: Tag,
    pub(super) tag: Tag,
}

impl Place<'_> {
    pub(super) fn is(&self, other: &Self) -> bool {
        core::ptr::eq(self.slot, other.slot) && self.tag.is_tenure_of(other.tag)
    }
}

/// All places that a key may have: the slots of its home, and after them those of its alternate.
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

    /// The place of that number, counted around.
    #[inline(always)]
    pub(super) fn at(&self, number: usize) -> Option<Place<'t>> {
        let (index, in_alternate) = (number % SLOTS, number >= SLOTS);
        // Which of the two nobody could predict.
        let slot = select_unpredictable(in_alternate, self.alternate, self.home).slots.get(index)?;
        Some(Place { slot, index, identity: self.identity.in_role(in_alternate), tag: slot.tag.load() })
    }

    /// The places whose tags may be of the key, all compared at once.
    #[inline(always)]
    pub(super) fn alike(&self) -> impl Iterator<Item = Place<'t>> {
        let mut alike = group::alike(self.home, self.alternate, self.identity);
        core::iter::from_fn(move || {
            let number = alike.trailing_zeros() as usize;
            alike &= alike.checked_sub(1)?;
            self.at(number)
        })
    }

    /// A bit for each place that is empty: of home, and of the alternate.
    pub(super) fn empty(&self) -> [u32; 2] {
        let empty = group::alike(self.home, self.alternate, Tag::EMPTY);
        [empty & ((1 << SLOTS) - 1), empty >> SLOTS]
    }
}

impl<const SLOTS: usize> Table<SLOTS> {
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
        if self.outgrows_cache && find_in_pair(&address).is_none() {
            address.alternate().prefetch();
        }
    }

    /// Finds the member of a key.
    #[inline(always)]
    pub(super) fn find<'t>(&self, address: &Address<'t, SLOTS>) -> Option<(&'t Slot, Tag)> {
        if self.outgrows_cache {
            // Under way while the pair is looked at: up to one key in three is elsewhere.
            address.home.prefetch();
            address.alternate().prefetch();
        }
        if let Some(found) = find_in_pair(address) {
            return Some(found);
        }
        let found = Places::of(address).alike().find(|place| place.tag.is_member_of(place.identity));
        if found.is_none() && self.outgrows_cache {
            // A newcomer will need it.
            address.home.prefetch_ledger();
        }
        found.map(|place| (place.slot, place.tag))
    }
}

/// Finds a member where it most likely stands.
#[inline(always)]
fn find_in_pair<'t, const SLOTS: usize>(address: &Address<'t, SLOTS>) -> Option<(&'t Slot, Tag)> {
    let slots = &address.home.bucket().slots;
    let pair = address.pair();
    let (first, second) = (slots.get(pair)?, slots.get((pair + 1) % SLOTS)?);
    let tags = (first.tag.load(), second.tag.load());
    let is_second = tags.1.is_member_of(address.identity);
    // Which of the two nobody could predict.
    let slot = select_unpredictable(is_second, second, first);
    let tag = select_unpredictable(is_second, tags.1, tags.0);
    tag.is_member_of(address.identity).then_some((slot, tag))
}

#[cfg(all(test, not(ratecell_model)))]
mod tests {
    use super::super::{Lookup, WhenFull, keys_in, spread};
    use super::*;
    use crate::tests::kernels::kernel;
    use ratecell_core::with_kernel;

    /// How many of the first `keys` keys of a table stand in their pair, and how many anywhere.
    fn standing(buckets: usize, keys: usize) -> (usize, usize) {
        let table = Table::<8>::alone(buckets, WhenFull::Deny);
        let hashes: Vec<u64> = (1..=keys as u64).map(spread).collect();
        for h in &hashes {
            let _ = with_kernel!(kernel("1/d"), gcra => table.check(&gcra, *h, 0, 1, Lookup::NotYet));
        }
        let addresses = || hashes.iter().map(|h| table.buckets.address(*h));
        let in_pair = addresses().filter(|address| find_in_pair(address).is_some()).count();
        (in_pair, addresses().filter(|address| table.find(address).is_some()).count())
    }

    #[test]
    fn most_keys_stand_in_their_pair() {
        let (buckets, room) = (10_000, keys_in(10_000));
        let (at_half, all) = standing(buckets, room / 2);
        assert!(at_half * 100 > all * 84 && all == room / 2, "{at_half} of {all}");
        let (when_full, all) = standing(buckets, room);
        assert!(when_full * 100 > all * 63 && all > room - 50, "{when_full} of {all}");
    }

    #[test]
    fn one_bucket_is_filled_and_found() {
        assert_eq!(standing(1, 8).1, 8);
    }
}
