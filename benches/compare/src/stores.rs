//! What is compared: each store filled with the same keys under the same limit.

use std::hash::BuildHasher;
use std::time::Duration;

use crate::workload::Key;

pub(crate) mod floor;
pub(crate) mod governor;
pub(crate) mod ratecell;

/// The hash that a caller brings: the fastest that either store is commonly given. Its secret is the
/// process's own, so a store keyed by it answers the same in every case.
pub(crate) type CallerHasher = foldhash::fast::RandomState;

#[inline]
pub(crate) fn caller_hash(hasher: &CallerHasher, key: &Key) -> u64 {
    hasher.hash_one(key)
}

/// What is to be measured: requests that all pass, or requests that are all refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Allowed,
    Denied,
}

impl Answer {
    pub(crate) const BOTH: [Self; 2] = [Self::Allowed, Self::Denied];

    /// The limit by which every key that was charged once gives this answer.
    ///
    /// A unit takes long enough to come back that no key is refilled, or as good as new, while it is
    /// measured. The burst is large enough that the busiest is not exhausted.
    pub(crate) fn of_keys(self) -> Limit {
        let burst = match self {
            Self::Allowed => 5_000_000,
            Self::Denied => 1,
        };
        Limit { interval: Duration::from_secs(600), burst }
    }

    /// The same for a limit that all requests share.
    pub(crate) fn of_all(self) -> Limit {
        match self {
            Self::Allowed => Limit { interval: Duration::from_nanos(1), burst: 1_000_000_000 },
            Self::Denied => self.of_keys(),
        }
    }
}

/// One unit each `interval`, at most `burst` at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) interval: Duration,
    pub(crate) burst: u32,
}
