//! Where a key may be: from its hash to its two buckets, and from a tag back to its home.
//!
//! A bucket is a number here. Every number that is returned is below the count, if those that are given are.

use core::num::NonZeroUsize;

use super::tag::{NUMBER_BITS, Tag};

/// The number of buckets, and how keys are spread over them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    buckets: NonZeroUsize,
    /// How many buckets an alternate may be chosen from: near enough to be named by a version.
    span: u64,
}

const MAX_SPAN: usize = 256;
/// Bits of a hash that a tag has.
const FP_BITS: u32 = 40;
const DISTANCE_HASH_BITS: u32 = 16;

impl Geometry {
    pub(super) fn new(buckets: usize) -> Self {
        let buckets = NonZeroUsize::new(buckets).unwrap_or(NonZeroUsize::MIN);
        Self { buckets, span: (buckets.get() - 1).min(MAX_SPAN) as u64 }
    }

    pub(super) fn buckets(self) -> usize {
        self.buckets.get()
    }

    /// The home of a key with hash `h`: h / 2^64 of the buckets.
    #[inline]
    pub(super) fn home(self, h: u64) -> usize {
        ((u128::from(h) * self.buckets() as u128) >> 64) as usize
    }

    /// The first of the two neighbouring slots at home that a key prefers: 0, 1, 3 or 5, so that both stand on one line,
    /// behind the header or on the second one.
    #[inline(always)]
    pub(super) fn pair(self, identity: Tag) -> usize {
        let quarter = (identity.fp() >> (NUMBER_BITS + DISTANCE_HASH_BITS)) as usize % 4;
        (2 * quarter).saturating_sub(1)
    }

    /// The other bucket where a key may be; home again in a table of one bucket.
    #[inline]
    pub(super) fn alternate(self, home: usize, identity: Tag) -> usize {
        self.near(home, self.distance(identity.fp()))
    }

    /// How far the alternate of a key is from its home: below the count, or 1 where that is 1.
    #[inline]
    fn distance(self, fp: u64) -> usize {
        let hash = (fp >> NUMBER_BITS) & ((1 << DISTANCE_HASH_BITS) - 1);
        1 + ((hash * self.span) >> DISTANCE_HASH_BITS) as usize
    }

    /// The bucket `distance` after `home`, for a distance no more than the count. Without a branch: in a small table
    /// half of them wrap.
    #[inline]
    fn near(self, home: usize, distance: usize) -> usize {
        let at = home + distance;
        at.min(at.wrapping_sub(self.buckets()))
    }

    /// The bucket `distance` after `home`, whatever number the memory held.
    #[inline]
    pub(super) fn bucket_at(self, home: usize, distance: usize) -> usize {
        let at = home + distance;
        if at < self.buckets() { at } else { (at - self.buckets()) % self.buckets }
    }

    /// The home of the key whose tag stands in bucket `at`.
    #[inline]
    pub(super) fn home_of(self, at: usize, tag: Tag) -> usize {
        if !tag.is_alternate() {
            return at;
        }
        let distance = self.distance(tag.fp());
        if at >= distance { at - distance } else { at + self.buckets() - distance }
    }

    /// A hash of the key that has this home and the fp of this tag.
    pub(super) fn hash_of(self, home: usize, tag: Tag) -> u64 {
        let buckets = self.buckets() as u128;
        let first = ((home as u128) << 64).div_ceil(buckets) as u64;
        let upper = first >> FP_BITS;
        // The hashes of a home are neighbours, and these three are around the first of them that may have the fp.
        let hashes = [0, 1, 2].map(|more| (upper.wrapping_add(more) << FP_BITS) | tag.fp());
        hashes.into_iter().find(|hash| self.home(*hash) == home).unwrap_or(first)
    }

    /// How far bucket `at` is after `home`.
    #[inline]
    pub(super) fn distance_between(self, home: usize, at: usize) -> usize {
        let distance = at.wrapping_sub(home);
        distance.min(distance.wrapping_add(self.buckets()))
    }

    /// The distance of a key's bucket from its home.
    pub(super) fn distance_of(self, identity: Tag) -> usize {
        if identity.is_alternate() { self.distance(identity.fp()) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tag::Version;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn home_and_alternate_lead_to_each_other(h: u64, buckets in 1usize..2000) {
            let geometry = Geometry::new(buckets);
            let (home, identity) = (geometry.home(h), Tag::of_hash(h));
            prop_assert!(home < buckets);
            let alternate = geometry.alternate(home, identity);
            prop_assert_eq!(alternate != home, buckets > 1);
            prop_assert_eq!(geometry.home_of(home, identity), home);
            prop_assert_eq!(geometry.distance_of(identity), 0);
            prop_assert!(alternate < buckets);
            let tag = identity.in_alternate();
            prop_assert_eq!(geometry.home_of(alternate, tag), home);
            prop_assert_eq!(geometry.bucket_at(home, geometry.distance_of(tag)), alternate);
            prop_assert_eq!(geometry.distance_between(home, alternate), geometry.distance_of(tag) % buckets);
        }

        #[test]
        fn a_hash_is_found_from_home_and_tag(h: u64, buckets in prop_oneof![1usize..2000, any::<u32>().prop_map(|n| n as usize + 1)]) {
            let geometry = Geometry::new(buckets);
            let (home, tag) = (geometry.home(h), Tag::of_hash(h));
            let hash = geometry.hash_of(home, tag);
            prop_assert_eq!((geometry.home(hash), Tag::of_hash(hash)), (home, tag));
        }

        #[test]
        fn no_memory_leads_outside(garbage: u64, buckets in 1usize..600, at: prop::sample::Index) {
            let geometry = Geometry::new(buckets);
            let at = at.index(buckets);
            prop_assert!(geometry.home_of(at, Tag::of_bits(garbage)) < buckets);
            let (distance, _) = Version::of_bits(garbage).slot().unwrap_or_default();
            prop_assert!(geometry.bucket_at(at, distance) < buckets);
        }
    }
}
