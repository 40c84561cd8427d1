//! Fields that come back to what they were while a caller sleeps: the bounds of *Known limits* in `docs/DESIGN.md`, which
//! its mutations reach with fields of one bit.

use super::super::model::{Bound, explore, until_dead};
use super::law::tat;
use super::world::{A, B, C, D, E, World, actor, asks};
use crate::table::WhenFull;

/// A reserves C's slot. Twice that is voided, and A inserted elsewhere. Red: void of one bit.
#[test]
fn void() {
    explore("wraps::void", Bound::Preemptions(1), || {
        let world = World::<2, _>::after(tat(2), 1, WhenFull::Deny, &[(C, 95), (D, 80)]);
        let others = actor(|world: &World<2, _>| {
            until_dead(2, || world.ask(B, 108));
            world.ask(A, 100);
        });
        let world = world.race(vec![asks(&[(A, 108)]), others]);
        world.settle(&[A], 108);
    });
}

/// A reserves C's slot. B takes it, and C takes it back with the same word; A is inserted elsewhere. Red: tenure of one bit.
#[test]
fn tenure() {
    explore("wraps::tenure", Bound::Preemptions(1), || {
        let world = World::<2, _>::after(tat(2), 1, WhenFull::Evict, &[(C, 100), (D, 100)]);
        let others = actor(|world: &World<2, _>| {
            world.ask(B, 100);
            world.ask(C, 100);
            world.forget(D);
            world.ask(A, 100);
        });
        let world = world.race(vec![asks(&[(A, 100)]), others]);
        world.assert_one_member(A);
    });
}

/// A chooses D's slot, for E holds two units, and sleeps. E is forgotten, A inserted in its slot, and that reserved once
/// more: the second reservation since, of the same slot as the last before, under the same floor. Red: seq of one bit,
/// where a tenure has one too.
#[test]
fn seq() {
    explore("wraps::seq", Bound::Preemptions(1), || {
        let before = [(C, 100), (D, 100), (E, 100), (E, 100)];
        let world = World::<2, _>::after(tat(2), 1, WhenFull::Evict, &before);
        let others = actor(|world: &World<2, _>| {
            world.forget(E);
            world.ask(E, 100);
            world.forget(E);
            world.ask(A, 100);
            until_dead(1, || world.ask(B, 100));
        });
        let world = world.race(vec![asks(&[(A, 100)]), others]);
        world.assert_one_member(A);
    });
}
