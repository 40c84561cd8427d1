//! What stands in the table's memory: slots in buckets, and a ledger entry beside each bucket.
//!
//! All of it is `u64`s, and all zero is an empty table.

use crate::cell::Cell;
use crate::sync::{AtomicU64, Ordering};

/// Which key a slot belongs to and how far it is on its way.
///
/// | field | bits | meaning |
/// | --- | --- | --- |
/// | fp | 40 | of the key's hash |
/// | role | 1 | 0 in the key's home bucket, 1 in its alternate |
/// | member | 1 | 0 pending: not yet decided; 1 member: hits charge it |
/// | tenure | 14 | bumped when the key changes |
/// | mark | 8 | bumped at each mark and unmark; odd: a reclaimer may be judging the word |
///
/// | state | leaves by |
/// | --- | --- |
/// | empty, all 0 | *take* → pending |
/// | pending | *finish* → member; *mark* |
/// | member | *mark* |
/// | marked | *unmark*; *finish*; *retag* → pending of another key, next tenure, mark 0 |
///
/// There is no other change of a tag, and no state that needs repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(u64);

const MARK_BITS: u32 = 8;
const TENURE_BITS: u32 = 14;

const MARK: u64 = (1 << MARK_BITS) - 1;
const TENURE: u64 = ((1 << TENURE_BITS) - 1) << MARK_BITS;
const MEMBER: u64 = 1 << (MARK_BITS + TENURE_BITS);
const ROLE_SHIFT: u32 = MARK_BITS + TENURE_BITS + 1;
const ROLE: u64 = 1 << ROLE_SHIFT;
const FP_SHIFT: u32 = MARK_BITS + TENURE_BITS + 2;

impl Tag {
    pub(crate) const EMPTY: Self = Self(0);

    #[cfg(test)]
    pub(super) fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The key part alone, of a key with hash `h`, in its home: the fp are the low bits.
    #[inline]
    pub(super) fn of_hash(h: u64) -> Self {
        Self(h << FP_SHIFT)
    }

    /// The same key in its alternate.
    #[inline]
    pub(super) fn in_alternate(self) -> Self {
        self.in_role(true)
    }

    /// The key of a home tag in its alternate, or still at home.
    #[inline]
    pub(super) fn in_role(self, alternate: bool) -> Self {
        Self(self.0 | (u64::from(alternate) << ROLE_SHIFT))
    }

    /// The upper half: 32 bits of the fp, enough to tell which slots to look at.
    #[inline]
    pub(super) fn coarse(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    #[inline]
    pub(super) fn fp(self) -> u64 {
        self.0 >> FP_SHIFT
    }

    #[inline]
    pub(super) fn is_alternate(self) -> bool {
        self.0 & ROLE != 0
    }

    #[inline]
    pub(super) fn is_member(self) -> bool {
        self.0 & MEMBER != 0
    }

    #[inline]
    pub(super) fn is_marked(self) -> bool {
        self.0 & 1 != 0
    }

    #[inline]
    pub(super) fn tenure(self) -> u64 {
        (self.0 & TENURE) >> MARK_BITS
    }

    /// Whether this is the tag, in any state, of the key of `identity`.
    #[inline]
    pub(super) fn is_key_of(self, identity: Self) -> bool {
        (self.0 ^ identity.0) & !(MEMBER | TENURE | MARK) == 0 && !self.is_empty()
    }

    /// Whether this is the member tag of the key of `identity`: one comparison, for the lookup.
    #[inline]
    pub(super) fn is_member_of(self, identity: Self) -> bool {
        (self.0 ^ (identity.0 | MEMBER)) <= (TENURE | MARK)
    }

    /// Whether the slot has not changed hands between the two.
    #[inline]
    pub(super) fn is_tenure_of(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(MEMBER | MARK) == 0
    }

    /// The tag after a mark or an unmark: the marks of a tenure only grow.
    pub(super) fn next_mark(self) -> Self {
        Self((self.0 & !MARK) | (self.0.wrapping_add(1) & MARK))
    }

    /// The same tenure as an unmarked member.
    pub(super) fn finished(self) -> Self {
        let unmarked = if self.is_marked() { self.next_mark() } else { self };
        Self(unmarked.0 | MEMBER)
    }

    /// The next tenure, pending for the key of `identity`.
    pub(super) fn pending_for(self, identity: Self) -> Self {
        let tenure = self.0.wrapping_add(1 << MARK_BITS) & TENURE;
        // A key whose fp is 0 has no tenure 0, in which it would look like nobody's.
        let first = u64::from(identity.0 == 0 && tenure == 0) << MARK_BITS;
        Self(identity.0 | tenure | first)
    }
}

/// A [`Tag`] in memory.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(super) struct AtomicTag(AtomicU64);

impl AtomicTag {
    #[inline]
    pub(super) fn load(&self) -> Tag {
        // Acquire: pairs with finish and retag, so the word is seen at least as it was at the key's
        // birth; after a word's CAS the load comes late enough to see the mark of a probe before it.
        Tag(self.0.load(Ordering::Acquire))
    }

    /// Changes the tag from exactly `from`.
    pub(super) fn change(&self, from: Tag, to: Tag) -> bool {
        // AcqRel: a retag releases the floor it raised, a finish the word it was charged with, a mark
        // comes before the probe; acquires what the tag's last writer knew.
        // Acquire on failure: the caller goes on from what it finds.
        self.0.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The tag for a walk, which orders it by a fence: memory that is mapped for reading alone may be read by no other
    /// load.
    pub(super) fn glance(&self) -> Tag {
        // Relaxed: the walk's fences order it.
        Tag(self.0.load(Ordering::Relaxed))
    }
}

/// The order of all insertions of one home, and the name of the last one.
///
/// | field | bits | meaning |
/// | --- | --- | --- |
/// | seq | 38 | counts commits |
/// | distance | 9 | of the slot's bucket from home |
/// | index | 3 | of the slot in its bucket |
/// | tenure | 14 | of the slot when it was committed |
///
/// 0 names no insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(u64);

const INDEX_BITS: u32 = 3;
const DISTANCE_BITS: u32 = 9;
const SEQ_SHIFT: u32 = TENURE_BITS + INDEX_BITS + DISTANCE_BITS;

impl Version {
    #[cfg(test)]
    pub(super) fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The version after this one, naming the slot `index` of the bucket `distance` from home.
    pub(super) fn next(self, distance: usize, index: usize, tenure: u64) -> Self {
        let slot = ((distance as u64) << INDEX_BITS) | index as u64;
        Self(self.next_seq() | (slot << TENURE_BITS) | tenure)
    }

    /// The version after this one, naming the same slot.
    pub(super) fn next_without_slot(self) -> Self {
        Self(self.next_seq() | (self.0 & ((1 << SEQ_SHIFT) - 1)))
    }

    fn next_seq(self) -> u64 {
        ((self.0 >> SEQ_SHIFT).wrapping_add(1)) << SEQ_SHIFT
    }

    /// How far the named slot's bucket is from home; `None` if no slot is named.
    pub(super) fn distance(self) -> Option<usize> {
        let distance = (self.0 >> (TENURE_BITS + INDEX_BITS)) & ((1 << DISTANCE_BITS) - 1);
        (self.0 != 0).then_some(distance as usize)
    }

    pub(super) fn index(self) -> usize {
        ((self.0 >> TENURE_BITS) & ((1 << INDEX_BITS) - 1)) as usize
    }

    pub(super) fn tenure(self) -> u64 {
        self.0 & ((1 << TENURE_BITS) - 1)
    }
}

/// A [`Version`] in memory.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(super) struct AtomicVersion(AtomicU64);

impl AtomicVersion {
    pub(super) fn load(&self) -> Version {
        // Acquire: whoever commits after this version has seen all that its committers saw.
        Version(self.0.load(Ordering::Acquire))
    }

    /// Commits: the decision of an insertion is this CAS.
    pub(super) fn commit(&self, from: Version, to: Version) -> bool {
        // AcqRel: each commit happens after all that earlier commits of the home saw.
        // Acquire on failure: another commit won, and the next round goes on from it.
        self.0.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// Until when words erased from keys of a home were not fresh: newcomers are judged no earlier.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(super) struct Floor(AtomicU64);

impl Floor {
    pub(super) fn load(&self) -> u64 {
        // Acquire: read after a scan that found a key gone, it sees the floor raised before the retag.
        self.0.load(Ordering::Acquire)
    }

    /// Raises the floor to `instant`, which is at most `latest`. A floor above `latest` is not believed, and is
    /// lowered: it would hide this one.
    pub(super) fn raise(&self, instant: u64, latest: u64) {
        loop {
            // AcqRel: comes before the retag that erases the word, and after every earlier raise.
            let before = self.0.fetch_max(instant, Ordering::AcqRel);
            // AcqRel: as above. Relaxed on failure: the value is not used.
            let lower =
                || self.0.compare_exchange(before, instant, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            if before <= latest || lower() {
                return;
            }
        }
    }
}

/// A key's place. The word is inherited when the key changes, never zeroed: a fresh word decides as 0.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Slot {
    pub(super) tag: AtomicTag,
    /// The policy's and nothing else.
    pub(super) cell: Cell,
}

/// Slots that share a home. The models run with fewer than 8.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Bucket<const SLOTS: usize> {
    pub(super) slots: [Slot; SLOTS],
}

impl<const SLOTS: usize> Default for Bucket<SLOTS> {
    fn default() -> Self {
        Self { slots: core::array::from_fn(|_| Slot::default()) }
    }
}

/// What insertions of one home share. Hits never wait for it: its line is asked for only where a key is not at
/// home.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Ledger {
    pub(super) version: AtomicVersion,
    pub(super) floor: Floor,
    /// The cell of newcomers without room, under [`WhenFull::Share`](super::WhenFull::Share).
    pub(super) overflow: Cell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tag_keeps_its_fields_apart(fp in prop_oneof![Just(0), 0u64..1 << 40], alternate: bool, garbage: u64) {
            let home = Tag::of_hash(fp);
            let identity = if alternate { home.in_alternate() } else { home };
            let pending = Tag(garbage).pending_for(identity);
            prop_assert_eq!((pending.fp(), pending.is_alternate()), (fp, alternate));
            prop_assert!(!pending.is_member() && !pending.is_marked() && pending.is_key_of(identity));
            let next = (Tag(garbage).tenure() + 1) % (1 << TENURE_BITS);
            prop_assert_eq!(pending.tenure(), if next == 0 && identity.is_empty() { 1 } else { next });
            prop_assert!(!pending.is_empty() && !Tag(0).is_key_of(identity));
            let marked = pending.next_mark();
            prop_assert!(marked.is_marked() && marked.is_tenure_of(pending));
            prop_assert!(!marked.next_mark().is_marked() && marked.next_mark() != pending);
            let member = marked.finished();
            prop_assert!(member.is_member() && !member.is_marked() && member.is_tenure_of(pending));
            prop_assert!(member.is_member_of(identity) && member.next_mark().is_member_of(identity));
            prop_assert!(!pending.is_member_of(identity));
            let is_member = Tag(garbage).is_member() && Tag(garbage).is_key_of(identity);
            prop_assert_eq!(Tag(garbage).is_member_of(identity), is_member);
            prop_assert!(!Tag(garbage).pending_for(identity).is_tenure_of(pending.pending_for(identity)));
        }

        #[test]
        fn a_version_keeps_its_fields_apart(
            garbage: u64, distance in 0usize..=256, index in 0usize..8, tenure in 0u64..1 << 14,
        ) {
            let version = Version(garbage).next(distance, index, tenure);
            prop_assert_eq!((version.distance(), version.index(), version.tenure()), (Some(distance), index, tenure));
            prop_assert!(version != Version(garbage));
            let bare = version.next_without_slot();
            prop_assert_eq!((bare.distance(), bare.index(), bare.tenure()), (Some(distance), index, tenure));
            prop_assert!(bare != version);
        }
    }
}
