//! The search among the tags of two buckets, all compared at once.

#[cfg(not(ratecell_model))]
use super::layout::Bucket;
#[cfg(not(ratecell_model))]
use super::tag::Tag;

pub(crate) mod portable;
#[cfg(all(target_arch = "x86_64", not(any(miri, ratecell_model))))]
#[expect(unsafe_code, reason = "the instructions that compare four tags at once are assembly")]
mod sse2;

/// The bits of one bucket among those of an answer: a place counts from 1, for 0 is the header's.
pub(crate) const BITS: usize = 8;

/// A bit for each place of two buckets, those of `home` first, whose tag has the same [coarse part](Tag::coarse) as
/// `identity`: a slot of that key, or in rare cases another.
#[inline(always)]
#[cfg(not(ratecell_model))]
pub(super) fn alike<const SLOTS: usize>(
    home: &Bucket<SLOTS>,
    alternate: &Bucket<SLOTS>,
    identity: Tag,
) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if SLOTS == 7 {
        return sse2::alike(home, alternate, identity);
    }
    portable::alike(home, identity) | portable::alike(alternate, identity) << BITS
}

#[cfg(ratecell_model)]
pub(super) use crate::tests::model::alike;

#[cfg(all(test, target_arch = "x86_64", not(any(miri, ratecell_model))))]
mod tests {
    use proptest::prelude::*;

    use super::super::layout::Ground;
    use super::super::tag::Version;
    use super::*;

    /// Also a version that looks like one of the tags does no harm.
    fn bucket(words: [u64; 8]) -> Bucket<7> {
        let bucket = Bucket::default();
        let [version, tags @ ..] = words;
        let empty = bucket.header.ground();
        bucket.header.replace(empty, Ground { version: Version::of_bits(version), ..empty });
        for (slot, bits) in bucket.slots.iter().zip(tags) {
            slot.replace((Tag::EMPTY, 0), (Tag::of_bits(bits), 0));
        }
        bucket
    }

    /// A tag that is near another one: the same, or with a bit changed, or only its upper half, or its lower one.
    fn near(bits: u64) -> impl Strategy<Value = u64> {
        prop_oneof![
            Just(bits),
            (0..64).prop_map(move |bit| bits ^ 1_u64 << bit),
            any::<u32>().prop_map(move |low| bits >> 32 << 32 | u64::from(low)),
            any::<u32>().prop_map(move |high| u64::from(high) << 32 | bits & u64::from(u32::MAX)),
            any::<u64>(),
            Just(0),
        ]
    }

    fn identity_and_tags() -> impl Strategy<Value = (u64, [u64; 8], [u64; 8])> {
        let identity =
            prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), Just(1 << 63), Just(0x7FFF_FFFF << 32)];
        identity.prop_flat_map(|identity| {
            let bucket = || prop::array::uniform8(near(identity));
            (Just(identity), bucket(), bucket())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn both_searches_answer_alike((identity, home, alternate) in identity_and_tags()) {
            let identity = Tag::of_bits(identity);
            let (home, alternate) = (bucket(home), bucket(alternate));
            let portable = portable::alike(&home, identity) | portable::alike(&alternate, identity) << BITS;
            prop_assert_eq!(sse2::alike(&home, &alternate, identity), portable);
        }
    }
}
