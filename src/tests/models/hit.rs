//! Hits against those who take the slot.

use super::super::model::{Bound, explore};
use super::law::{Law, Word, each_word, fast_tat, tat};
use super::world::{A, B, C, D, World, asks};
use crate::table::WhenFull;

const X: u64 = A;
const Y: u64 = B;
const Z: u64 = C;
const STRANGER: u64 = D;

each_word!(hit_reclaim, Bound::Exhaustive);

/// X in the first slot and a stranger in the second, both fresh: Y takes one, X has the other, and both are allowed. Red:
/// seizure by two exchanges, denied without a look at the tag.
fn hit_reclaim<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<2, _>::after(law(1), 1, WhenFull::Deny, &[(X, 80), (STRANGER, 80)]);
        let world = world.race(vec![asks(&[(X, 100)]), asks(&[(Y, 100)])]);
        assert_eq!((world.admitted(X), world.admitted(Y)), (2, 1));
        world.account(&[X, Y], 100);
        world.settle(&[X, Y], 100);
    });
}

#[test]
fn hit_reclaim_twice() {
    explore("hit_reclaim_twice", Bound::Preemptions(4), || {
        let world = World::<2, _>::after(tat(2), 1, WhenFull::Deny, &[(X, 80), (STRANGER, 80)]);
        let world = world.race(vec![asks(&[(X, 100), (X, 100)]), asks(&[(Y, 100)])]);
        assert_eq!((world.admitted(X), world.admitted(Y)), (3, 1));
        world.account(&[X, Y], 100);
        world.settle(&[X, Y], 100);
    });
}

#[test]
fn hit_reclaim_from_three_threads() {
    explore("hit_reclaim_from_three_threads", Bound::Preemptions(1), || {
        let world = World::<2, _>::after(tat(1), 1, WhenFull::Deny, &[(X, 80), (STRANGER, 80)]);
        let world = world.race(vec![asks(&[(X, 100)]), asks(&[(X, 100)]), asks(&[(Y, 100)])]);
        world.account(&[X, Y], 100);
        world.settle(&[X, Y], 100);
    });
}

#[test]
fn hit_beside_two_reclaimers() {
    explore("hit_beside_two_reclaimers", Bound::RandomOnly, || {
        let world = World::<2, _>::after(tat(1), 1, WhenFull::Deny, &[(X, 80), (STRANGER, 80)]);
        let world = world.race(vec![asks(&[(X, 100)]), asks(&[(Y, 100)]), asks(&[(Z, 100)])]);
        world.account(&[X, Y, Z], 100);
        world.settle(&[X, Y, Z], 100);
    });
}

/// X's slot goes to Y, X lives and dies elsewhere and returns to that slot, while a hit of X sleeps.
#[test]
fn tenures() {
    explore("tenures", Bound::RandomOnly, || {
        let journey: &[(u64, u64)] = &[(Y, 24), (X, 24), (X, 25), (Z, 30), (STRANGER, 30), (X, 40)];
        let world = World::<2, _>::after(fast_tat(1), 1, WhenFull::Deny, &[(X, 0), (STRANGER, 0)]);
        let world = world.race(vec![asks(&[(X, 25)]), asks(journey)]);
        world.settle(&[X], 40);
    });
}

each_word!(hit_evict, Bound::Exhaustive);

/// X is live in the only slot, and Y's word comes to be X's. Red: no second look, cell charged by a store.
fn hit_evict<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<1, _>::after(law(2), 1, WhenFull::Evict, &[(X, 100)]);
        let world = world.race(vec![asks(&[(X, 100)]), asks(&[(Y, 100)])]);
        world.account(&[X, Y], 100);
        world.settle(&[X, Y], 100);
    });
}

#[test]
fn hit_evict_from_three_threads() {
    explore("hit_evict_from_three_threads", Bound::Preemptions(0), || {
        let world = World::<1, _>::after(tat(2), 1, WhenFull::Evict, &[(X, 100)]);
        let world = world.race(vec![asks(&[(X, 100)]), asks(&[(Y, 100)]), asks(&[(Z, 100)])]);
        world.account(&[X, Y, Z], 100);
        world.settle(&[X, Y, Z], 100);
    });
}
