//! ratecell, by its public interface.

use ratecell::{DirectLimiter, Limiter, Policy};

use super::{CallerHasher, Limit, caller_hash};
use crate::case::{BATCH, Case};
use crate::workload::key;

fn policy(limit: Limit) -> Policy {
    Policy::gcra(1, limit.interval)
        .burst(limit.burst)
        .build()
        .expect("an interval and a burst that fit a word")
}

/// A limiter with room for `keys`.
pub(crate) fn limiter(limit: Limit, keys: u32) -> Limiter {
    Limiter::builder(policy(limit)).max_keys(keys as usize).build().expect("memory for the table")
}

/// The keys' limiters, all keys charged once.
///
/// Each case has a table of its own, as each of the peer's has: the second on one table would find the page
/// table entries of the first in the processor's caches.
#[derive(Debug)]
pub(crate) struct Keyed {
    own_clock: Limiter,
    own_clock_batched: Limiter,
    caller_clock: Limiter,
    caller_clock_batched: Limiter,
    caller_hash: Limiter,
    caller_hash_batched: Limiter,
    hasher: CallerHasher,
}

impl Keyed {
    pub(crate) fn filled(limit: Limit, keys: u32) -> Self {
        let hasher = CallerHasher::default();
        let by_key = || {
            let limiter = limiter(limit, keys);
            for key in (0..keys).map(key) {
                let _ = limiter.check(key);
            }
            limiter
        };
        let by_hash = || {
            let limiter = limiter(limit, keys);
            for key in (0..keys).map(key) {
                let _ = limiter.check_hash(caller_hash(&hasher, &key), 1);
            }
            limiter
        };
        Self {
            own_clock: by_key(),
            own_clock_batched: by_key(),
            caller_clock: by_key(),
            caller_clock_batched: by_key(),
            caller_hash: by_hash(),
            caller_hash_batched: by_hash(),
            hasher,
        }
    }

    /// Bytes of one table.
    pub(crate) fn bytes(&self) -> usize {
        self.own_clock.stats().bytes
    }

    pub(crate) fn own_clock(&self) -> Case<'_> {
        Case::lone(|| 0, |key, _| self.own_clock.check(key).is_allowed())
    }

    pub(crate) fn own_clock_batched(&self) -> Case<'_> {
        Case::batched(|| 0, |keys, _, decisions| self.own_clock_batched.check_batch(keys, decisions))
    }

    pub(crate) fn caller_clock(&self) -> Case<'_> {
        self.ahead(0)
    }

    /// By a clock that runs `ahead` nanoseconds before the one that the table was filled by.
    pub(crate) fn ahead(&self, ahead: u64) -> Case<'_> {
        let limiter = &self.caller_clock;
        Case::lone(move || limiter.now_ns() + ahead, |key, now| limiter.check_at(key, 1, now).is_allowed())
    }

    pub(crate) fn caller_clock_batched(&self) -> Case<'_> {
        let limiter = &self.caller_clock_batched;
        Case::batched(
            || limiter.now_ns(),
            |keys, now, decisions| limiter.check_batch_at(keys, now, decisions),
        )
    }

    pub(crate) fn caller_hash(&self) -> Case<'_> {
        let limiter = &self.caller_hash;
        Case::lone(
            || limiter.now_ns(),
            |key, now| limiter.check_hash_at(caller_hash(&self.hasher, key), 1, now).is_allowed(),
        )
    }

    pub(crate) fn caller_hash_batched(&self) -> Case<'_> {
        let limiter = &self.caller_hash_batched;
        Case::batched(
            || limiter.now_ns(),
            |keys, now, decisions| {
                let mut hashes = [0; BATCH];
                for (hash, key) in hashes.iter_mut().zip(keys) {
                    *hash = caller_hash(&self.hasher, key);
                }
                limiter.check_hash_batch_at(&hashes, now, decisions);
            },
        )
    }
}

/// The limiter of everything, charged once.
#[derive(Debug)]
pub(crate) struct Direct(DirectLimiter);

impl Direct {
    pub(crate) fn charged(limit: Limit) -> Self {
        let limiter = DirectLimiter::new(policy(limit)).expect("a direct limiter takes no memory");
        let _ = limiter.check();
        Self(limiter)
    }

    pub(crate) fn own_clock(&self) -> Case<'_> {
        Case::lone(|| 0, |_, _| self.0.check().is_allowed())
    }

    pub(crate) fn caller_clock(&self) -> Case<'_> {
        Case::lone(|| self.0.now_ns(), |_, now| self.0.check_at(1, now).is_allowed())
    }
}
