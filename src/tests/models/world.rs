//! A small table under a law, and what must hold of it after every race.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use super::super::model::checker::thread;
use super::law::{Law, Word};
use crate::table::{Extent, Lookup, Table, WhenFull};
use ratecell_core::Request;

/// Keys, by the hash that puts them where a model wants them: these at home in the first bucket. None has a tag that looks
/// empty by its upper half.
const KEY: u64 = 1 << 32;
pub(super) const A: u64 = KEY | 1;
pub(super) const B: u64 = KEY | 2;
pub(super) const C: u64 = KEY | 3;
pub(super) const D: u64 = KEY | 4;
pub(super) const E: u64 = KEY | 5;
/// At home in the second of two buckets.
const FAR_KEY: u64 = (1 << 63) | KEY;
pub(super) const FAR: u64 = FAR_KEY | 6;
pub(super) const FAR_TOO: u64 = FAR_KEY | 7;
pub(super) const FAR_OFF: u64 = FAR_KEY | 8;
pub(super) const FAR_AWAY: u64 = FAR_KEY | 9;

/// One request that was allowed.
#[derive(Clone, Copy, Debug)]
struct Admission {
    key: u64,
    now: u64,
    /// The latest instant at which anybody had asked by then: as if at this one it may have been judged.
    latest: u64,
}

/// A table under a law, and every admission that it made.
pub(super) struct World<const SLOTS: usize, A> {
    table: Table<SLOTS>,
    law: Law<A>,
    admissions: Mutex<Vec<Admission>>,
    /// The latest instant at which anybody has asked.
    latest: AtomicU64,
}

type Actor<const SLOTS: usize, A> = Box<dyn FnOnce(&World<SLOTS, A>) + Send>;

/// What one thread of a race does.
pub(super) fn actor<const SLOTS: usize, A>(
    work: impl FnOnce(&World<SLOTS, A>) + Send + 'static,
) -> Actor<SLOTS, A> {
    Box::new(work)
}

/// A thread that asks for each key at each instant, in order.
pub(super) fn asks<const SLOTS: usize, A: Word>(requests: &'static [(u64, u64)]) -> Actor<SLOTS, A> {
    actor(move |world: &World<SLOTS, A>| {
        for (key, now) in requests {
            world.ask(*key, *now);
        }
    })
}

impl<const SLOTS: usize, A: Word> World<SLOTS, A> {
    pub(super) fn new(law: Law<A>, buckets: usize, when_full: WhenFull) -> Self {
        let table = Table::alone(buckets, when_full);
        Self { table, law, admissions: Mutex::default(), latest: AtomicU64::new(0) }
    }

    /// The same in which each of these has been admitted in turn, one unit of a key at an instant.
    pub(super) fn after(law: Law<A>, buckets: usize, when_full: WhenFull, requests: &[(u64, u64)]) -> Self {
        let world = Self::new(law, buckets, when_full);
        for (key, now) in requests {
            assert!(world.ask(*key, *now), "key {key:x} at {now}");
        }
        world
    }

    pub(super) fn table(&self) -> &Table<SLOTS> {
        &self.table
    }

    /// Asks for one unit, as a limiter does.
    pub(super) fn ask(&self, key: u64, now: u64) -> bool {
        let Law { algorithm, tick, tries_hits, .. } = &self.law;
        let at = now * tick;
        self.latest.fetch_max(now, SeqCst);
        let tried = if *tries_hits { self.table.try_hit(algorithm, key, at, 1) } else { Err(Lookup::NotYet) };
        let decision = tried.unwrap_or_else(|lookup| self.table.check(algorithm, key, at, 1, lookup));
        if decision.is_allowed() {
            self.admissions.lock().expect("no panic").push(Admission {
                key,
                now,
                latest: self.latest.load(SeqCst),
            });
        }
        decision.is_allowed()
    }

    /// Asks for one unit and gives it back.
    pub(super) fn ask_and_refund(&self, key: u64, now: u64) {
        let Law { algorithm, tick, .. } = &self.law;
        self.latest.fetch_max(now, SeqCst);
        self.table.charge(algorithm, key, now * tick, &Request::default()).refund();
    }

    /// Forgets the key, and what it was admitted for so far.
    pub(super) fn forget(&self, key: u64) {
        if self.table.forget(key) {
            self.admissions.lock().expect("no panic").retain(|admission| admission.key != key);
        }
    }

    /// How many requests of the key were allowed.
    pub(super) fn admitted(&self, key: u64) -> usize {
        self.admissions.lock().expect("no panic").iter().filter(|admission| admission.key == key).count()
    }

    /// Runs the actors at once, each in a thread of its own, and waits for all.
    pub(super) fn race(self, actors: Vec<Actor<SLOTS, A>>) -> Self {
        let world = Arc::new(self);
        let threads: Vec<_> = actors
            .into_iter()
            .map(|act| {
                let world = Arc::clone(&world);
                thread::spawn(move || act(&world))
            })
            .collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
        Arc::into_inner(world).expect("all threads have ended")
    }

    /// What must hold whatever happened: one member a key, and each key within the law in every interval but for what was
    /// forgiven, also after it was asked to exhaustion at `now`.
    pub(super) fn settle(&self, keys: &[u64], now: u64) {
        for &key in keys {
            self.assert_one_member(key);
            for _ in 0..=self.law.capacity {
                self.ask(key, now);
            }
            self.assert_one_member(key);
        }
        self.assert_within_law(keys);
    }

    pub(super) fn assert_one_member(&self, key: u64) {
        let members = self.table.members(key);
        assert!(members <= 1, "key {key:x} has {members} members");
    }

    /// What must hold too where all instants are equal: every admitted unit is in its own key's word, or was counted as
    /// forgiven.
    pub(super) fn account(&self, keys: &[u64], now: u64) {
        let lost = keys.iter().map(|&key| {
            let admissions = self.admissions.lock().expect("no panic");
            let of_key = |admission: &&Admission| admission.key == key && admission.now == now;
            let admitted = admissions.iter().filter(of_key).count() as u64;
            admitted.saturating_sub(self.held(key, now))
        });
        let (lost, forgiven) = (lost.sum::<u64>(), self.forgiven());
        assert!(lost <= forgiven, "{lost} units are in no word, {forgiven} were forgiven");
    }

    /// Units that the key's own word holds; without one, that its home's shared word does.
    fn held(&self, key: u64, now: u64) -> u64 {
        let Law { algorithm, capacity, tick, .. } = self.law;
        let peeked = self.table.peek(&algorithm, key, now * tick, &Request::default().cost(0));
        capacity - peeked.remaining()
    }

    fn forgiven(&self) -> u64 {
        self.table.stats(&self.law.algorithm, 0, Extent::All).forgiven
    }

    /// In the order of their instants, the admissions of a key pass one cell, but for those that were forgiven.
    fn assert_within_law(&self, keys: &[u64]) {
        let admissions = self.admissions.lock().expect("no panic");
        let beyond = keys.iter().map(|key| {
            let of_key = admissions.iter().filter(|admission| admission.key == *key);
            self.beyond_law(&of_key.copied().collect::<Vec<_>>())
        });
        let (beyond, forgiven) = (beyond.sum::<u64>(), self.forgiven());
        assert!(beyond <= forgiven, "{beyond} units beyond the law, {forgiven} forgiven: {admissions:x?}");
    }

    /// How many of these admissions one cell would have denied. Where the law judges late clocks by others', each may have
    /// been judged by either: it takes one way in which all is well.
    fn beyond_law(&self, admissions: &[Admission]) -> u64 {
        let late = admissions.iter().filter(|admission| admission.latest > admission.now);
        let ways = if self.law.judges_by_others { 1_u32 << late.count() } else { 1 };
        let beyond = (0..ways).map(|mut way| {
            let judged = |admission: &Admission| {
                let by_others = admission.latest > admission.now && {
                    let by_others = way & 1 == 1;
                    way >>= 1;
                    by_others
                };
                if by_others { admission.latest } else { admission.now }
            };
            let mut instants: Vec<_> = admissions.iter().map(judged).collect();
            instants.sort_unstable();
            let mut word = 0;
            let denied = |now: &&u64| {
                let step = self.law.algorithm.step(word, **now * self.law.tick, 1);
                word = step.charged.unwrap_or(word);
                !step.decision.is_allowed()
            };
            instants.iter().filter(denied).count() as u64
        });
        beyond.min().unwrap_or(0)
    }
}
