//! The table of sliding logs: sharded, behind short locks, in this process only, bounded in keys.
//!
//! A log is no word, so it cannot live in a cell. A shard has few keys, in places fixed at construction
//! and walked within its lock: nothing here can want memory but a log that grows, which says so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;

use super::era::Era;
use super::judge::Judge;
use super::{Holding, SeatNumber, Stats, WhenFull};
use crate::error::BuildError;
use crate::memory::MemoryError;
use ratecell_core::algorithm::{Entries, Held, Log, SlidingLog};
use ratecell_core::{Decision, Request};

/// Keys per shard at the advertised capacity, and the most that one holds: at random, fewer than one
/// shard in ten million is full then.
const KEYS_PER_SHARD: usize = 32;
const MAX_KEYS_PER_SHARD: usize = 64;

/// A key is its 64-bit keyed hash: two of n keys are one with probability n^2 / 2^65.
#[derive(Debug)]
struct Shard {
    /// Of the keys whose logs stand at the same places.
    hashes: [u64; MAX_KEYS_PER_SHARD],
    /// A place whose log is empty is free.
    logs: [Log; MAX_KEYS_PER_SHARD],
    /// How many keys each place has had, and how often one was forgotten there.
    lives: [u16; MAX_KEYS_PER_SHARD],
    /// Shared by newcomers without room, under [`WhenFull::Share`].
    overflow: Log,
    /// Until when an erased log held anything: newcomers are judged no earlier.
    floor: u64,
    stats: Stats,
}

impl Default for Shard {
    fn default() -> Self {
        Self {
            hashes: [0; MAX_KEYS_PER_SHARD],
            logs: [const { Log::new() }; MAX_KEYS_PER_SHARD],
            lives: [0; MAX_KEYS_PER_SHARD],
            overflow: Log::new(),
            floor: 0,
            stats: Stats::default(),
        }
    }
}

/// A fixed number of shards. Clones are the same table.
#[derive(Clone, Debug)]
pub(crate) struct LogTable {
    shards: Arc<[CachePadded<Mutex<Shard>>]>,
    when_full: WhenFull,
    /// A log is decided within its shard's lock, where the policy is seen to be in force: whatever is decided by the next one
    /// comes after it.
    era: Era,
}

impl LogTable {
    pub(crate) fn for_keys(max_keys: usize, when_full: WhenFull, era: Era) -> Result<Self, BuildError> {
        if max_keys == 0 {
            return Err(BuildError::ZeroKeys);
        }
        let count = max_keys.div_ceil(KEYS_PER_SHARD);
        let mut shards = Vec::new();
        shards.try_reserve_exact(count).map_err(|error| MemoryError::OutOfMemory {
            bytes: count.saturating_mul(size_of::<CachePadded<Mutex<Shard>>>()),
            reason: error.to_string(),
        })?;
        shards.resize_with(count, CachePadded::default);
        Ok(Self { shards: shards.into(), when_full, era })
    }

    /// The same table, for a handle that decides by another generation of the policy.
    pub(crate) fn in_era(&self, era: Era) -> Self {
        Self { era, ..self.clone() }
    }

    fn shard(&self, h: u64) -> Option<MutexGuard<'_, Shard>> {
        // h / 2^64 of the shards: below their count.
        let index = ((u128::from(h) * self.shards.len() as u128) >> 64) as usize;
        let shard = self.shards.get(index)?;
        // Nothing within a lock panics.
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Decides `request` at `now` on the key of hash `h`, and charges it if it is allowed. What was charged is `None`
    /// where it cannot be taken back, because the key has no log of its own.
    pub(crate) fn charge(
        &self,
        algorithm: &SlidingLog,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Option<Entries>) {
        let Some(mut shard) = self.shard(h) else { return (Decision::default(), None) };
        if !self.era.is_in_force() {
            return (Decision::superseded(), None);
        }
        let step = |cost, charge| shard.decide(algorithm, self.when_full, h, now, cost, charge);
        let (decision, count) = SlidingLog::decide(request, step);
        let newest = shard.find(h).and_then(|log| log.newest());
        (decision, newest.map(|clock| Entries { clock, count }))
    }

    /// What a charge of so many units would say; writes nothing.
    pub(crate) fn peek(&self, algorithm: &SlidingLog, h: u64, now: u64, cost: u32) -> Decision {
        match self.shard(h) {
            Some(_) if !self.era.is_in_force() => Decision::superseded(),
            Some(mut shard) => shard.decide(algorithm, self.when_full, h, now, cost, false),
            None => Decision::default(),
        }
    }

    /// Takes a charge of `h` back, unless another came after it.
    pub(crate) fn refund(&self, h: u64, entries: Entries) {
        if let Some(mut shard) = self.shard(h)
            && let Some(log) = shard.find(h)
        {
            SlidingLog::refund(log, entries);
        }
    }

    /// [`charge`](Self::charge), and what is held of it.
    pub(crate) fn reserve(
        &self,
        algorithm: &SlidingLog,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Option<Entries>, Option<Holding>) {
        let Some(mut shard) = self.shard(h) else { return (Decision::default(), None, None) };
        if !self.era.is_in_force() {
            return (Decision::superseded(), None, None);
        }
        let step = |cost, charge| shard.decide(algorithm, self.when_full, h, now, cost, charge);
        let (decision, count) = SlidingLog::decide(request, step);
        if count == 0 {
            return (decision, None, None);
        }
        let held = |clock: u64| Held { made: clock, ..Held::default() };
        if let Some(place) = shard.place(h)
            && let Some(clock) = shard.logs.get(place).and_then(Log::newest)
        {
            let seat = SeatNumber::of_log(place, shard.lives.get(place).copied().unwrap_or(0));
            return (decision, Some(Entries { clock, count }), Some(Holding { seat, held: held(clock) }));
        }
        // Without a log of its own it is in the shared one, or was let in uncharged.
        let clock = shard.overflow.newest().filter(|_| self.when_full == WhenFull::Share);
        let holding = clock.map(|clock| Holding { seat: SeatNumber::SHARED, held: held(clock) });
        (decision, None, holding)
    }

    /// Gives back `units` of what is held, as far as they are still there.
    pub(crate) fn settle(
        &self,
        algorithm: &SlidingLog,
        h: u64,
        holding: &Holding,
        units: u32,
        clock: impl Fn() -> u64,
    ) {
        let Some(mut shard) = self.shard(h) else { return };
        let log = if holding.seat == SeatNumber::SHARED {
            Some(&mut shard.overflow)
        } else {
            let place = shard.place(h);
            let life = place.and_then(|place| shard.lives.get(place).copied());
            let seat = place.zip(life).map(|(place, life)| SeatNumber::of_log(place, life));
            if seat == Some(holding.seat) { shard.find(h) } else { None }
        };
        if let Some(log) = log {
            algorithm.give_back(log, clock(), holding.held.made, units);
        }
    }

    /// Makes the key of hash `h` as if never seen. Says whether there was anything to forget.
    pub(crate) fn forget(&self, h: u64) -> bool {
        let Some(mut shard) = self.shard(h) else { return false };
        let place = shard.place(h);
        if let Some(log) = place.and_then(|place| shard.logs.get_mut(place)) {
            *log = Log::new();
        }
        place.is_some()
    }

    pub(crate) fn stats(&self, algorithm: &SlidingLog, now: u64) -> Stats {
        let own = size_of::<CachePadded<Mutex<Shard>>>() * self.shards.len();
        let mut sum = Stats { slots: self.shards.len() * MAX_KEYS_PER_SHARD, bytes: own, ..Stats::default() };
        let mut live = 0;
        for shard in &*self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            live += shard.logs.iter().filter(|log| algorithm.level(log, now) > 0).count();
            sum = sum.with(shard.stats);
        }
        Stats { live, ..sum }
    }
}

/// A place of a shard.
struct Place<'s> {
    hash: &'s mut u64,
    log: &'s mut Log,
    life: &'s mut u16,
}

/// Drops all of a log, and gives its memory back.
// Out of line: in a caller's loop the address of the allocator's function would be kept in a register, and a call through
// one cannot be followed in the machine code.
#[inline(never)]
fn clear(log: &mut Log) {
    *log = Log::new();
}

impl Shard {
    fn place(&self, h: u64) -> Option<usize> {
        let mut places = self.hashes.iter().zip(&self.logs);
        places.position(|(hash, log)| *hash == h && !log.is_empty())
    }

    fn find(&mut self, h: u64) -> Option<&mut Log> {
        let place = self.place(h)?;
        self.logs.get_mut(place)
    }

    fn decide(
        &mut self,
        algorithm: &SlidingLog,
        when_full: WhenFull,
        h: u64,
        now: u64,
        cost: u32,
        charge: bool,
    ) -> Decision {
        if let Some(log) = self.find(h) {
            return algorithm.step(log, 0, now, cost, charge);
        }
        let sharing = when_full == WhenFull::Share;
        if sharing && algorithm.level(&self.overflow, now) > 0 {
            return self.share(algorithm, now, cost, charge);
        }
        // Of a shared log that has drained the newcomer inherits no unit, but its time.
        let shared = if sharing { algorithm.fresh_at(&self.overflow) } else { 0 };
        let floor = algorithm.believed(self.floor, now).max(algorithm.believed(shared, now));
        let mut log = Log::new();
        let decision = algorithm.step(&mut log, floor, now, cost, charge);
        if log.is_empty() {
            return decision;
        }
        if let Some(Place { hash, log: free, life }) = self.room(algorithm, when_full, now) {
            (*hash, *free, *life) = (h, log, life.wrapping_add(1));
            return decision;
        }
        match when_full {
            WhenFull::Share => self.share(algorithm, now, cost, charge),
            WhenFull::Allow => {
                self.stats.allowed_full += 1;
                decision
            }
            WhenFull::Evict | WhenFull::Deny => self.deny(algorithm, decision, now),
        }
    }

    fn share(&mut self, algorithm: &SlidingLog, now: u64, cost: u32, charge: bool) -> Decision {
        if charge {
            self.stats.shared += 1;
        }
        algorithm.step(&mut self.overflow, self.floor, now, cost, charge)
    }

    /// A free place. If there is none, the logs that hold nothing are erased, and if there is none, under
    /// `Evict`, the one that holds least.
    fn room(&mut self, algorithm: &SlidingLog, when_full: WhenFull, now: u64) -> Option<Place<'_>> {
        if !self.logs.iter().any(Log::is_empty) {
            self.erase_fresh(algorithm, now);
        }
        if when_full == WhenFull::Evict && !self.logs.iter().any(Log::is_empty) {
            self.evict_least(algorithm, now);
        }
        let places = self.hashes.iter_mut().zip(&mut self.logs).zip(&mut self.lives);
        let mut places = places.map(|((hash, log), life)| Place { hash, log, life });
        places.find(|place| place.log.is_empty())
    }

    fn erase_fresh(&mut self, algorithm: &SlidingLog, now: u64) {
        for log in self.logs.iter_mut().filter(|log| algorithm.level(log, now) == 0) {
            let fresh_at = algorithm.fresh_at(log);
            // Past now it is fresh by healing alone, which is no time to wait for.
            if fresh_at <= now {
                // A floor that is not believed would hide this one.
                self.floor = algorithm.believed(self.floor, now).max(fresh_at);
            }
            clear(log);
        }
    }

    fn evict_least(&mut self, algorithm: &SlidingLog, now: u64) {
        if let Some(log) = self.logs.iter_mut().min_by_key(|log| algorithm.level(log, now)) {
            self.stats.evicted += 1;
            self.stats.forgiven = self.stats.forgiven.saturating_add(algorithm.level(log, now));
            clear(log);
        }
    }

    fn deny(&mut self, algorithm: &SlidingLog, allowed: Decision, now: u64) -> Decision {
        self.stats.denied_full += 1;
        let free_at = self.logs.iter().map(|log| algorithm.fresh_at(log)).min().unwrap_or(now);
        allowed.without_room(free_at, now)
    }
}

#[cfg(all(test, not(ratecell_model)))]
mod tests {
    use super::super::era::InForce;
    use super::*;
    use crate::memory::Memory;
    use ratecell_core::Policy;
    use ratecell_core::algorithm::Plan;

    #[test]
    fn a_handle_of_another_policy_decides_nothing() {
        let policy: Policy = "sliding_log 2/1s".parse().expect("a policy");
        let Plan::Log(log) = policy.layers()[0].plan() else { unreachable!("a log") };
        let memory = Memory::private(8).expect("memory");
        let in_force = InForce::in_memory(&memory, 0).expect("a word");
        let table = LogTable::for_keys(1, WhenFull::Deny, Era::first(in_force.clone())).expect("memory");
        let one = Request::default().cost(1);
        assert!(table.charge(&log, 7, 0, &one).0.is_allowed());
        assert!(in_force.advance(0));
        assert!(table.charge(&log, 7, 0, &one).0.is_superseded());
        assert!(table.reserve(&log, 7, 0, &one).0.is_superseded());
        assert!(table.peek(&log, 7, 0, 1).is_superseded());
        assert_eq!(table.stats(&log, 0).live, 1);
    }
}
