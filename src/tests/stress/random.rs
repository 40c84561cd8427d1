//! Random numbers for tests, the same in each run.
//!
//! The tests outside of the crate use this file, too.

use proptest::prelude::RngCore;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Numbers that differ from seed to seed.
pub(crate) fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut numbers = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    move || numbers.next_u64()
}
