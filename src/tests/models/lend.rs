//! Leases in the table: grants and denials of an agent, beside uses and beside each other.
//!
//! Their law: no key uses more units than it was granted, whoever has its slot meanwhile.

use std::sync::{Arc, Mutex};

use super::super::kernels::kernel;
use super::super::model::checker::thread;
use super::super::model::{Bound, explore, until_dead};
use super::world::{A, B, C};
use crate::table::{Table, WhenFull};
use ratecell_core::Request;
use ratecell_core::algorithm::{Answered, Kernel, Lease, Lend};

/// The most units of a grant.
const CAPACITY: u64 = 8;
const NOW: u64 = 1;
/// Of nearly all leases: so words of two keys are often equal.
const DEADLINE: u64 = 64 << 14;
/// More changes than any grant tries that nobody is in the way of.
const STEPS: usize = 6;

/// A table of leases, and what was granted and used in it.
struct Lending<const SLOTS: usize> {
    table: Table<SLOTS>,
    lease: Lease,
    /// The key and the units of each grant, from before it is written.
    granted: Mutex<Vec<(u64, u64)>>,
    /// The key of each unit that was used.
    used: Mutex<Vec<u64>>,
}

type Actor<const SLOTS: usize> = Box<dyn FnOnce(&Lending<SLOTS>) + Send>;

impl<const SLOTS: usize> Lending<SLOTS> {
    fn after(grants: &[(u64, u64)]) -> Self {
        let lease = match kernel(&format!("fixed_window {CAPACITY}/1s")) {
            Kernel::FixedWindow(window) => window.lease().expect("a lease of a window"),
            other => panic!("{other:?}"),
        };
        let table = Table::alone(1, WhenFull::Evict);
        let lending = Self { table, lease, granted: Mutex::default(), used: Mutex::default() };
        for (key, units) in grants {
            assert!(lending.grant(*key, *units));
        }
        lending
    }

    fn grant(&self, key: u64, units: u64) -> bool {
        self.grant_until(key, units, DEADLINE, NOW)
    }

    fn grant_until(&self, key: u64, units: u64, deadline: u64, now: u64) -> bool {
        self.granted.lock().expect("no panic").push((key, units));
        self.table.lend(&Answered::new(self.lease, Lease::granted(deadline, units)), key, now)
    }

    fn deny(&self, key: u64) -> bool {
        self.table.lend(&Answered::new(self.lease, Lease::denied(DEADLINE)), key, NOW)
    }

    /// Asks for one unit, as a limiter does.
    fn ask(&self, key: u64) -> bool {
        let tried = self.table.try_hit(&self.lease, key, NOW, 1);
        let decision =
            tried.unwrap_or_else(|lookup| self.table.decide_cost(&self.lease, key, NOW, 1, lookup));
        if decision.is_allowed() {
            self.used.lock().expect("no panic").push(key);
        }
        decision.is_allowed()
    }

    /// Asks for one unit and gives it back, as a layer does of which a later one has refused.
    fn ask_and_refund(&self, key: u64) {
        self.table.charge(&self.lease, key, NOW, &Request::default()).refund();
    }

    fn used(&self, key: u64) -> u64 {
        self.used.lock().expect("no panic").iter().filter(|used| **used == key).count() as u64
    }

    fn granted(&self, key: u64) -> u64 {
        let granted = self.granted.lock().expect("no panic");
        granted.iter().filter(|grant| grant.0 == key).map(|grant| grant.1).sum()
    }

    /// Units that the key can use by now.
    fn left(&self, key: u64) -> u64 {
        self.lease.units(self.table.word_of(key), NOW)
    }

    /// Runs the actors at once, each in a thread of its own, and waits for all.
    fn race(self, actors: Vec<Actor<SLOTS>>) -> Self {
        let lending = Arc::new(self);
        let spawn = |act: Actor<SLOTS>| {
            let lending = Arc::clone(&lending);
            thread::spawn(move || act(&lending))
        };
        let threads: Vec<_> = actors.into_iter().map(spawn).collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
        Arc::into_inner(lending).expect("all threads have ended")
    }

    /// What must hold whatever happened, also after all that is left was used.
    fn settle(&self) {
        for key in [A, B, C] {
            while self.ask(key) {
                let (used, granted) = (self.used(key), self.granted(key));
                assert!(used <= granted, "key {key:x} used {used} units of {granted}");
            }
            let (used, granted) = (self.used(key), self.granted(key));
            assert!(used <= granted, "key {key:x} used {used} units of {granted}");
            let members = self.table.members(key);
            assert!(members <= 1, "key {key:x} has {members} members");
        }
    }
}

fn actor<const SLOTS: usize>(work: impl FnOnce(&Lending<SLOTS>) + Send + 'static) -> Actor<SLOTS> {
    Box::new(work)
}

fn grants<const SLOTS: usize>(key: u64, units: u64) -> Actor<SLOTS> {
    actor(move |lending: &Lending<SLOTS>| assert!(lending.grant(key, units)))
}

fn asks<const SLOTS: usize>(key: u64) -> Actor<SLOTS> {
    actor(move |lending: &Lending<SLOTS>| {
        lending.ask(key);
    })
}

/// Two agents grant to one key while it is used.
#[test]
fn two_grants_and_a_use() {
    explore("lend::two_grants_and_a_use", Bound::Preemptions(2), || {
        let lending = Lending::<1>::after(&[(A, 1)]);
        let lending = lending.race(vec![grants(A, 2), grants(A, 1), asks(A)]);
        lending.settle();
    });
}

/// Of two first grants both are written to one slot.
#[test]
fn two_first_grants() {
    explore("lend::two_first_grants", Bound::Preemptions(3), || {
        let lending = Lending::<2>::after(&[]);
        let lending = lending.race(vec![grants(A, 1), grants(A, 2)]);
        assert_eq!(lending.table.members(A), 1);
        assert!((1..=2).contains(&lending.left(A)));
        lending.settle();
    });
}

/// A's unit is used, and its slot is B's with the same word, while a use of A sleeps. Red: use without a second look.
#[test]
fn a_slow_use() {
    explore("lend::a_slow_use", Bound::Exhaustive, || {
        let lending = Lending::<1>::after(&[(A, 1)]);
        let others = actor(|lending: &Lending<1>| {
            lending.ask(A);
            assert!(lending.grant(B, 1));
        });
        lending.race(vec![asks(A), others]).settle();
    });
}

/// A's lease has passed by the clock of B's agent, which takes the slot, but not by the clock of a use.
#[test]
fn a_use_whose_clock_is_behind() {
    explore("lend::a_use_whose_clock_is_behind", Bound::Exhaustive, || {
        let lending = Lending::<1>::after(&[(A, 1)]);
        let later = actor(|lending: &Lending<1>| {
            lending.ask(A);
            assert!(lending.grant_until(B, 1, 2 * DEADLINE, DEADLINE));
        });
        lending.race(vec![asks(A), later]).settle();
    });
}

/// The one slot goes to B, with the word that A's had, beside a grant to A. Red: grant of the word alone.
#[test]
fn a_grant_beside_a_strangers() {
    explore("lend::a_grant_beside_a_strangers", Bound::Exhaustive, || {
        let lending = Lending::<1>::after(&[(A, 1)]);
        lending.race(vec![grants(A, 3), grants(B, 1)]).settle();
    });
}

#[test]
fn first_grants_of_two_keys() {
    explore("lend::first_grants_of_two_keys", Bound::Preemptions(3), || {
        let lending = Lending::<1>::after(&[(C, 1)]);
        lending.race(vec![grants(A, 2), grants(B, 1)]).settle();
    });
}

/// A granter stops for ever after any of its changes: the others' grants are written and used.
fn dies(name: &str, grants_before: &'static [(u64, u64)]) {
    for steps in 0..STEPS {
        explore(&format!("lend::{name}::{steps}"), Bound::Preemptions(1), move || {
            let lending = Lending::<1>::after(grants_before);
            let doomed = actor(move |lending: &Lending<1>| {
                until_dead(steps, || lending.grant(A, 2));
            });
            let lending = lending.race(vec![doomed, grants(B, 1)]);
            lending.settle();
            for key in [A, B] {
                assert!(lending.grant(key, 1) && lending.ask(key), "key {key:x} has no unit after a death");
            }
            lending.settle();
        });
    }
}

#[test]
fn a_granter_dies() {
    dies("a_granter_dies", &[(A, 1)]);
}

#[test]
fn a_granter_of_a_new_key_dies() {
    dies("a_granter_of_a_new_key_dies", &[(C, 1)]);
}

/// A unit is given back to the lease that it is of, and not to the next one, which has the same word by then: what was left
/// of the former lease has passed. Red: grant without a void.
#[test]
fn a_refund_beside_a_grant() {
    explore("lend::a_refund_beside_a_grant", Bound::Exhaustive, || {
        let lending = Lending::<1>::after(&[(A, 3)]);
        let refund = actor(|lending: &Lending<1>| lending.ask_and_refund(A));
        let lending = lending.race(vec![refund, grants(A, 2)]);
        assert!(lending.left(A) <= 2, "{} units of the last grant, of 2", lending.left(A));
        lending.settle();
    });
}

/// Nor to a stranger.
#[test]
fn a_refund_beside_a_strangers_grant() {
    explore("lend::a_refund_beside_a_strangers_grant", Bound::Exhaustive, || {
        let lending = Lending::<1>::after(&[(A, 3)]);
        let refund = actor(|lending: &Lending<1>| lending.ask_and_refund(A));
        lending.race(vec![refund, grants(B, 2)]).settle();
    });
}

/// After a denial nothing is left, whatever was used before.
#[test]
fn a_denial_beside_a_use() {
    explore("lend::a_denial_beside_a_use", Bound::Exhaustive, || {
        let lending = Lending::<1>::after(&[(A, 2)]);
        let denial = actor(|lending: &Lending<1>| assert!(lending.deny(A)));
        let lending = lending.race(vec![asks(A), denial]);
        assert_eq!(lending.left(A), 0);
        assert!(!lending.ask(A));
        lending.settle();
    });
}
