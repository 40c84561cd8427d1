//! Callers that stop for ever at any step.

use super::super::model::{Bound, explore, until_dead};
use super::world::{A, B, C, D, World, actor, asks, unit_a_tick, unit_in_ten_ticks};
use crate::table::WhenFull;

/// More atomic accesses than any first insertion makes in these tables.
const STEPS: usize = 40;

/// The first insertion of A stops after any number of steps. The others end, within the law, and the
/// table serves everybody once it is fresh.
fn dies_at(steps: usize, others: &'static [(u64, u64)]) {
    let world = World::<2>::new(unit_a_tick(1), 1, WhenFull::Deny);
    assert!(world.ask(C, 0));
    let doomed = actor(move |world: &World<2>| {
        until_dead(steps, || world.ask(A, 10));
    });
    let world = world.race(vec![doomed, asks(others)]);
    world.settle(&[A, B], 10);
    assert!(world.ask(A, 100) && world.ask(B, 100) && !world.ask(A, 100));
    world.settle(&[A, B], 100);
}

#[test]
fn dead_at_k() {
    for steps in 0..STEPS {
        explore(&format!("dead_at_{steps}"), Bound::Preemptions(2), move || dies_at(steps, &[(A, 10)]));
    }
}

#[test]
fn dead_at_k_beside_another_key() {
    for steps in 0..STEPS {
        explore(&format!("dead_at_{steps}_beside_another_key"), Bound::Preemptions(1), move || {
            dies_at(steps, &[(B, 10), (A, 10)]);
        });
    }
}

/// The same with callers whose clocks differ.
#[test]
fn dead_at_k_with_two_clocks() {
    for steps in 0..STEPS {
        explore(&format!("dead_at_{steps}_with_two_clocks"), Bound::Preemptions(2), move || {
            let world = World::<2>::new(unit_in_ten_ticks(), 1, WhenFull::Deny);
            let doomed = actor(move |world: &World<2>| {
                until_dead(steps, || world.ask(A, 8));
            });
            let world = world.race(vec![doomed, asks(&[(A, 0), (B, 20), (A, 9)])]);
            world.settle(&[A], 9);
        });
    }
}

/// A at 108 charges a candidate in the first slot; meanwhile A at 100, for which only the second is
/// fresh, is committed there, and its word erased at 120. The candidate was charged under a floor that
/// is no longer true. Red: candidate kept under an older floor.
#[test]
fn candidate_under_an_older_floor() {
    explore("candidate_under_an_older_floor", Bound::Preemptions(2), || {
        let world = World::<2>::new(unit_in_ten_ticks(), 1, WhenFull::Deny);
        assert!(world.ask(C, 95) && world.ask(D, 80));
        let world = world.race(vec![asks(&[(A, 108)]), asks(&[(A, 100), (B, 120)])]);
        world.settle(&[A], 108);
    });
}

/// A is spent until 110, B takes its slot at 120, A asks at 108 and has another slot to go to. Red:
/// floor not raised, raised after the retag, not read.
#[test]
fn clocks() {
    explore("clocks", Bound::Preemptions(4), || {
        let world = World::<2>::new(unit_in_ten_ticks(), 1, WhenFull::Deny);
        assert!(world.ask(A, 100) && world.ask(D, 95));
        let world = world.race(vec![asks(&[(B, 120)]), asks(&[(A, 108)])]);
        world.settle(&[A], 108);
    });
}
