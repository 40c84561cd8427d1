//! The table of sliding logs: sharded, behind short locks, in this process only, bounded in keys.
//!
//! A log is no word, so it cannot live in a cell. Here the standard tools do: `hashbrown` for the keys
//! of a shard and a mutex around it. A shard has few keys, so a full one is walked within the lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;
use hashbrown::HashTable;

use super::{Stats, WhenFull};
use crate::algorithm::sliding_log::{Log, SlidingLog};
use crate::decision::Decision;
use crate::error::BuildError;

/// Keys per shard at the advertised capacity, and the most that one holds: at random, fewer than one
/// shard in ten million is full then.
const KEYS_PER_SHARD: usize = 32;
const MAX_KEYS_PER_SHARD: usize = 64;

/// A key's log. The key is its 64-bit keyed hash: two of n keys are one with probability n^2 / 2^65.
#[derive(Debug)]
struct Entry {
    hash: u64,
    log: Log,
}

#[derive(Debug, Default)]
struct Shard {
    entries: HashTable<Entry>,
    /// Shared by newcomers without room, under [`WhenFull::Share`].
    overflow: Log,
    /// Until when an erased log held anything: newcomers are judged no earlier.
    floor: u64,
    stats: Stats,
}

/// A fixed number of shards.
#[derive(Debug)]
pub(crate) struct LogTable {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    when_full: WhenFull,
}

impl LogTable {
    pub(crate) fn for_keys(max_keys: usize, when_full: WhenFull) -> Result<Self, BuildError> {
        if max_keys == 0 {
            return Err(BuildError::ZeroKeys);
        }
        let count = max_keys.div_ceil(KEYS_PER_SHARD);
        let mut shards = Vec::new();
        shards.try_reserve_exact(count).map_err(|error| BuildError::OutOfMemory {
            bytes: count.saturating_mul(size_of::<CachePadded<Mutex<Shard>>>()),
            reason: error.to_string(),
        })?;
        shards.resize_with(count, CachePadded::default);
        Ok(Self { shards: shards.into_boxed_slice(), when_full })
    }

    fn shard(&self, h: u64) -> Option<MutexGuard<'_, Shard>> {
        // h / 2^64 of the shards: below their count.
        let index = ((u128::from(h) * self.shards.len() as u128) >> 64) as usize;
        let shard = self.shards.get(index)?;
        // A shard is whole between any two statements that can panic: only an allocation can.
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Decides `cost` at `now` on the key of hash `h`, and charges it if it is allowed.
    pub(crate) fn charge(&self, algorithm: &SlidingLog, h: u64, now: u64, cost: u32) -> Decision {
        self.decide(algorithm, h, now, cost, true)
    }

    /// Decides `cost` at `now` on the key of hash `h`, and writes nothing.
    pub(crate) fn peek(&self, algorithm: &SlidingLog, h: u64, now: u64, cost: u32) -> Decision {
        self.decide(algorithm, h, now, cost, false)
    }

    fn decide(&self, algorithm: &SlidingLog, h: u64, now: u64, cost: u32, charge: bool) -> Decision {
        match self.shard(h) {
            Some(mut shard) => shard.decide(algorithm, self.when_full, h, now, cost, charge),
            None => Decision::default(),
        }
    }

    /// Takes back a charge of `cost` just made, unless the key has no log of its own: then it stays.
    pub(crate) fn refund(&self, h: u64, cost: u32) {
        if let Some(mut shard) = self.shard(h)
            && let Some(entry) = shard.entries.find_mut(h, |entry| entry.hash == h)
        {
            SlidingLog::refund(&mut entry.log, cost);
        }
    }

    /// Makes the key of hash `h` as if never seen. Says whether it was there.
    pub(crate) fn forget(&self, h: u64) -> bool {
        self.shard(h).is_some_and(|mut shard| {
            shard.entries.find_entry(h, |entry| entry.hash == h).map(|entry| entry.remove()).is_ok()
        })
    }

    pub(crate) fn stats(&self, algorithm: &SlidingLog, now: u64) -> Stats {
        let own = size_of::<CachePadded<Mutex<Shard>>>() * self.shards.len();
        let mut sum = Stats { slots: self.shards.len() * MAX_KEYS_PER_SHARD, bytes: own, ..Stats::default() };
        let mut live = 0;
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            live += shard.entries.iter().filter(|entry| algorithm.level(&entry.log, now) > 0).count();
            sum = sum.with(shard.stats);
        }
        Stats { live, ..sum }
    }
}

impl Shard {
    fn decide(
        &mut self,
        algorithm: &SlidingLog,
        when_full: WhenFull,
        h: u64,
        now: u64,
        cost: u32,
        charge: bool,
    ) -> Decision {
        let floor = self.floor;
        if let Some(entry) = self.entries.find_mut(h, |entry| entry.hash == h) {
            return algorithm.step(&mut entry.log, 0, now, cost, charge);
        }
        let sharing = when_full == WhenFull::Share;
        if sharing && algorithm.level(&self.overflow, now) > 0 {
            return self.share(algorithm, now, cost, charge);
        }
        // Of a shared log that has drained the newcomer inherits no unit, but its time.
        let floor = if sharing { floor.max(algorithm.fresh_at(&self.overflow)) } else { floor };
        let mut log = Log::new();
        let decision = algorithm.step(&mut log, floor, now, cost, charge);
        if log.is_empty() {
            return decision;
        }
        if self.entries.len() >= MAX_KEYS_PER_SHARD && !self.make_room(algorithm, when_full, now) {
            return match when_full {
                WhenFull::Share => self.share(algorithm, now, cost, charge),
                WhenFull::Allow => {
                    self.stats.allowed_full += 1;
                    decision
                }
                WhenFull::Evict | WhenFull::Deny => self.deny(algorithm, decision, now),
            };
        }
        self.entries.insert_unique(h, Entry { hash: h, log }, |entry| entry.hash);
        decision
    }

    fn share(&mut self, algorithm: &SlidingLog, now: u64, cost: u32, charge: bool) -> Decision {
        if charge {
            self.stats.shared += 1;
        }
        algorithm.step(&mut self.overflow, self.floor, now, cost, charge)
    }

    /// Erases the logs that hold nothing; if there is none, under `Evict`, the one that holds least.
    fn make_room(&mut self, algorithm: &SlidingLog, when_full: WhenFull, now: u64) -> bool {
        let floor = &mut self.floor;
        self.entries.retain(|entry| {
            let live = algorithm.level(&entry.log, now) > 0;
            let fresh_at = algorithm.fresh_at(&entry.log);
            // Past now it is fresh by healing alone, which is no time to wait for.
            if !live && fresh_at <= now {
                *floor = (*floor).max(fresh_at);
            }
            live
        });
        if self.entries.len() < MAX_KEYS_PER_SHARD {
            return true;
        }
        if when_full != WhenFull::Evict {
            return false;
        }
        let least = self.entries.iter().map(|entry| (algorithm.level(&entry.log, now), entry.hash)).min();
        let Some((level, hash)) = least else { return false };
        self.stats.evicted += 1;
        self.stats.forgiven = self.stats.forgiven.saturating_add(level);
        self.entries.find_entry(hash, |entry| entry.hash == hash).map(|entry| entry.remove()).is_ok()
    }

    fn deny(&mut self, algorithm: &SlidingLog, allowed: Decision, now: u64) -> Decision {
        self.stats.denied_full += 1;
        let free_at = self.entries.iter().map(|entry| algorithm.fresh_at(&entry.log)).min().unwrap_or(now);
        allowed.without_room(free_at, now)
    }
}
