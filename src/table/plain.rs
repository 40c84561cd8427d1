//! The types that stand in a memory, whose zeros are an empty table.

use super::counters::Stripe;
use super::layout::{Bucket, Ledger};
use crate::memory::Plain;

// SAFETY: a bucket is slots, a slot is a tag and a cell: atomics of u64, and padding. None has a drop.
unsafe impl<const SLOTS: usize> Plain for Bucket<SLOTS> {}
// SAFETY: a ledger is a version, a floor and a cell: atomics of u64, without a drop.
unsafe impl Plain for Ledger {}
// SAFETY: a stripe is atomics of u64, and padding, without a drop.
unsafe impl Plain for Stripe {}
