//! A small table with a policy in small integers, and what must hold of it after every race.

use std::sync::{Arc, Mutex};

use super::super::kernels::kernel;
use super::super::model::checker::thread;
use crate::table::{Extent, Table, WhenFull};
use ratecell_core::algorithm::{Algorithm as _, Kernel};
use ratecell_core::with_kernel;

/// Keys, by the hash that puts them where a model wants them: A to E at home in the first bucket.
pub(super) const A: u64 = 1;
pub(super) const B: u64 = 2;
pub(super) const C: u64 = 3;
pub(super) const D: u64 = 4;
/// At home in the second of two buckets.
pub(super) const FAR: u64 = (1 << 63) | 5;
pub(super) const FAR_TOO: u64 = (1 << 63) | 6;

/// One unit a nanosecond, `capacity` at once.
pub(super) fn unit_a_tick(capacity: u64) -> Law {
    Law { policy: format!("1000000000/s burst={capacity}"), capacity }
}

/// One unit in ten nanoseconds, one at once.
pub(super) fn unit_in_ten_ticks() -> Law {
    Law { policy: "100000000/s burst=1".to_owned(), capacity: 1 }
}

/// One unit in a window of ten nanoseconds.
pub(super) fn unit_in_a_window_of_ten() -> Law {
    Law { policy: "sliding_window 1/10ns".to_owned(), capacity: 1 }
}

/// A policy and the most that it allows at one instant.
#[derive(Clone, Debug)]
pub(super) struct Law {
    pub(super) policy: String,
    pub(super) capacity: u64,
}

/// One request that was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Admission {
    key: u64,
    now: u64,
}

/// A table under a law, and every admission it made.
pub(super) struct World<const SLOTS: usize> {
    table: Table<SLOTS>,
    law: Law,
    kernel: Kernel,
    admissions: Mutex<Vec<Admission>>,
}

type Actor<const SLOTS: usize> = Box<dyn FnOnce(&World<SLOTS>) + Send>;

/// What one thread of a race does.
pub(super) fn actor<const SLOTS: usize>(work: impl FnOnce(&World<SLOTS>) + Send + 'static) -> Actor<SLOTS> {
    Box::new(work)
}

/// A thread that asks for each key at each instant, in order.
pub(super) fn asks<const SLOTS: usize>(requests: &'static [(u64, u64)]) -> Actor<SLOTS> {
    actor(move |world| {
        for (key, now) in requests {
            world.ask(*key, *now);
        }
    })
}

impl<const SLOTS: usize> World<SLOTS> {
    pub(super) fn new(law: Law, buckets: usize, when_full: WhenFull) -> Self {
        let table = Table::alone(buckets, when_full);
        let kernel = kernel(&law.policy);
        Self { table, law, kernel, admissions: Mutex::default() }
    }

    pub(super) fn table(&self) -> &Table<SLOTS> {
        &self.table
    }

    /// Asks for one unit.
    pub(super) fn ask(&self, key: u64, now: u64) -> bool {
        // As a limiter does.
        let allowed = with_kernel!(self.kernel, algorithm => {
            let decision = self.table.try_hit(&algorithm, key, now, 1);
            decision.unwrap_or_else(|lookup| self.table.check(&algorithm, key, now, 1, lookup)).is_allowed()
        });
        if allowed {
            self.admissions.lock().expect("no panic").push(Admission { key, now });
        }
        allowed
    }

    /// How many requests of the key were allowed.
    pub(super) fn admitted(&self, key: u64) -> usize {
        self.admissions.lock().expect("no panic").iter().filter(|admission| admission.key == key).count()
    }

    /// Runs the actors at once, each in a thread of its own, and waits for all.
    pub(super) fn race(self, actors: Vec<Actor<SLOTS>>) -> Self {
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

    /// What must hold whatever happened, but for evictions: one member a key, each key within the law in every interval,
    /// also after it was asked to exhaustion at `now`.
    pub(super) fn settle(&self, keys: &[u64], now: u64) {
        for &key in keys {
            for _ in 0..=self.law.capacity {
                self.ask(key, now);
            }
            let members = self.table.members(key);
            assert!(members <= 1, "key {key:x} has {members} members");
            self.assert_within_law(key);
        }
    }

    /// What must hold too where all instants are equal: every admitted unit is in some word, or was
    /// counted as forgiven.
    pub(super) fn account(&self, now: u64) {
        let admissions = self.admissions.lock().expect("no panic");
        let admitted = admissions.iter().filter(|admission| admission.now == now).count() as u64;
        let (held, forgiven) = with_kernel!(self.kernel, algorithm => {
            (self.table.held(&algorithm, now), self.table.stats(&algorithm, now, Extent::All).forgiven)
        });
        assert!(admitted <= held + forgiven, "admitted {admitted}, held {held}, forgiven {forgiven}");
    }

    /// In the order of their instants, all admissions pass one cell.
    fn assert_within_law(&self, key: u64) {
        let admissions = self.admissions.lock().expect("no panic");
        let mut instants: Vec<_> = admissions
            .iter()
            .filter(|admission| admission.key == key)
            .map(|admission| admission.now)
            .collect();
        instants.sort_unstable();
        with_kernel!(self.kernel, algorithm => {
            instants.iter().fold(0, |word, &now| {
                let step = algorithm.step(word, now, 1);
                assert!(step.decision.is_allowed(), "key {key:x}: the unit at {now} of {instants:?}");
                step.charged.unwrap_or(word)
            })
        });
    }
}
