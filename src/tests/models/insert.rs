//! Insertions against insertions.

use super::super::model::{Bound, explore};
use super::world::{A, B, C, D, FAR, World, asks, unit_a_tick, unit_in_ten_ticks};
use crate::table::WhenFull;

/// Exactly one of two or three first requests of a key passes.
fn same_key<const SLOTS: usize>(buckets: usize, threads: usize) {
    let world = World::<SLOTS>::new(unit_a_tick(1), buckets, WhenFull::Evict);
    let world = world.race((0..threads).map(|_| asks(&[(A, 0)])).collect());
    assert_eq!(world.admitted(A), 1);
    world.settle(&[A], 0);
    world.account(0);
}

#[test]
fn same_key_empty_slots() {
    explore("same_key_empty_slots", Bound::Exhaustive, || same_key::<2>(1, 2));
}

#[test]
fn same_key_home_and_alternate() {
    explore("same_key_home_and_alternate", Bound::Exhaustive, || same_key::<1>(2, 2));
}

#[test]
fn same_key_three_threads() {
    explore("same_key_three_threads", Bound::Preemptions(1), || same_key::<2>(1, 3));
}

/// The same from two slots: C is fresh only for the later request, which takes C's slot; the earlier
/// one takes D's. Red: no finish before the scan, commit without rescan, member without a commit,
/// Relaxed version.
#[test]
fn same_key_in_two_slots() {
    explore("same_key_in_two_slots", Bound::Preemptions(2), || {
        let world = World::<2>::new(unit_in_ten_ticks(), 1, WhenFull::Deny);
        assert!(world.ask(C, 95) && world.ask(D, 80));
        let world = world.race(vec![asks(&[(A, 108)]), asks(&[(A, 100)])]);
        assert_eq!(world.admitted(A), 1);
        world.settle(&[A], 108);
    });
}

/// The same where the only slot holds a stranger that is fresh. Red: retag zeroes the word.
#[test]
fn same_key_reclaim() {
    explore("same_key_reclaim", Bound::Preemptions(2), || {
        let world = World::<1>::new(unit_a_tick(1), 1, WhenFull::Deny);
        assert!(world.ask(B, 0));
        let world = world.race(vec![asks(&[(A, 10)]), asks(&[(A, 10)])]);
        assert_eq!(world.admitted(A), 1);
        world.settle(&[A], 10);
        world.account(10);
    });
}

/// Two keys want the one slot: what either is admitted for is held, or forgiven.
#[test]
fn compete() {
    explore("compete", Bound::Preemptions(3), || {
        let world = World::<1>::new(unit_a_tick(1), 1, WhenFull::Evict);
        let world = world.race(vec![asks(&[(A, 0)]), asks(&[(B, 0)])]);
        world.account(0);
        assert!(world.table().members(A) + world.table().members(B) <= 1);
    });
}

/// The same from two homes, of which a live key holds the other slot.
#[test]
fn compete_from_two_homes() {
    explore("compete_from_two_homes", Bound::Preemptions(3), || {
        let world = World::<1>::new(unit_a_tick(1), 2, WhenFull::Deny);
        assert!(world.ask(C, 0));
        let world = world.race(vec![asks(&[(A, 0)]), asks(&[(FAR, 0)])]);
        assert!(world.admitted(A) + world.admitted(FAR) <= 1);
        world.account(0);
    });
}

/// B takes the pending slot of A while A charges it, and there is another slot for A to go to at 109.
/// Red: the charge of a pending slot is not settled before the commit.
#[test]
fn newborn_taken() {
    explore("newborn_taken", Bound::Preemptions(2), || {
        let world = World::<2>::new(unit_in_ten_ticks(), 1, WhenFull::Deny);
        assert!(world.ask(C, 95) && world.ask(D, 99));
        let world = world.race(vec![asks(&[(A, 108)]), asks(&[(B, 108)])]);
        world.settle(&[A], 109);
    });
}

/// Two threads with one key, one with another of the home. Red: finish ignores the tenure.
#[test]
fn adopt() {
    explore("adopt", Bound::RandomOnly, || {
        let world = World::<2>::new(unit_a_tick(1), 1, WhenFull::Deny);
        assert!(world.ask(C, 0) && world.ask(D, 0));
        let world = world.race(vec![asks(&[(A, 10)]), asks(&[(A, 10)]), asks(&[(B, 10)])]);
        world.account(10);
        world.settle(&[A, B], 10);
    });
}

/// The same with an evictor beside them: five threads, more than loom runs.
#[test]
fn evict_beside_adopters() {
    explore("evict_beside_adopters", Bound::RandomOnly, || {
        let world = World::<2>::new(unit_a_tick(1), 1, WhenFull::Evict);
        assert!(world.ask(C, 0));
        let pair: &[(u64, u64)] = &[(A, 10), (A, 10)];
        let world = world.race(vec![asks(&[(A, 10)]), asks(pair), asks(&[(B, 10)]), asks(&[(C, 10)])]);
        world.account(10);
    });
}
