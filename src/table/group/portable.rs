//! The search tag by tag, for any processor.

use super::super::layout::{Bucket, Tag};

/// A bit for each slot whose tag has the same coarse part as `identity`.
#[inline]
pub(crate) fn alike<const SLOTS: usize>(bucket: &Bucket<SLOTS>, identity: Tag) -> u32 {
    bucket.slots.iter().enumerate().fold(0, |alike, (place, slot)| {
        alike | u32::from(slot.tag.load().coarse() == identity.coarse()) << place
    })
}
