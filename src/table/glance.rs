//! Looks at a table again and again, from outside: which words have changed since the look before.
//!
//! A look reads what a [survey](super::survey) reads, in the same way, and remembers it. All of it only reads, by relaxed
//! loads, so the table may stand in memory that is mapped for reading alone: a word of another generation is carried in
//! hand, and stays as it is.

use core::ops::Range;

use super::Table;
use super::buckets::Index;
use super::entries::{LOOKS, seen};
use super::judge::Judge;
use super::layout::{Ground, Header};
use super::survey::{Extent, runs};
use super::tag::Tag;
use crate::sync::{Ordering, fence};
use ratecell_core::algorithm::Algorithm;
use ratecell_core::{Decision, Request};

/// The slots of a survey as a look has seen them, each at its place. Those of a table that was never looked at are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots(Vec<Seen>);

/// A slot as it was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    tag: Tag,
    /// As a word of the table's era.
    word: u64,
    /// What the caller has noted of it.
    note: u32,
}

const NEVER_SEEN: Seen = Seen { tag: Tag::EMPTY, word: 0, note: 0 };

/// A key that a look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// Of the runs, which are counted from 0.
    pub(crate) run: usize,
    /// The key's word at the look before: 0 where the slot was another's, or nobody's. `None` at the first look, and where
    /// units have been given back since.
    pub(crate) before: Option<u64>,
    pub(crate) word: u64,
}

/// A key as the last look has seen it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'t, const SLOTS: usize> {
    bucket: Index<'t, SLOTS>,
    tag: Tag,
    pub(crate) word: u64,
    pub(crate) note: u32,
}

impl<const SLOTS: usize> Known<'_, SLOTS> {
    /// A hash that has the key's identity.
    pub(crate) fn hash(&self) -> u64 {
        self.bucket.home_of(self.tag).hash_of(self.tag)
    }

    /// The low bits of its hash: those that a tag has.
    pub(crate) fn low_bits(&self) -> u64 {
        self.tag.fp()
    }
}

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// How many runs a look has.
    pub(crate) fn runs(&self) -> usize {
        self.looked_at().len()
    }

    /// The buckets that are looked at, and all.
    pub(crate) fn sampled(&self) -> (usize, usize) {
        (self.looked_at().map(|run| run.len()).sum(), self.buckets.count())
    }

    fn looked_at(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        runs(self.buckets.count(), Extent::Sample)
    }

    /// Looks at the table, and hands out each key. What the caller returns is noted.
    ///
    /// A slot that changes hands at each attempt is left as the look before has seen it.
    pub(crate) fn look(&self, slots: &mut Slots, mut each: impl FnMut(Sighting) -> u32) {
        let is_first = slots.0.is_empty();
        slots.0.resize(self.sampled().0 * SLOTS, NEVER_SEEN);
        let mut places = slots.0.chunks_exact_mut(SLOTS);
        for (run, buckets) in self.looked_at().enumerate() {
            for (bucket, places) in self.buckets.from(buckets.start).take(buckets.len()).zip(&mut places) {
                for (slot, place) in bucket.bucket().slots.iter().zip(places) {
                    let Some((tag, word)) = seen(slot) else { continue };
                    let word = self.word_in_era(tag, word);
                    let before = match place.tag {
                        _ if is_first => None,
                        was if was == tag => Some(place.word),
                        was if was.is_tenure_of(tag) => None,
                        _ => Some(0),
                    };
                    let note = each(Sighting { run, before, word });
                    *place = Seen { tag, word, note };
                }
            }
        }
    }

    /// The keys that the last look has seen.
    pub(crate) fn known<'t>(&'t self, slots: &'t Slots) -> impl Iterator<Item = Known<'t, SLOTS>> {
        let buckets = self.looked_at().flat_map(|run| self.buckets.from(run.start).take(run.len()));
        buckets.zip(slots.0.chunks_exact(SLOTS)).flat_map(|(bucket, places)| {
            let taken = places.iter().filter(|place| !place.tag.is_empty());
            taken.map(move |Seen { tag, word, note }| Known { bucket, tag: *tag, word: *word, note: *note })
        })
    }

    /// The word of the key of hash `h` by now, as one of the table's era.
    pub(crate) fn glance(&self, h: u64) -> Option<u64> {
        let address = self.address(h);
        let candidates = [(address.home, false), (address.alternate(), true)];
        candidates.into_iter().find_map(|(bucket, is_alternate)| {
            let identity = address.identity.in_role(is_alternate);
            let (tag, word) = bucket.bucket().slots.iter().find_map(|slot| {
                // A slot that changes hands is not waited for, unless it is the key's.
                if !slot.glance_tag().is_of_key(identity) {
                    return None;
                }
                seen(slot).filter(|(tag, _)| tag.is_of_key(identity))
            })?;
            Some(self.word_in_era(tag, word))
        })
    }

    /// As [`peek`](Self::peek).
    pub(crate) fn glance_peek<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> Decision {
        let word = self.glance(h).unwrap_or_else(|| {
            let ground = self.glance_ground(&self.address(h).home.bucket().header);
            let (word, floor) = if self.shares() { (ground, 0) } else { (0, ground) };
            algorithm.above_in(word, floor, now, request.named_zone())
        });
        algorithm.decide(word, now, request).decision
    }

    /// The second word of a header: the floor, or the word that newcomers share as one of the table's era.
    fn glance_ground(&self, header: &Header) -> u64 {
        for _ in 0..LOOKS {
            // Acquire: after a search that has found a key gone, it is at least what the seizer of its slot had raised it to.
            fence(Ordering::Acquire);
            let version = header.glance_version();
            // Acquire: the word is read after the version, and the version again after the word.
            fence(Ordering::Acquire);
            let word = header.glance_word();
            if !self.shares() {
                return word;
            }
            // Acquire: likewise.
            fence(Ordering::Acquire);
            let generation = version.generation();
            if header.glance_version().generation() == generation {
                let is_of_era = generation == self.era.in_tag();
                return if is_of_era { word } else { self.carried_shared(Ground { version, word }) };
            }
        }
        // The policy is changed again and again at this moment.
        0
    }
}

#[cfg(test)]
mod tests;
