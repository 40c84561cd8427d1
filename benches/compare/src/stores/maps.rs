//! What many write themselves: a map of one word a key, and GCRA on the word.
//!
//! All by the caller's hash and clock. They answer yes or no: no remaining, no wait; and they keep every key
//! for ever. A map is given its capacity, and each is asked in the way that its documentation says is fastest
//! for a key that is mostly there.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use hashbrown::{HashMap, HashTable};

use super::{CallerClock, CallerHasher, Limit};
use crate::case::Case;
use crate::workload::Key;

pub(crate) const PAPAYA: &str = "papaya of atomics";
pub(crate) const SCC: &str = "scc of atomics";
pub(crate) const SHARDED: &str = "64 RwLock of hashbrown of atomics";
pub(crate) const MUTEX: &str = "Mutex of hashbrown";

/// The theoretical arrival time, and what the next one is.
#[derive(Clone, Copy, Debug)]
struct Gcra {
    interval: u64,
    tolerance: u64,
}

impl Gcra {
    fn of(limit: Limit) -> Self {
        let interval = limit.interval.as_nanos() as u64;
        Self { interval, tolerance: interval * u64::from(limit.burst - 1) }
    }

    #[inline]
    fn step(self, arrival: u64, now: u64) -> Option<u64> {
        let start = arrival.max(now);
        (start - now <= self.tolerance).then(|| start + self.interval)
    }

    #[inline]
    fn charge(self, cell: &AtomicU64, now: u64) -> bool {
        // Relaxed: the word is all there is to agree on.
        let mut arrival = cell.load(Ordering::Relaxed);
        while let Some(next) = self.step(arrival, now) {
            match cell.compare_exchange_weak(arrival, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => arrival = other,
            }
        }
        false
    }
}

/// A store that decides on one key.
pub(crate) trait Map<K>: Sync {
    fn check(&self, key: &K, now: u64) -> bool;
}

pub(crate) fn case<'s>(name: &'static str, map: &'s impl Map<Key>) -> Case<'s> {
    Case::lone(name, CallerClock::set, |key, now| map.check(key, now))
}

pub(crate) struct Papaya<K> {
    map: papaya::HashMap<K, AtomicU64, CallerHasher>,
    gcra: Gcra,
}

impl<K: Hash + Eq> Papaya<K> {
    pub(crate) fn new(limit: Limit, keys: u32) -> Self {
        let map = papaya::HashMap::with_capacity_and_hasher(keys as usize, CallerHasher::default());
        Self { map, gcra: Gcra::of(limit) }
    }
}

impl<K: Hash + Eq + Clone + Send + Sync> Map<K> for Papaya<K> {
    fn check(&self, key: &K, now: u64) -> bool {
        // Pinned for one request: a longer one would keep what others removed.
        let map = self.map.pin();
        match map.get(key) {
            Some(cell) => self.gcra.charge(cell, now),
            None => self.gcra.charge(map.get_or_insert_with(key.clone(), AtomicU64::default), now),
        }
    }
}

pub(crate) struct Scc<K: Hash + Eq> {
    map: scc::HashMap<K, AtomicU64, CallerHasher>,
    gcra: Gcra,
}

impl<K: Hash + Eq> Scc<K> {
    pub(crate) fn new(limit: Limit, keys: u32) -> Self {
        let map = scc::HashMap::with_capacity_and_hasher(keys as usize, CallerHasher::default());
        Self { map, gcra: Gcra::of(limit) }
    }
}

impl<K: Hash + Eq + Clone + Send + Sync> Map<K> for Scc<K> {
    fn check(&self, key: &K, now: u64) -> bool {
        // A read shares the bucket's lock; an entry would take it alone.
        let known = self.map.read_sync(key, |_, cell| self.gcra.charge(cell, now));
        known.unwrap_or_else(|| self.gcra.charge(self.map.entry_sync(key.clone()).or_default().get(), now))
    }
}

type Shard<K> = RwLock<HashTable<(K, AtomicU64)>>;

/// The key's hash is computed once, for the shard and for the place in it.
pub(crate) struct Sharded<K> {
    shards: Box<[Shard<K>]>,
    hasher: CallerHasher,
    gcra: Gcra,
}

/// A power of two.
const SHARDS: usize = 64;

impl<K: Hash + Eq> Sharded<K> {
    pub(crate) fn new(limit: Limit, keys: u32) -> Self {
        // Shards are not filled alike.
        let each = keys as usize / SHARDS * 17 / 16 + 1;
        let shards = (0..SHARDS).map(|_| RwLock::new(HashTable::with_capacity(each))).collect();
        Self { shards, hasher: CallerHasher::default(), gcra: Gcra::of(limit) }
    }
}

impl<K: Hash + Eq + Clone + Send + Sync> Map<K> for Sharded<K> {
    fn check(&self, key: &K, now: u64) -> bool {
        use std::hash::BuildHasher;
        let hash = self.hasher.hash_one(key);
        // hashbrown takes the lowest bits and the highest seven.
        let shard = &self.shards[(hash >> 48) as usize % SHARDS];
        let held = shard.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cell)) = held.find(hash, |(other, _)| other == key) {
            return self.gcra.charge(cell, now);
        }
        drop(held);
        let mut held = shard.write().unwrap_or_else(PoisonError::into_inner);
        let entry = held.entry(hash, |(other, _)| other == key, |(other, _)| self.hasher.hash_one(other));
        let entry = entry.or_insert_with(|| (key.clone(), AtomicU64::default()));
        self.gcra.charge(&entry.get().1, now)
    }
}

pub(crate) struct Locked<K> {
    map: Mutex<HashMap<K, u64, CallerHasher>>,
    gcra: Gcra,
}

impl<K: Hash + Eq> Locked<K> {
    pub(crate) fn new(limit: Limit, keys: u32) -> Self {
        let map = HashMap::with_capacity_and_hasher(keys as usize, CallerHasher::default());
        Self { map: Mutex::new(map), gcra: Gcra::of(limit) }
    }
}

impl<K: Hash + Eq + Clone + Send + Sync> Map<K> for Locked<K> {
    fn check(&self, key: &K, now: u64) -> bool {
        let mut map = self.map.lock().unwrap_or_else(PoisonError::into_inner);
        let arrival = match map.get_mut(key) {
            Some(arrival) => arrival,
            None => map.entry(key.clone()).or_insert(0),
        };
        let next = self.gcra.step(*arrival, now);
        *arrival = next.unwrap_or(*arrival);
        next.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn admits_its_burst_and_then_one_an_interval(map: &impl Map<u8>) {
        let allowed = |now| map.check(&7, now);
        assert_eq!([0, 0, 0].map(allowed), [true, true, false]);
        assert_eq!([9, 10, 10].map(allowed), [false, true, false]);
        assert!(map.check(&8, 10));
    }

    #[test]
    fn every_map_decides_as_gcra() {
        let limit = Limit { interval: Duration::from_nanos(10), burst: 2 };
        admits_its_burst_and_then_one_an_interval(&Papaya::new(limit, 8));
        admits_its_burst_and_then_one_an_interval(&Scc::new(limit, 8));
        admits_its_burst_and_then_one_an_interval(&Sharded::new(limit, 8));
        admits_its_burst_and_then_one_an_interval(&Locked::new(limit, 8));
    }
}
