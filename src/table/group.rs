//! The search among the tags of two buckets, all compared at once.

#[cfg(not(all(test, any(ratecell_loom, ratecell_shuttle))))]
use super::layout::{Bucket, Tag};

pub(crate) mod portable;
#[cfg(all(target_arch = "x86_64", not(any(miri, all(test, any(ratecell_loom, ratecell_shuttle))))))]
#[expect(unsafe_code, reason = "the instructions that compare four tags at once are assembly")]
mod sse2;

/// A bit for each slot of two buckets, those of `home` first, whose tag has the same [coarse part](Tag::coarse) as
/// `identity`: a slot of that key, or in rare cases another.
#[inline(always)]
#[cfg(not(all(test, any(ratecell_loom, ratecell_shuttle))))]
pub(super) fn alike<const SLOTS: usize>(
    home: &Bucket<SLOTS>,
    alternate: &Bucket<SLOTS>,
    identity: Tag,
) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if SLOTS == 8
        && let (Some(home), Some(alternate)) = (home.slots.first_chunk(), alternate.slots.first_chunk())
    {
        return sse2::alike(home, alternate, identity);
    }
    portable::alike(home, identity) | portable::alike(alternate, identity) << SLOTS
}

#[cfg(all(test, any(ratecell_loom, ratecell_shuttle)))]
pub(super) use crate::tests::model::alike;

#[cfg(all(test, target_arch = "x86_64", not(any(miri, ratecell_loom, ratecell_shuttle))))]
mod tests {
    use proptest::prelude::*;

    use super::super::layout::Slot;
    use super::*;

    fn bucket(tags: [u64; 8]) -> Bucket<8> {
        let slot = |bits| {
            let slot = Slot::default();
            slot.tag.change(Tag::EMPTY, Tag::of_bits(bits));
            slot
        };
        Bucket { slots: tags.map(slot) }
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
            let portable = portable::alike(&home, identity) | portable::alike(&alternate, identity) << 8;
            prop_assert_eq!(sse2::alike(&home.slots, &alternate.slots, identity), portable);
        }
    }
}
