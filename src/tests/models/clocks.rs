//! Callers whose clocks differ, and the floor.

use super::super::model::{Bound, explore};
use super::law::{Law, Word, each_word, fast_tat, tat};
use super::world::{A, B, D, E, FAR, FAR_AWAY, FAR_OFF, FAR_TOO, World, actor, asks};
use crate::table::WhenFull;

each_word!(same_home, Bound::Exhaustive);

/// A is spent until after 108, B takes its slot at 120, A asks at 108 and has another slot to go to. Red: floor not
/// raised, raised after the seizure, not read, Relaxed tag.
fn same_home<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<2, _>::after(law(1), 1, WhenFull::Deny, &[(A, 107), (D, 95)]);
        let world = world.race(vec![asks(&[(B, 120)]), asks(&[(A, 108)])]);
        world.settle(&[A], 108);
        world.settle(&[A], 120);
    });
}

each_word!(another_home, Bound::Preemptions(2));

/// A has its home in the first bucket, and in the second one all are in use until after 121: a key of that home takes A's
/// slot. Meanwhile another key is inserted in A's home. Red: a raise whose failure is ignored, floor left out of the
/// reservation's comparison.
fn another_home<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let before = [(A, 107), (D, 95), (FAR_TOO, 120), (FAR_OFF, 120), (E, 95), (FAR_AWAY, 120)];
        let world = World::<3, _>::after(law(1), 2, WhenFull::Deny, &before);
        let world = world.race(vec![asks(&[(FAR, 121)]), asks(&[(B, 108), (A, 108)])]);
        world.settle(&[A], 108);
        world.settle(&[A], 121);
    });
}

/// The same without the other key.
#[test]
fn another_home_alone() {
    explore("another_home_alone", Bound::Exhaustive, || {
        let world = World::<2, _>::after(
            tat(1),
            2,
            WhenFull::Deny,
            &[(A, 107), (FAR_TOO, 120), (D, 95), (FAR_OFF, 120)],
        );
        let world = world.race(vec![asks(&[(FAR, 121)]), asks(&[(A, 108)])]);
        world.settle(&[A], 108);
    });
}

/// A has two units until 12. B evicts it at 11, which forgives one, and is forgotten; at 10 A has had its two. Red: floor
/// not raised by an eviction.
#[test]
fn evicted() {
    explore("evicted", Bound::Preemptions(3), || {
        let world = World::<1, _>::after(fast_tat(2), 1, WhenFull::Evict, &[(A, 10), (A, 10)]);
        let evict = actor(|world: &World<1, _>| {
            world.ask(B, 11);
            world.forget(B);
        });
        let world = world.race(vec![evict, asks(&[(A, 10)])]);
        world.settle(&[A], 10);
    });
}

/// The same, and A is inserted once more while it asks. Red: seizure by two exchanges.
#[test]
fn seated_with_a_word() {
    explore("seated_with_a_word", Bound::Preemptions(3), || {
        let world = World::<2, _>::after(tat(1), 1, WhenFull::Deny, &[(A, 107), (D, 95)]);
        let world = world.race(vec![asks(&[(B, 120), (A, 121)]), asks(&[(A, 108)])]);
        world.settle(&[A], 108);
        world.settle(&[A], 121);
    });
}
