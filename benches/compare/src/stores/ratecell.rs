//! ratecell, by its public interface.

use ratecell::{DirectLimiter, Limiter, Policy, Request};

use super::{CallerHasher, Limit, caller_hash};
use crate::case::Case;
use crate::workload::key;

pub(crate) const OWN_CLOCK: &str = "**ratecell**, own clock, own hash";
pub(crate) const CALLER_CLOCK: &str = "**ratecell**, caller's clock, own hash";
pub(crate) const CALLER_HASH: &str = "**ratecell**, caller's clock and hash";
pub(crate) const OWN_CLOCK_BATCH: &str = "**ratecell**, own clock, own hash, batch of 32";
pub(crate) const BATCH_8: &str = "**ratecell**, caller's clock, own hash, batch of 8";
pub(crate) const BATCH_32: &str = "**ratecell**, caller's clock, own hash, batch of 32";
pub(crate) const BATCH_128: &str = "**ratecell**, caller's clock, own hash, batch of 128";
pub(crate) const HASH_BATCH_8: &str = "**ratecell**, caller's clock and hash, batch of 8";
pub(crate) const HASH_BATCH_32: &str = "**ratecell**, caller's clock and hash, batch of 32";
pub(crate) const HASH_BATCH_128: &str = "**ratecell**, caller's clock and hash, batch of 128";
pub(crate) const AS_FULL_AS_ADVERTISED: &str = "**ratecell**, as full as advertised";
pub(crate) const HALF_FULL: &str = "**ratecell**, half full";
pub(crate) const EIGHTH_FULL: &str = "**ratecell**, an eighth full";
pub(crate) const DIRECT_OWN_CLOCK: &str = "**ratecell**, own clock";
pub(crate) const DIRECT_CALLER_CLOCK: &str = "**ratecell**, caller's clock";

pub(crate) fn policy(limit: Limit) -> Policy {
    Policy::gcra(1, limit.interval)
        .burst(limit.burst)
        .build()
        .expect("an interval and a burst that fit a word")
}

/// A limiter with room for `keys`.
pub(crate) fn limiter(limit: Limit, keys: u32) -> Limiter {
    limiter_of(policy(limit), keys)
}

pub(crate) fn limiter_of(policy: Policy, keys: u32) -> Limiter {
    Limiter::builder(policy).max_keys(keys as usize).build().expect("memory for the table")
}

/// A limiter with room for `max_keys` in which `keys` were charged once.
pub(crate) fn by_key(limit: Limit, max_keys: u32, keys: u32) -> Limiter {
    let limiter = limiter(limit, max_keys);
    for key in (0..keys).map(key) {
        let _ = limiter.check(key);
    }
    limiter
}

/// The same by the caller's hash.
pub(crate) fn by_hash(policy: Policy, hasher: &CallerHasher, max_keys: u32, keys: u32) -> Limiter {
    let limiter = limiter_of(policy, max_keys);
    for key in (0..keys).map(key) {
        let _ = limiter.decide(Request::hashed(caller_hash(hasher, &key)));
    }
    limiter
}

pub(crate) fn own_clock(limiter: &Limiter) -> Case<'_> {
    Case::lone(OWN_CLOCK, || 0, |key, _| limiter.check(key).is_allowed())
}

pub(crate) fn batch_by_key<'s, const N: usize>(name: &'static str, limiter: &'s Limiter) -> Case<'s> {
    Case::batched::<N>(
        name,
        || limiter.now_ns(),
        |keys, now, decisions| {
            let requests = keys.each_ref().map(|key| Request::new(key).at(now));
            limiter.decide_batch(&requests, decisions);
        },
    )
}

pub(crate) fn by_caller_hash<'s>(
    name: &'static str,
    limiter: &'s Limiter,
    hasher: &'s CallerHasher,
) -> Case<'s> {
    ahead(name, limiter, hasher, 0)
}

/// By a clock that runs `ahead` nanoseconds before the limiter's.
pub(crate) fn ahead<'s>(
    name: &'static str,
    limiter: &'s Limiter,
    hasher: &'s CallerHasher,
    ahead: u64,
) -> Case<'s> {
    Case::lone(
        name,
        move || limiter.now_ns() + ahead,
        |key, now| limiter.decide(Request::hashed(caller_hash(hasher, key)).at(now)).is_allowed(),
    )
}

fn batch_by_hash<'s, const N: usize>(
    name: &'static str,
    limiter: &'s Limiter,
    hasher: &'s CallerHasher,
) -> Case<'s> {
    Case::batched::<N>(
        name,
        || limiter.now_ns(),
        |keys, now, decisions| {
            let requests = keys.each_ref().map(|key| Request::hashed(caller_hash(hasher, key)).at(now));
            limiter.decide_batch(&requests, decisions);
        },
    )
}

/// The keys' limiters, all keys charged once.
///
/// Lone checks have a table each, as the peers' have: the second on one table would find the page table
/// entries of the first in the processor's caches. Batches of several sizes share one; others run between.
#[derive(Debug)]
pub(crate) struct Keyed {
    own_clock: Limiter,
    caller_clock: Limiter,
    batched: Limiter,
    caller_hash: Limiter,
    caller_hash_batched: Limiter,
    hasher: CallerHasher,
}

impl Keyed {
    pub(crate) fn filled(limit: Limit, keys: u32) -> Self {
        let hasher = CallerHasher::default();
        let by_hash = || by_hash(policy(limit), &hasher, keys, keys);
        Self {
            own_clock: by_key(limit, keys, keys),
            caller_clock: by_key(limit, keys, keys),
            batched: by_key(limit, keys, keys),
            caller_hash: by_hash(),
            caller_hash_batched: by_hash(),
            hasher,
        }
    }

    /// Bytes of one table.
    pub(crate) fn bytes(&self) -> usize {
        self.own_clock.stats().bytes
    }

    /// One whose clock they all have.
    pub(crate) fn clock(&self) -> &Limiter {
        &self.own_clock
    }

    pub(crate) fn lone(&self) -> [Case<'_>; 3] {
        let limiter = &self.caller_clock;
        let by_clock = |key: &_, now| limiter.check_at(key, 1, now).is_allowed();
        [
            own_clock(&self.own_clock),
            Case::lone(CALLER_CLOCK, || limiter.now_ns(), by_clock),
            by_caller_hash(CALLER_HASH, &self.caller_hash, &self.hasher),
        ]
    }

    pub(crate) fn batches(&self) -> [Case<'_>; 4] {
        let limiter = &self.batched;
        let own_clock = |keys: &[_; 32], _, decisions: &mut [_]| {
            limiter.decide_batch(&keys.each_ref().map(Request::new), decisions);
        };
        [
            batch_by_key::<8>(BATCH_8, limiter),
            batch_by_key::<32>(BATCH_32, limiter),
            batch_by_key::<128>(BATCH_128, limiter),
            Case::batched(OWN_CLOCK_BATCH, || 0, own_clock),
        ]
    }

    pub(crate) fn hash_batches(&self) -> [Case<'_>; 3] {
        let (limiter, hasher) = (&self.caller_hash_batched, &self.hasher);
        [
            batch_by_hash::<8>(HASH_BATCH_8, limiter, hasher),
            batch_by_hash::<32>(HASH_BATCH_32, limiter, hasher),
            batch_by_hash::<128>(HASH_BATCH_128, limiter, hasher),
        ]
    }
}

/// The limiter of everything, charged once.
#[derive(Debug)]
pub(crate) struct Direct(DirectLimiter);

impl Direct {
    pub(crate) fn charged(limit: Limit) -> Self {
        let limiter = DirectLimiter::new(policy(limit));
        let _ = limiter.check();
        Self(limiter)
    }

    /// Its clock.
    pub(crate) fn clock(&self) -> &DirectLimiter {
        &self.0
    }

    pub(crate) fn own_clock(&self) -> Case<'_> {
        Case::lone(DIRECT_OWN_CLOCK, || 0, |_, _| self.0.check().is_allowed())
    }

    pub(crate) fn caller_clock(&self) -> Case<'_> {
        Case::lone(DIRECT_CALLER_CLOCK, || self.0.now_ns(), |_, now| self.0.check_at(1, now).is_allowed())
    }
}
