//! Hits against reclaimers.

use super::super::model::{Bound, explore};
use super::world::{A, B, C, D, World, actor, asks, unit_a_tick};
use crate::table::WhenFull;

const X: u64 = A;
const Y: u64 = B;
const Z: u64 = C;
const STRANGER: u64 = D;

/// X in the first slot and a stranger in the second, both fresh at 10: Y takes the first, and there is
/// a place for X to come back to.
fn x_and_a_stranger(capacity: u64) -> World<2> {
    let world = World::new(unit_a_tick(capacity), 1, WhenFull::Deny);
    assert!(world.ask(X, 0) && world.ask(STRANGER, 0));
    world
}

fn end(world: &World<2>, keys: &[u64]) {
    world.account(10);
    world.settle(keys, 10);
}

/// No charge of X is lost to Y. Red: hit without settle, settle ignores the mark, no mark before the
/// probe, probe by a load, Relaxed word CAS.
#[test]
fn hit_reclaim() {
    explore("hit_reclaim", Bound::Preemptions(4), || {
        let world = x_and_a_stranger(1).race(vec![asks(&[(X, 10)]), asks(&[(Y, 10)])]);
        end(&world, &[X, Y]);
    });
}

#[test]
fn hit_reclaim_twice() {
    explore("hit_reclaim_twice", Bound::Preemptions(3), || {
        let world = x_and_a_stranger(2).race(vec![asks(&[(X, 10), (X, 10)]), asks(&[(Y, 10)])]);
        end(&world, &[X, Y]);
    });
}

#[test]
fn hit_reclaim_from_two_threads() {
    explore("hit_reclaim_from_two_threads", Bound::RandomOnly, || {
        let world = x_and_a_stranger(1).race(vec![asks(&[(X, 10)]), asks(&[(X, 10)]), asks(&[(Y, 10)])]);
        end(&world, &[X, Y]);
    });
}

/// The same, the tag already marked by a reclaimer that died.
#[test]
fn marked_dead() {
    explore("marked_dead", Bound::Preemptions(4), || {
        let world = x_and_a_stranger(1);
        world.table().mark(X);
        end(&world.race(vec![asks(&[(X, 10)]), asks(&[(Y, 10)])]), &[X, Y]);
    });
}

/// X hits while two keys reclaim: mark, unmark, mark.
#[test]
fn two_reclaimers() {
    explore("two_reclaimers", Bound::RandomOnly, || {
        let world = x_and_a_stranger(1).race(vec![asks(&[(X, 10)]), asks(&[(Y, 10)]), asks(&[(Z, 10)])]);
        end(&world, &[X, Y, Z]);
    });
}

/// The same, the second reclaimer reduced to its mark. Red: unmark restores the old mark.
#[test]
fn marked_again() {
    explore("marked_again", Bound::Preemptions(2), || {
        let marker = actor(|world: &World<2>| world.table().mark(X));
        let world = x_and_a_stranger(1).race(vec![asks(&[(X, 10)]), asks(&[(Y, 10)]), marker]);
        end(&world, &[X, Y]);
    });
}

/// X's slot goes to Y, X lives and dies elsewhere and returns to that slot, while a hit of X sleeps.
/// Red: settle ignores the tenure.
#[test]
fn tenure() {
    explore("tenure", Bound::RandomOnly, || {
        let journey: &[(u64, u64)] = &[(Y, 24), (X, 24), (X, 25), (Z, 30), (STRANGER, 30), (X, 40)];
        let world = x_and_a_stranger(1).race(vec![asks(&[(X, 25)]), asks(journey)]);
        world.settle(&[X], 40);
    });
}

/// X is live in the only slot: its charges are kept, or counted as forgiven. Red: evict resets the word
/// by a store.
#[test]
fn evict() {
    explore("evict", Bound::Preemptions(2), || {
        let world = World::<1>::new(unit_a_tick(2), 1, WhenFull::Evict);
        assert!(world.ask(X, 0));
        let world = world.race(vec![asks(&[(X, 0)]), asks(&[(Y, 0)])]);
        world.account(0);
        assert!(world.table().members(X) <= 1);
    });
}

#[test]
fn evict_from_two_threads() {
    explore("evict_from_two_threads", Bound::RandomOnly, || {
        let world = World::<1>::new(unit_a_tick(2), 1, WhenFull::Evict);
        assert!(world.ask(X, 0));
        let world = world.race(vec![asks(&[(X, 0)]), asks(&[(Y, 0)]), asks(&[(Z, 0)])]);
        world.account(0);
    });
}
