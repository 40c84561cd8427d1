//! What makes a word less: a forget, and a charge taken back.

use super::super::model::{Bound, explore};
use super::law::{Law, Word, each_word, tat};
use super::world::{A, B, C, World, actor, asks};
use crate::table::WhenFull;

const X: u64 = A;
const Y: u64 = B;

each_word!(forget_beside_a_hit, Bound::Exhaustive);

/// A hit is forgotten, or comes after the forget.
fn forget_beside_a_hit<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<1, _>::after(law(2), 1, WhenFull::Deny, &[(X, 100)]);
        let forget = actor(|world: &World<1, W>| assert!(world.table().forget(X)));
        let world = world.race(vec![asks(&[(X, 100), (X, 100)]), forget]);
        assert!((2..=3).contains(&world.admitted(X)), "{} asked for three", world.admitted(X));
        world.assert_one_member(X);
        while world.ask(X, 100) {}
        assert!((2..=4).contains(&world.admitted(X)), "{} of two lives", world.admitted(X));
    });
}

/// Y takes the slot that X is forgotten in, or finds no place.
#[test]
fn forget_beside_an_insertion() {
    explore("forget_beside_an_insertion", Bound::Exhaustive, || {
        let world = World::<1, _>::after(tat(1), 1, WhenFull::Deny, &[(X, 100)]);
        let forget = actor(|world: &World<1, _>| world.forget(X));
        let world = world.race(vec![asks(&[(Y, 100)]), forget]);
        world.account(&[X, Y], 100);
        world.settle(&[Y], 100);
    });
}

/// A reservation of the slot that was made before the forget, and other insertions after it.
#[test]
fn forget_beside_two_insertions() {
    explore("forget_beside_two_insertions", Bound::Preemptions(2), || {
        let world = World::<2, _>::after(tat(1), 1, WhenFull::Deny, &[(C, 95), (X, 95)]);
        let forget = actor(|world: &World<2, _>| {
            world.forget(X);
            world.ask(Y, 100);
        });
        let world = world.race(vec![asks(&[(Y, 108)]), forget]);
        world.settle(&[Y], 108);
    });
}

each_word!(refund_beside_forgets, Bound::Preemptions(1));

/// A charge is taken back of the life that it was made in, and of no other. Red: forget keeps the tenure.
fn refund_beside_forgets<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<1, _>::after(law(1), 1, WhenFull::Deny, &[(X, 80)]);
        let lives = actor(|world: &World<1, W>| {
            for _ in 0..2 {
                world.forget(X);
                world.ask(X, 100);
            }
        });
        let world = world.race(vec![actor(|world: &World<1, W>| world.ask_and_refund(X, 100)), lives]);
        world.account(&[X], 100);
    });
}

each_word!(refund_beside_another, Bound::Preemptions(3));

/// Nor of another key, that is in the slot by now with the same word. Red: refund by 8 bytes, by a store.
fn refund_beside_another<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<1, _>::after(law(1), 1, WhenFull::Deny, &[(X, 80)]);
        let another = actor(|world: &World<1, W>| {
            world.forget(X);
            world.ask(Y, 100);
        });
        let world = world.race(vec![actor(|world: &World<1, W>| world.ask_and_refund(X, 100)), another]);
        world.account(&[X, Y], 100);
    });
}

#[test]
fn refund_of_an_insertion() {
    explore("refund_of_an_insertion", Bound::RandomOnly, || {
        let world = World::<1, _>::new(tat(2), 1, WhenFull::Deny);
        let refund = || actor(|world: &World<1, _>| world.ask_and_refund(X, 100));
        let world = world.race(vec![refund(), refund(), asks(&[(X, 100)])]);
        world.account(&[X], 100);
        world.settle(&[X], 100);
    });
}

each_word!(refund_hides_the_floor, Bound::Preemptions(2));

/// X has lost its word to Y, and a charge of X that is taken back leaves a cell: it is as old as the floor says. Red: refund
/// to 0.
fn refund_hides_the_floor<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<1, _>::after(law(1), 1, WhenFull::Deny, &[(X, 80), (Y, 108)]);
        let refund = actor(|world: &World<1, W>| world.ask_and_refund(X, 150));
        let world = world.race(vec![refund, asks(&[(X, 81)])]);
        world.settle(&[X], 81);
    });
}

/// X was charged on the shared cell before it got its own. Red: refund below the shared cell.
#[test]
fn refund_hides_the_shared_cell() {
    explore("refund_hides_the_shared_cell", Bound::Preemptions(3), || {
        let world = World::<1, _>::after(tat(1), 1, WhenFull::Share, &[(C, 80), (X, 81)]);
        let refund = actor(|world: &World<1, _>| world.ask_and_refund(X, 150));
        let world = world.race(vec![refund, asks(&[(X, 82)])]);
        world.settle(&[X], 82);
    });
}

/// X has lost its word to Y, at whose instant it was fresh. A charge of X that is taken back leaves it as old as the floor
/// says. Red: refund to 0.
#[test]
fn refund_of_a_newcomer_below_the_floor() {
    explore("refund_of_a_newcomer_below_the_floor", Bound::Preemptions(3), || {
        let world = World::<2, _>::after(tat(2), 1, WhenFull::Deny, &[(X, 85), (X, 85), (C, 80)]);
        let refund = actor(|world: &World<2, _>| world.ask_and_refund(X, 100));
        let world = world.race(vec![asks(&[(Y, 106)]), refund]);
        world.settle(&[X], 100);
    });
}
