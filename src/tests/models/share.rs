//! The cell that newcomers share, beside insertions.

use super::super::model::{Bound, explore};
use super::law::{Law, Word, each_word, tat, two_counts_of_ten};
use super::world::{A, B, C, D, E, FAR, FAR_OFF, FAR_TOO, World, asks};
use crate::table::WhenFull;

each_word!(share, Bound::Preemptions(3));

/// At 100 both slots are in use, at 108 one is fresh: the earlier request is for the shared cell, the later one for a
/// cell of its own. Red: shared cell charged by its word alone.
fn share<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<2, _>::after(law(2), 1, WhenFull::Share, &[(C, 95), (D, 106)]);
        let world = world.race(vec![asks(&[(A, 100)]), asks(&[(A, 108)])]);
        world.settle(&[A], 108);
    });
}

/// The same where the cell is in use at 108 and fresh at 112. Red: shared charge without the void.
#[test]
fn share_in_use() {
    explore("share_in_use", Bound::Preemptions(3), || {
        let world = World::<2, _>::after(tat(2), 1, WhenFull::Share, &[(C, 95), (D, 106), (B, 100)]);
        let world = world.race(vec![asks(&[(A, 108)]), asks(&[(A, 112)])]);
        world.settle(&[A], 112);
    });
}

#[test]
fn share_of_three() {
    explore("share_of_three", Bound::Preemptions(1), || {
        let world = World::<2, _>::after(tat(2), 1, WhenFull::Share, &[(C, 95), (D, 106)]);
        let world = world.race(vec![asks(&[(A, 100)]), asks(&[(A, 108)]), asks(&[(B, 109)])]);
        world.settle(&[A, B], 109);
    });
}

#[test]
fn share_again_and_again() {
    explore("share_again_and_again", Bound::RandomOnly, || {
        let first: &[(u64, u64)] = &[(A, 98), (A, 110), (A, 112)];
        let second: &[(u64, u64)] = &[(A, 99), (B, 110), (A, 118)];
        let world = World::<1, _>::after(tat(1), 1, WhenFull::Share, &[(C, 97)]);
        let world = world.race(vec![asks(first), asks(second)]);
        world.settle(&[A, B], 119);
    });
}

/// A gets a cell with room for two, and others spend the shared one. Red: shared cell denied without a look at the
/// version.
#[test]
fn share_denies_no_member() {
    explore("share_denies_no_member", Bound::Preemptions(2), || {
        let world = World::<2, _>::after(tat(2), 1, WhenFull::Share, &[(C, 95), (D, 106)]);
        let world = world.race(vec![asks(&[(A, 108)]), asks(&[(A, 108), (B, 108), (B, 108)])]);
        assert_eq!(world.admitted(A), 2);
        world.settle(&[A, B], 108);
    });
}

/// The same where another home raises the word. Red: shared cell denied without a look at the named slot.
#[test]
fn share_raised_denies_no_member() {
    explore("share_raised_denies_no_member", Bound::Preemptions(2), || {
        let before = [(E, 109), (FAR_TOO, 120), (D, 95), (FAR_OFF, 120)];
        let world = World::<2, _>::after(tat(2), 2, WhenFull::Share, &before);
        let world = world.race(vec![asks(&[(A, 108)]), asks(&[(A, 108), (FAR, 121)])]);
        assert_eq!(world.admitted(A), 2);
        world.settle(&[A], 121);
    });
}

/// A has spent its unit on the shared cell, until 30. A newcomer of the other home takes the slot of C, which raises
/// the floor to 20: of the two the greater number, but sooner fresh. Red: shared word raised by its number.
#[test]
fn raised_below_a_shared_window() {
    explore("raised_below_a_shared_window", Bound::Exhaustive, || {
        let before = [(C, 0), (FAR, 15), (A, 19)];
        let world = World::<1, _>::after(two_counts_of_ten(1), 2, WhenFull::Share, &before);
        let world = world.race(vec![asks(&[(FAR_TOO, 20)]), asks(&[(A, 20)])]);
        world.settle(&[A], 20);
    });
}

/// A has spent its two units, C one on the shared cell, all until 70. Then A's slot is taken: on the shared cell A would
/// have more than in its own, had the word not been raised. Red: shared word raised only if it is fresh sooner,
/// only if it is live.
#[test]
fn raised_to_where_it_is_fresh() {
    explore("raised_to_where_it_is_fresh", Bound::Exhaustive, || {
        let before = [(A, 59), (A, 59), (FAR_TOO, 69), (C, 59)];
        let world = World::<1, _>::after(two_counts_of_ten(2), 2, WhenFull::Share, &before);
        let world = world.race(vec![asks(&[(FAR, 70)]), asks(&[(A, 65)])]);
        for now in [65, 75, 79] {
            world.settle(&[A], now);
        }
    });
}
