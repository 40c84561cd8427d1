//! Where a key may be: from its hash to its two buckets, and from a tag back to its home.

use core::num::NonZeroUsize;

use super::layout::Tag;

/// A bucket's number, below the count of the [`Geometry`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Index(usize);

impl Index {
    #[inline]
    pub(crate) fn get(self) -> usize {
        self.0
    }
}

/// Where a key may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) home: Index,
    /// The key part of its tag there.
    pub(super) identity: Tag,
}

impl Address {
    /// The first of the two slots at home where the key would rather stand than in any other: most do, and are
    /// found there by a look at one line.
    #[inline(always)]
    pub(super) fn pair<const SLOTS: usize>(&self) -> usize {
        2 * (self.identity.fp() >> DISTANCE_HASH_BITS) as usize % SLOTS
    }
}

/// The number of buckets, and how keys are spread over them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    buckets: NonZeroUsize,
    /// How many buckets an alternate may be chosen from: near enough to be named by a version.
    span: u64,
}

const MAX_SPAN: usize = 256;
const DISTANCE_HASH_BITS: u32 = 16;

impl Geometry {
    pub(super) fn new(buckets: usize) -> Self {
        let buckets = NonZeroUsize::new(buckets).unwrap_or(NonZeroUsize::MIN);
        Self { buckets, span: (buckets.get() - 1).min(MAX_SPAN) as u64 }
    }

    pub(super) fn buckets(self) -> usize {
        self.buckets.get()
    }

    /// From a bucket's number to the last.
    pub(super) fn indices_from(self, number: usize) -> impl Iterator<Item = Index> {
        (number..self.buckets()).map(Index)
    }

    /// The address of a key with hash `h`: the fp from its low bits, the home from its high bits.
    #[inline]
    pub(super) fn address(self, h: u64) -> Address {
        // h / 2^64 of the buckets: below their count.
        Address {
            identity: Tag::of_hash(h),
            home: Index(((u128::from(h) * self.buckets() as u128) >> 64) as usize),
        }
    }

    /// The other bucket where the key may be; home again in a table of one bucket.
    #[inline]
    pub(super) fn alternate(self, address: &Address) -> Index {
        self.near(address.home, self.distance(address.identity.fp()))
    }

    /// How far the alternate of a key is from its home: below the count, or 1 where that is 1.
    #[inline]
    fn distance(self, fp: u64) -> usize {
        let hash = fp & ((1 << DISTANCE_HASH_BITS) - 1);
        1 + ((hash * self.span) >> DISTANCE_HASH_BITS) as usize
    }

    /// The bucket `distance` after `home`, for a distance no more than the count. Without a branch: in a small table
    /// half of them wrap.
    #[inline]
    fn near(self, home: Index, distance: usize) -> Index {
        let at = home.0 + distance;
        Index(at.min(at.wrapping_sub(self.buckets())))
    }

    /// The bucket `distance` after `home`, whatever number the memory held.
    #[inline]
    pub(super) fn bucket_at(self, home: Index, distance: usize) -> Index {
        let at = home.0 + distance;
        Index(if at < self.buckets() { at } else { (at - self.buckets()) % self.buckets })
    }

    /// The home of the key whose tag stands in bucket `at`.
    pub(super) fn home_of(self, at: Index, tag: Tag) -> Index {
        if !tag.is_alternate() {
            return at;
        }
        let distance = self.distance(tag.fp());
        Index(if at.0 >= distance { at.0 - distance } else { at.0 + self.buckets() - distance })
    }

    /// The distance of a key's bucket from its home.
    pub(super) fn distance_of(self, identity: Tag) -> usize {
        if identity.is_alternate() { self.distance(identity.fp()) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Version;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn home_and_alternate_lead_to_each_other(h: u64, buckets in 1usize..2000) {
            let geometry = Geometry::new(buckets);
            let address = geometry.address(h);
            prop_assert!(address.home.0 < buckets);
            let alternate = geometry.alternate(&address);
            prop_assert_eq!(alternate != address.home, buckets > 1);
            let home = address.identity;
            prop_assert_eq!(geometry.home_of(address.home, home), address.home);
            prop_assert_eq!(geometry.distance_of(home), 0);
            prop_assert!(alternate.0 < buckets);
            let tag = address.identity.in_alternate();
            prop_assert_eq!(geometry.home_of(alternate, tag), address.home);
            prop_assert_eq!(geometry.bucket_at(address.home, geometry.distance_of(tag)), alternate);
        }

        #[test]
        fn no_memory_leads_outside(garbage: u64, buckets in 1usize..600, at: prop::sample::Index) {
            let geometry = Geometry::new(buckets);
            let at = Index(at.index(buckets));
            prop_assert!(geometry.home_of(at, Tag::of_bits(garbage)).0 < buckets);
            let distance = Version::of_bits(garbage).distance().unwrap_or(0);
            prop_assert!(geometry.bucket_at(at, distance).0 < buckets);
        }
    }
}
