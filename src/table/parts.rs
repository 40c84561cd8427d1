//! The parts of a table in a memory: buckets, counters, totals.

use super::layout::Bucket;
use super::{COUNTER_LINE, COUNTER_LINES, Table};

/// The bytes of a bucket's total of what was given back.
pub(crate) const TOTAL_BYTES: usize = 8;

/// The parts of a table begin at multiples of this: two cache lines, which are fetched together.
pub(crate) const PART_ALIGNMENT: usize = 128;

/// Where the parts of a table stand in a memory: bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) buckets_at: usize,
    pub(crate) buckets: usize,
    pub(crate) counters_at: usize,
    /// Of [`COUNTER_LINE`] bytes.
    pub(crate) counter_lines: usize,
    /// A total of what was given back for each bucket, if it is kept.
    pub(crate) given_at: Option<usize>,
}

impl<const SLOTS: usize, J> Table<SLOTS, J> {
    /// The bytes of a bucket.
    pub(crate) const BUCKET_BYTES: usize = size_of::<Bucket<SLOTS>>();

    /// The parts of a table of that many buckets, one behind the other from `offset` on, and where they end; `None`
    /// where no memory is so large.
    pub(crate) fn parts(offset: usize, buckets: usize, counts_given: bool) -> Option<(Parts, usize)> {
        let end = buckets.checked_mul(Self::BUCKET_BYTES)?.checked_add(offset)?;
        let counters_at = end.checked_next_multiple_of(PART_ALIGNMENT)?;
        let mut end = counters_at.checked_add(COUNTER_LINES * COUNTER_LINE)?;
        let given_at = if counts_given { Some(end.checked_next_multiple_of(PART_ALIGNMENT)?) } else { None };
        if let Some(given_at) = given_at {
            end = buckets.checked_mul(TOTAL_BYTES)?.checked_add(given_at)?;
            end = end.checked_next_multiple_of(PART_ALIGNMENT)?;
        }
        let parts =
            Parts { buckets_at: offset, buckets, counters_at, counter_lines: COUNTER_LINES, given_at };
        Some((parts, end))
    }

    /// The bytes of a table of that many buckets, without totals; `None` where no memory is so large.
    pub(crate) fn bytes(buckets: usize) -> Option<usize> {
        Self::parts(0, buckets, false).map(|(_, end)| end)
    }
}
