//! A table without room.

use super::super::model::{Bound, explore};
use super::world::{A, B, C, FAR, FAR_TOO, World, asks, unit_in_a_window_of_ten, unit_in_ten_ticks};
use crate::table::WhenFull;

fn full_until_ten() -> World<1> {
    let world = World::new(unit_in_ten_ticks(), 1, WhenFull::Share);
    assert!(world.ask(C, 0));
    world
}

/// A charge on the shared cell against an insertion of the same key when the slot becomes fresh. Red:
/// overflow charge without commit, insertion ignores overflow.
#[test]
fn overflow() {
    explore("overflow", Bound::Preemptions(3), || {
        let world = full_until_ten().race(vec![asks(&[(A, 8)]), asks(&[(A, 10)])]);
        world.settle(&[A], 10);
    });
}

#[test]
fn overflow_of_two_keys() {
    explore("overflow_of_two_keys", Bound::Preemptions(0), || {
        let world = full_until_ten().race(vec![asks(&[(A, 8)]), asks(&[(A, 10)]), asks(&[(B, 9)])]);
        world.settle(&[A, B], 10);
    });
}

#[test]
fn overflow_again_and_again() {
    explore("overflow_again_and_again", Bound::RandomOnly, || {
        let first: &[(u64, u64)] = &[(A, 8), (A, 10), (A, 12)];
        let second: &[(u64, u64)] = &[(A, 9), (B, 10), (A, 18)];
        let world = full_until_ten().race(vec![asks(first), asks(second)]);
        world.settle(&[A, B], 19);
    });
}

/// A has spent its unit on the shared cell, until 30. A newcomer of the other home takes the slot of C, which raises
/// the floor to 20: of the two the greater number, but sooner fresh. Red: floor compared by number.
#[test]
fn floor_below_a_shared_window() {
    explore("floor_below_a_shared_window", Bound::Preemptions(3), || {
        let world = World::<1>::new(unit_in_a_window_of_ten(), 2, WhenFull::Share);
        assert!(world.ask(C, 0) && world.ask(FAR, 15) && world.ask(A, 19));
        let world = world.race(vec![asks(&[(FAR_TOO, 20)]), asks(&[(A, 20)])]);
        world.settle(&[A], 20);
    });
}
