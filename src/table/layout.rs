//! What stands in the table's memory: buckets, each of a header and of slots.
//!
//! All of it is `u64`s in pairs, and all zero is an empty table.

use super::judge::Watch;
use super::tag::{Tag, Version};
use crate::cell::Cell;
use crate::sync::{Ordering, Pair};

/// A key's place: a tag and a word, which are exchanged together where a key comes, goes or is given back to, and of
/// which a hit changes the word alone.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Slot(Pair);

impl Slot {
    #[inline(always)]
    pub(super) fn tag(&self) -> Tag {
        // Acquire: a caller that sees a key in its slot sees what its seizer knew, so the floor that it had raised; and the
        // word is loaded after it. After a charge the load comes late enough to see a seizure that the charge followed:
        // the charge acquired it.
        Tag::of_bits(self.0.first(Ordering::Acquire))
    }

    #[inline(always)]
    pub(super) fn word(&self) -> u64 {
        // Acquire: a denial looks at the tag again, and that load must come after this one.
        self.0.second(Ordering::Acquire)
    }

    /// The tag by itself, for a walk that orders the loads by fences: memory that is mapped for reading alone may be read
    /// by no other load.
    pub(super) fn glance_tag(&self) -> Tag {
        // Relaxed: the walk's fences order it.
        Tag::of_bits(self.0.first(Ordering::Relaxed))
    }

    /// The word, likewise.
    pub(super) fn glance_word(&self) -> u64 {
        // Relaxed: the walk's fences order it.
        self.0.second(Ordering::Relaxed)
    }

    /// Changes the word alone, from exactly `before`, whatever the tag is by now. It was `tag` lately.
    #[inline(always)]
    pub(super) fn charge(&self, tag: Tag, before: u64, after: u64) -> bool {
        // AcqRel: acquires the seizure that the word is of, so that the look at the tag which follows sees it; releases
        // the charge to the caller that judges the word.
        // Relaxed on failure: the value is not used, the caller loads again.
        self.0.replace_second((tag.bits(), before), after, Ordering::AcqRel, Ordering::Relaxed)
    }

    /// Changes the tag alone, from exactly `from`, to one of the same tenure. Where it fails it says what the tag is.
    pub(super) fn void(&self, from: Tag) -> Result<(), Tag> {
        // AcqRel: one order of all changes of the tag is what it needs, and each has that.
        // Acquire on failure: the caller takes what it finds for a look at the tag. Relaxed: the word is a hint.
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let seen = (from.bits(), self.0.second(Ordering::Relaxed));
        self.0.replace_first(seen, from.next_void().bits(), success, failure).map_err(Tag::of_bits)
    }

    /// Changes both, from exactly that tag and that word. It acquires what the callers that made them knew, and releases what
    /// this caller knows.
    #[inline(always)]
    pub(super) fn replace(&self, from: (Tag, u64), to: (Tag, u64)) -> bool {
        self.0.replace((from.0.bits(), from.1), (to.0.bits(), to.1))
    }
}

/// A slot, and the tag that it was seen with: some key's cell, for as long as the tenure of that tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat<'t, W = ()> {
    pub(super) slot: &'t Slot,
    pub(super) tag: Tag,
    /// What its charges watch.
    pub(super) watch: W,
}

impl<W: Watch> Cell for Seat<'_, W> {
    #[inline(always)]
    fn load(&self) -> u64 {
        self.slot.word()
    }

    #[inline(always)]
    fn replace(&self, before: u64, after: u64) -> bool {
        W::charge(*self, before, after)
    }

    /// Not if the slot has changed hands, nor if any units were given back since the tag was seen: the same number may
    /// then hold others.
    fn give_back(&self, after: u64, before: u64) -> bool {
        self.slot.replace((self.tag, after), (self.tag.next_void(), before))
    }

    fn follow(&mut self, other: &Self) {
        if core::ptr::eq(self.slot, other.slot) && self.tag == other.tag {
            self.tag = self.tag.next_void();
        }
    }
}

impl Seat<'_> {
    /// Changes the word from 0, together with the tag.
    #[cold]
    #[inline(never)]
    pub(super) fn begin(self, after: u64) -> bool {
        let tag = self.slot.tag();
        tag.is_tenure_of(self.tag) && self.slot.replace((tag, 0), (tag, after))
    }
}

impl<W: Watch> Seat<'_, W> {
    /// Whether the slot is still in the tenure of the tag. After a charge this says whose it is: had another key been
    /// seated before the charge, the charge would have acquired that seizure, and the tag be seen changed.
    #[inline(always)]
    pub(super) fn is_held(&self) -> bool {
        self.slot.tag().is_tenure_of(self.tag)
    }
}

/// What the insertions of one home share: their order, and until when the words that its keys lost were not fresh.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(super) struct Header(Pair);

/// Both words of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ground {
    pub(super) version: Version,
    /// The *floor*: the instant before which no newcomer is judged. Under [`WhenFull::Share`](super::WhenFull::Share)
    /// the word of the cell that newcomers share: the floor is when that is fresh.
    pub(super) word: u64,
}

impl Ground {
    /// Of a home from which no key was ever inserted, and whose keys have lost no word.
    pub(super) const UNUSED: Self = Self { version: Version::FIRST, word: 0 };
}

impl Header {
    #[inline(always)]
    pub(super) fn version(&self) -> Version {
        // Acquire: a caller that reserves after this version has seen all that its reservers saw, and searches after it.
        Version::of_bits(self.0.first(Ordering::Acquire))
    }

    #[inline(always)]
    pub(super) fn word(&self) -> u64 {
        // Acquire: read after a search that found a key gone, it is at least what that key's seizer had raised it to.
        self.0.second(Ordering::Acquire)
    }

    /// The version by itself, for one who orders the loads by fences: memory that is mapped for reading alone may be read by no
    /// other load.
    pub(super) fn glance_version(&self) -> Version {
        // Relaxed: fences order it.
        Version::of_bits(self.0.first(Ordering::Relaxed))
    }

    /// The word, likewise.
    pub(super) fn glance_word(&self) -> u64 {
        // Relaxed: fences order it.
        self.0.second(Ordering::Relaxed)
    }

    /// Both, the version first.
    #[inline(always)]
    pub(super) fn ground(&self) -> Ground {
        let version = self.version();
        Ground { version, word: self.word() }
    }

    /// Changes both, from exactly what was seen. It acquires and releases as an exchange of a [slot](Slot::replace) does.
    #[inline(always)]
    pub(super) fn replace(&self, from: Ground, to: Ground) -> bool {
        self.0.replace((from.version.bits(), from.word), (to.version.bits(), to.word))
    }
}

/// Slots that share a home: two cache lines. The models run with fewer than 7.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Bucket<const SLOTS: usize> {
    pub(super) header: Header,
    pub(super) slots: [Slot; SLOTS],
}

impl<const SLOTS: usize> Default for Bucket<SLOTS> {
    fn default() -> Self {
        Self { header: Header::default(), slots: core::array::from_fn(|_| Slot::default()) }
    }
}
