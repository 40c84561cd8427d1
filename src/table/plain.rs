//! The types that stand in a memory, whose zeros are an empty table.

use super::counters::Stripe;
use super::layout::Bucket;
use crate::memory::Plain;

// SAFETY: a bucket is a header and slots, each a pair of atomics of u64, and padding. None has a drop.
unsafe impl<const SLOTS: usize> Plain for Bucket<SLOTS> {}
// SAFETY: a stripe is atomics of u64, and padding, without a drop.
unsafe impl Plain for Stripe {}
