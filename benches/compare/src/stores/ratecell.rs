//! ratecell, by its public interface.

use ratecell::{DirectLimiter, Limiter, Policy};

use super::{CallerHasher, Limit, caller_hash};
use crate::case::Case;
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
#[derive(Debug)]
pub(crate) struct Keyed {
    by_key: Limiter,
    by_hash: Limiter,
    hasher: CallerHasher,
}

impl Keyed {
    pub(crate) fn filled(limit: Limit, keys: u32) -> Self {
        let hasher = CallerHasher::default();
        let (by_key, by_hash) = (limiter(limit, keys), limiter(limit, keys));
        for number in 0..keys {
            let _ = by_key.check(key(number));
            let _ = by_hash.check_hash(caller_hash(&hasher, &key(number)), 1);
        }
        Self { by_key, by_hash, hasher }
    }

    /// Bytes of one table.
    pub(crate) fn bytes(&self) -> usize {
        self.by_key.stats().bytes
    }

    pub(crate) fn own_clock(&self) -> Case<'_> {
        Case::lone(|| 0, |key, _| self.by_key.check(key).is_allowed())
    }

    pub(crate) fn own_clock_batched(&self) -> Case<'_> {
        Case::batched(|| 0, |keys, _, decisions| self.by_key.check_batch(keys, decisions))
    }

    pub(crate) fn caller_clock(&self) -> Case<'_> {
        self.ahead(0)
    }

    /// By a clock that runs `ahead` nanoseconds before the one that the table was filled by.
    pub(crate) fn ahead(&self, ahead: u64) -> Case<'_> {
        Case::lone(
            move || self.by_key.now_ns() + ahead,
            |key, now| self.by_key.check_at(key, 1, now).is_allowed(),
        )
    }

    pub(crate) fn caller_clock_batched(&self) -> Case<'_> {
        Case::batched(
            || self.by_key.now_ns(),
            |keys, now, decisions| self.by_key.check_batch_at(keys, now, decisions),
        )
    }

    pub(crate) fn caller_hash(&self) -> Case<'_> {
        Case::lone(
            || self.by_hash.now_ns(),
            |key, now| self.by_hash.check_hash_at(caller_hash(&self.hasher, key), 1, now).is_allowed(),
        )
    }

    pub(crate) fn caller_hash_batched(&self) -> Case<'_> {
        Case::batched(
            || self.by_hash.now_ns(),
            |keys, now, decisions| {
                let mut hashes = [0; crate::case::BATCH];
                for (hash, key) in hashes.iter_mut().zip(keys) {
                    *hash = caller_hash(&self.hasher, key);
                }
                self.by_hash.check_hash_batch_at(&hashes, now, decisions);
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
