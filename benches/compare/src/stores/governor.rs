//! The `governor` crate: its two stores, with everything as it is by default, and with what its interface lets a
//! caller replace.
//!
//! It tells the wait of a denied request; with the middleware that tells what remains it is slower.

use std::hash::{BuildHasher, Hash};

use dashmap::DashMap;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::{DashMapStateStore, DefaultHasher, HashMapStateStore};
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use super::{CallerClock, CallerHasher, Limit};
use crate::case::Case;
use crate::workload::{Key, key};

pub(crate) const OWN_CLOCK: &str = "governor, own clock, own hash";
pub(crate) const CALLER_CLOCK: &str = "governor, caller's clock, own hash";
pub(crate) const CALLER_HASH: &str = "governor, caller's clock and hash";
pub(crate) const HASH_MAP_OWN_CLOCK: &str = "governor in a HashMap, own clock, own hash";
pub(crate) const HASH_MAP_CALLER_HASH: &str = "governor in a HashMap, caller's clock and hash";
pub(crate) const DIRECT_OWN_CLOCK: &str = "governor, own clock";
pub(crate) const DIRECT_CALLER_CLOCK: &str = "governor, caller's clock";

impl Clock for CallerClock {
    type Instant = Nanos;

    #[inline]
    fn now(&self) -> Nanos {
        Nanos::new(Self::read())
    }
}

type Sharded<K, S, C> = RateLimiter<K, DashMapStateStore<K, S>, C, NoOpMiddleware<<C as Clock>::Instant>>;
type Locked<K, S, C> = RateLimiter<K, HashMapStateStore<K, S>, C, NoOpMiddleware<<C as Clock>::Instant>>;
type ForAll<C> = RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<<C as Clock>::Instant>>;

fn quota(limit: Limit) -> Quota {
    let burst = limit.burst.try_into().expect("a burst above 0");
    Quota::with_period(limit.interval).expect("an interval above 0").allow_burst(burst)
}

/// A limiter with everything as it is by default.
fn limiter(limit: Limit) -> Sharded<Key, DefaultHasher, DefaultClock> {
    RateLimiter::dashmap(quota(limit))
}

/// A limiter by the caller's clock.
pub(crate) fn sharded<K: Hash + Eq + Clone, S: BuildHasher + Clone + Default>(
    limit: Limit,
) -> Sharded<K, S, CallerClock> {
    RateLimiter::dashmap_with_clock_and_hasher(quota(limit), CallerClock, S::default())
}

/// The same with room for `keys` from the beginning, which takes a store made by hand.
pub(crate) fn sized<K: Hash + Eq + Clone, S: BuildHasher + Clone + Default>(
    limit: Limit,
    keys: u32,
) -> Sharded<K, S, CallerClock> {
    let store = DashMap::with_capacity_and_hasher(keys as usize, S::default());
    RateLimiter::new(quota(limit), store, CallerClock)
}

/// The keys' limiters, all keys charged once.
#[derive(Debug)]
pub(crate) struct Keyed {
    own_clock: Sharded<Key, DefaultHasher, DefaultClock>,
    caller_clock: Sharded<Key, DefaultHasher, CallerClock>,
    caller_hash: Sharded<Key, CallerHasher, CallerClock>,
    hash_map_own_clock: Locked<Key, DefaultHasher, DefaultClock>,
    hash_map_caller_hash: Locked<Key, CallerHasher, CallerClock>,
}

impl Keyed {
    pub(crate) fn filled(limit: Limit, keys: u32) -> Self {
        CallerClock::set();
        let locked =
            RateLimiter::hashmap_with_clock_and_hasher(quota(limit), CallerClock, CallerHasher::default());
        let stores = Self {
            own_clock: limiter(limit),
            caller_clock: sharded(limit),
            caller_hash: sharded(limit),
            hash_map_own_clock: RateLimiter::hashmap(quota(limit)),
            hash_map_caller_hash: locked,
        };
        for key in (0..keys).map(key) {
            let _ = stores.own_clock.check_key(&key);
            let _ = stores.caller_clock.check_key(&key);
            let _ = stores.caller_hash.check_key(&key);
            let _ = stores.hash_map_own_clock.check_key(&key);
            let _ = stores.hash_map_caller_hash.check_key(&key);
        }
        stores
    }

    pub(crate) fn own_clock(&self) -> Case<'_> {
        Case::lone(OWN_CLOCK, || 0, |key, _| self.own_clock.check_key(key).is_ok())
    }

    pub(crate) fn caller_clock(&self) -> Case<'_> {
        Case::lone(CALLER_CLOCK, CallerClock::set, |key, _| self.caller_clock.check_key(key).is_ok())
    }

    pub(crate) fn caller_hash(&self) -> Case<'_> {
        Case::lone(CALLER_HASH, CallerClock::set, |key, _| self.caller_hash.check_key(key).is_ok())
    }

    pub(crate) fn hash_map_own_clock(&self) -> Case<'_> {
        Case::lone(HASH_MAP_OWN_CLOCK, || 0, |key, _| self.hash_map_own_clock.check_key(key).is_ok())
    }

    pub(crate) fn hash_map_caller_hash(&self) -> Case<'_> {
        let limiter = &self.hash_map_caller_hash;
        Case::lone(HASH_MAP_CALLER_HASH, CallerClock::set, |key, _| limiter.check_key(key).is_ok())
    }
}

/// A limiter by default beside a caller's, in which `keys` were charged once.
#[derive(Debug)]
pub(crate) struct Pair {
    own_clock: Sharded<Key, DefaultHasher, DefaultClock>,
    caller_hash: Sharded<Key, CallerHasher, CallerClock>,
}

impl Pair {
    pub(crate) fn filled(limit: Limit, keys: u32) -> Self {
        CallerClock::set();
        let stores = Self { own_clock: limiter(limit), caller_hash: sharded(limit) };
        for key in (0..keys).map(key) {
            let _ = stores.own_clock.check_key(&key);
            let _ = stores.caller_hash.check_key(&key);
        }
        stores
    }

    pub(crate) fn cases(&self) -> [Case<'_>; 2] {
        [
            Case::lone(OWN_CLOCK, || 0, |key, _| self.own_clock.check_key(key).is_ok()),
            Case::lone(CALLER_HASH, CallerClock::set, |key, _| self.caller_hash.check_key(key).is_ok()),
        ]
    }

    /// By a clock that runs `ahead` nanoseconds before the one that the store was filled by.
    pub(crate) fn ahead(&self, ahead: u64) -> Case<'_> {
        let now = move || CallerClock::set_ahead(ahead);
        Case::lone(CALLER_HASH, now, |key, _| self.caller_hash.check_key(key).is_ok())
    }
}

/// The limiters of everything, charged once.
#[derive(Debug)]
pub(crate) struct Direct {
    own_clock: ForAll<DefaultClock>,
    caller_clock: ForAll<CallerClock>,
}

impl Direct {
    pub(crate) fn charged(limit: Limit) -> Self {
        CallerClock::set();
        let limiters = Self {
            own_clock: RateLimiter::direct(quota(limit)),
            caller_clock: RateLimiter::direct_with_clock(quota(limit), CallerClock),
        };
        let _ = limiters.own_clock.check();
        let _ = limiters.caller_clock.check();
        limiters
    }

    pub(crate) fn own_clock(&self) -> Case<'_> {
        Case::lone(DIRECT_OWN_CLOCK, || 0, |_, _| self.own_clock.check().is_ok())
    }

    pub(crate) fn caller_clock(&self) -> Case<'_> {
        Case::lone(DIRECT_CALLER_CLOCK, CallerClock::set, |_, _| self.caller_clock.check().is_ok())
    }
}
