//! The `pingora-limits` crate: a count-min sketch of how often each key came, in fixed memory.

use std::hash::Hash;

use pingora_limits::rate::Rate;

use super::Limit;
use crate::case::Case;
use crate::workload::{Key, key};

pub(crate) const NAME: &str = "pingora-limits, own clock";

/// As many hashes as it takes by itself, and slots for the keys: with fewer, strangers count as each other.
/// It tells how many came in the current interval, and the caller compares: an estimate in fixed windows, where
/// the others are exact. A refused request counts too.
pub(crate) struct Keyed {
    rate: Rate,
    burst: isize,
}

const HASHES: usize = 4;
const SLOTS_PER_KEY: usize = 2;

impl Keyed {
    pub(crate) fn new(limit: Limit, keys: u32) -> Self {
        let slots = keys as usize * SLOTS_PER_KEY;
        let rate = Rate::new_with_estimator_config(limit.interval, HASHES, slots);
        Self { rate, burst: limit.burst as isize }
    }

    pub(crate) fn filled(limit: Limit, keys: u32) -> Self {
        let store = Self::new(limit, keys);
        for key in (0..keys).map(key) {
            store.check(&key);
        }
        store
    }

    #[inline]
    pub(crate) fn check(&self, key: &(impl Hash + ?Sized)) -> bool {
        self.rate.observe(&key, 1) <= self.burst
    }

    pub(crate) fn case(&self) -> Case<'_> {
        Case::lone(NAME, || 0, |key: &Key, _| self.check(key))
    }
}
