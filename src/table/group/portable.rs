//! The search tag by tag, for any processor.

use super::super::layout::Bucket;
use super::super::tag::Tag;

/// A bit for each place whose tag has the same coarse part as `identity`, the first slot's the second lowest.
#[inline]
pub(crate) fn alike<const SLOTS: usize>(bucket: &Bucket<SLOTS>, identity: Tag) -> u32 {
    bucket
        .slots
        .iter()
        .zip(1..)
        .fold(0, |alike, (slot, place)| alike | u32::from(slot.tag().coarse() == identity.coarse()) << place)
}
