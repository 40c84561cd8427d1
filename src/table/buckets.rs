//! The buckets of a table, and the indices that lead to them.

use super::geometry::Geometry;
use super::layout::{Bucket, Slot};
use super::tag::Tag;
use crate::memory::{Array, Memory};

/// The buckets of one table.
#[derive(Clone, Debug)]
pub(super) struct Buckets<const SLOTS: usize> {
    /// Of as many buckets as the array has.
    geometry: Geometry,
    buckets: Array<Bucket<SLOTS>>,
}

impl<const SLOTS: usize> Buckets<SLOTS> {
    /// Those that stand `offset` bytes into `memory`; `None` where they do not fit.
    pub(super) fn in_memory(memory: &Memory, offset: usize, count: usize) -> Option<Self> {
        Some(Self { geometry: Geometry::new(count), buckets: memory.array(offset, count)? })
    }

    pub(super) fn count(&self) -> usize {
        self.geometry.buckets()
    }

    /// From a bucket's number to the last.
    pub(super) fn from(&self, number: usize) -> impl Iterator<Item = Index<'_, SLOTS>> {
        (number..self.count()).map(|number| Index { of: self, number })
    }

    /// Where the key with hash `h` may be: the fp from its low bits, the home from its high bits.
    #[inline(always)]
    pub(super) fn address(&self, h: u64) -> Address<'_, SLOTS> {
        Address { home: Index { of: self, number: self.geometry.home(h) }, identity: Tag::of_hash(h) }
    }
}

/// A bucket's number, with the buckets of which it is one.
///
/// It is made in this file alone, of a number that a loop or the [`Geometry`] keeps below the count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Index<'t, const SLOTS: usize> {
    of: &'t Buckets<SLOTS>,
    /// Below the count of `of`.
    number: usize,
}

impl<'t, const SLOTS: usize> Index<'t, SLOTS> {
    pub(super) fn number(self) -> usize {
        self.number
    }

    /// Whether both, of one table, are of one bucket.
    pub(super) fn is(self, other: Self) -> bool {
        debug_assert!(core::ptr::eq(self.of, other.of));
        self.number == other.number
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "a check of the bound would be paid by every hit")]
    pub(super) fn bucket(self) -> &'t Bucket<SLOTS> {
        // SAFETY: `number` is below the count, which is the array's length.
        unsafe { self.of.buckets.get_unchecked(self.number) }
    }

    /// Asks for the bucket's cache lines.
    #[inline(always)]
    pub(super) fn prefetch(self) {
        self.of.buckets.prefetch(self.number);
    }

    /// The bucket `distance` after this one, whatever number the memory held.
    #[inline]
    pub(super) fn at_distance(self, distance: usize) -> Self {
        Self { number: self.of.geometry.bucket_at(self.number, distance), ..self }
    }

    /// The home of the key whose tag stands in this bucket.
    #[inline]
    pub(super) fn home_of(self, tag: Tag) -> Self {
        Self { number: self.of.geometry.home_of(self.number, tag), ..self }
    }

    /// A hash of the key whose home this is and whose tag that is.
    pub(super) fn hash_of(self, tag: Tag) -> u64 {
        self.of.geometry.hash_of(self.number, tag)
    }

    /// The number of the bucket where a slot of the same table stands, and its place there, counted from 1.
    #[inline(always)]
    pub(super) fn place_of(self, slot: &Slot) -> (usize, usize) {
        let first = core::ptr::from_ref(self.of.buckets.first()).addr();
        let bytes = core::ptr::from_ref(slot).addr().wrapping_sub(first);
        // The header is as long as a slot.
        (bytes / size_of::<Bucket<SLOTS>>(), bytes % size_of::<Bucket<SLOTS>>() / size_of::<Slot>())
    }

    /// How far after this bucket the one of that number is.
    #[inline(always)]
    pub(super) fn distance_to(self, number: usize) -> usize {
        self.of.geometry.distance_between(self.number, number)
    }

    /// How far the bucket of a key is from its home.
    pub(super) fn distance_of(self, identity: Tag) -> usize {
        self.of.geometry.distance_of(identity)
    }
}

/// Where a key may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address<'t, const SLOTS: usize> {
    pub(super) home: Index<'t, SLOTS>,
    /// The key part of its tag there.
    pub(super) identity: Tag,
}

impl<'t, const SLOTS: usize> Address<'t, SLOTS> {
    /// The first of the two slots at home where the key would rather stand than in any other: most do, and are
    /// found there by a look at one line.
    #[inline(always)]
    pub(super) fn pair(&self) -> usize {
        self.home.of.geometry.pair(self.identity) % SLOTS
    }

    /// The other bucket where the key may be; home again in a table of one bucket.
    #[inline(always)]
    pub(super) fn alternate(&self) -> Index<'t, SLOTS> {
        let Index { of, number } = self.home;
        Index { of, number: of.geometry.alternate(number, self.identity) }
    }

    /// The key's bucket that is so far from its home, and the key part of its tag there; `None` if neither is.
    #[inline(always)]
    pub(super) fn at_distance(&self, distance: usize) -> Option<(Index<'t, SLOTS>, Tag)> {
        if distance == 0 {
            return Some((self.home, self.identity));
        }
        let identity = self.identity.in_alternate();
        (distance == self.home.distance_of(identity)).then(|| (self.alternate(), identity))
    }
}
