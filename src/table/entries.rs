//! What a table holds: one walk over its slots.
//!
//! The walk only reads, by relaxed loads, so it may go over memory that is mapped for reading alone.

use super::Table;
use super::buckets::Index;
use super::judge::Judge;
use super::layout::Slot;
use super::tag::Tag;
use crate::sync::{Ordering, fence};

/// How often a slot that changes hands is looked at before the walk goes on without it.
pub(super) const LOOKS: usize = 4;

/// A slot that is some key's, as it was seen.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the crate counts words; its tests look at where they stand")
)]
pub(crate) struct Entry<'t, const SLOTS: usize> {
    /// The bucket that the slot is in, and which of its slots it is.
    pub(super) bucket: Index<'t, SLOTS>,
    pub(super) slot: usize,
    /// The home of the slot's key.
    pub(super) home: Index<'t, SLOTS>,
    pub(super) tag: Tag,
    /// The word that it had in the tenure of `tag`.
    pub(super) word: u64,
}

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// Every slot that is some key's, bucket after bucket.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_, SLOTS>> {
        self.entries_in(0, self.buckets.count())
    }

    /// Those of so many buckets, of which `from` is the first.
    pub(super) fn entries_in(&self, from: usize, buckets: usize) -> impl Iterator<Item = Entry<'_, SLOTS>> {
        self.buckets.from(from).take(buckets).flat_map(move |bucket| {
            bucket.bucket().slots.iter().enumerate().filter_map(move |(number, slot)| {
                let (tag, word) = seen(slot)?;
                Some(Entry { bucket, slot: number, home: bucket.home_of(tag), tag, word })
            })
        })
    }
}

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// A word under that tag as one of this era. Of an era that has just ended it may be one of the next.
    pub(super) fn word_in_era(&self, tag: Tag, word: u64) -> u64 {
        if self.era.is_of(tag) { word } else { self.era.carried(tag, word).1 }
    }
}

/// A tag and a word of its tenure; `None` where the slot is empty, or changes hands at each look.
pub(super) fn seen(slot: &Slot) -> Option<(Tag, u64)> {
    for _ in 0..LOOKS {
        let tag = slot.glance_tag();
        if tag.is_empty() {
            return None;
        }
        // Acquire: the word is read after the tag, and seen at least as it was at the key's birth.
        fence(Ordering::Acquire);
        let word = slot.glance_word();
        // Acquire: a change to a later tenure came with its first word or before it, and is seen below.
        fence(Ordering::Acquire);
        if slot.glance_tag().is_tenure_of(tag) {
            return Some((tag, word));
        }
    }
    None
}

#[cfg(all(test, not(ratecell_model)))]
mod tests {
    use super::*;
    use crate::table::{Lookup, WhenFull, spread};
    use crate::tests::kernels::kernel;
    use ratecell_core::algorithm::Kernel;

    #[test]
    fn a_walk_finds_each_key_where_it_stands() {
        let Kernel::Gcra(gcra) = kernel("1/s") else { panic!("1/s is another") };
        let buckets = if cfg!(miri) { 4 } else { 64 };
        let table = <Table>::alone(buckets, WhenFull::Deny);
        let mut keys: Vec<u64> = (0..4 * buckets as u64).map(spread).collect();
        for h in &keys {
            assert!(table.check(&gcra, *h, 0, 1, Lookup::NotYet).is_allowed());
        }
        let found: Vec<_> = table.entries().collect();
        assert_eq!(found.len(), keys.len());
        for entry in found {
            let place = &entry.bucket.bucket().slots[entry.slot];
            assert_eq!((place.tag(), place.word()), (entry.tag, entry.word));
            let of_entry = |h: &u64| {
                let address = table.address(*h);
                let identity = address.identity.in_role(entry.tag.is_alternate());
                address.home.is(entry.home) && entry.tag.is_of(identity)
            };
            let key = keys.iter().position(of_entry).expect("a key that was checked, once");
            let held =
                if entry.tag.is_alternate() { table.address(keys[key]).alternate() } else { entry.home };
            assert!(entry.bucket.is(held));
            keys.swap_remove(key);
        }
        assert_eq!(<Table>::alone(buckets, WhenFull::Deny).entries().count(), 0);
    }
}
