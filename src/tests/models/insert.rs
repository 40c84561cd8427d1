//! Insertions against insertions.

use super::super::model::{Bound, explore};
use super::law::{Law, Word, each_word, fast_tat, tat};
use super::world::{A, B, C, D, E, FAR, World, asks};
use crate::table::WhenFull;

/// Exactly one of two or three first requests of a key passes.
fn same_key<const SLOTS: usize>(buckets: usize, threads: usize) {
    let world = World::<SLOTS, _>::new(fast_tat(1), buckets, WhenFull::Evict);
    let world = world.race((0..threads).map(|_| asks(&[(A, 0)])).collect());
    assert_eq!(world.admitted(A), 1);
    world.account(&[A], 0);
    world.settle(&[A], 0);
}

#[test]
fn same_key_one_slot() {
    explore("same_key_one_slot", Bound::Preemptions(3), || same_key::<1>(1, 2));
}

#[test]
fn same_key_empty_slots() {
    explore("same_key_empty_slots", Bound::Preemptions(3), || same_key::<2>(1, 2));
}

each_word!(last_place, Bound::Preemptions(3));

/// One of two requests of a key gets the last place: the other then finds the key there. Red: full without a look at the
/// version.
fn last_place<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<1, _>::new(law(2), 1, WhenFull::Deny);
        let world = world.race(vec![asks(&[(A, 100)]), asks(&[(A, 100)])]);
        assert_eq!(world.admitted(A), 2);
        world.settle(&[A], 100);
    });
}

#[test]
fn same_key_home_and_alternate() {
    explore("same_key_home_and_alternate", Bound::Preemptions(3), || same_key::<1>(2, 2));
}

#[test]
fn same_key_three_threads() {
    explore("same_key_three_threads", Bound::Preemptions(1), || same_key::<1>(1, 3));
}

each_word!(same_key_two_slots, Bound::Preemptions(2));

/// C is fresh only for the later request, which takes C's slot; the earlier one takes D's. Red: no void, void's outcome
/// ignored, named slot not looked at, no reservation.
fn same_key_two_slots<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<2, _>::after(law(1), 1, WhenFull::Deny, &[(C, 95), (D, 80)]);
        let world = world.race(vec![asks(&[(A, 108)]), asks(&[(A, 100)])]);
        world.settle(&[A], 108);
    });
}

#[test]
fn same_key_two_slots_three_threads() {
    explore("same_key_two_slots_three_threads", Bound::Preemptions(0), || {
        let world = World::<2, _>::after(tat(1), 1, WhenFull::Deny, &[(C, 95), (D, 80)]);
        let world = world.race(vec![asks(&[(A, 108)]), asks(&[(A, 100)]), asks(&[(B, 108)])]);
        world.settle(&[A, B], 108);
    });
}

/// The same, and after A another key of the home is inserted, so that the version names a slot that is not A's. Red:
/// version loaded after the search, Relaxed version.
#[test]
fn version_that_names_another() {
    explore("version_that_names_another", Bound::Preemptions(2), || {
        let world = World::<3, _>::after(tat(2), 1, WhenFull::Deny, &[(C, 95), (E, 95), (D, 80)]);
        let world = world.race(vec![asks(&[(A, 108), (B, 108)]), asks(&[(A, 100)])]);
        world.settle(&[A, B], 108);
    });
}

each_word!(same_key_reclaim, Bound::Preemptions(2));

/// The only slot holds a stranger that is fresh.
fn same_key_reclaim<W: Word>(name: &str, law: fn(u64) -> Law<W>, bound: Bound) {
    explore(name, bound, move || {
        let world = World::<1, _>::after(law(1), 1, WhenFull::Deny, &[(B, 80)]);
        let world = world.race(vec![asks(&[(A, 100)]), asks(&[(A, 100)])]);
        assert_eq!(world.admitted(A), 1);
        world.account(&[A], 100);
        world.settle(&[A], 100);
    });
}

/// Two keys want the one slot: what either is admitted for is held, or forgiven.
#[test]
fn compete() {
    explore("compete", Bound::Preemptions(3), || {
        let world = World::<1, _>::new(fast_tat(1), 1, WhenFull::Evict);
        let world = world.race(vec![asks(&[(A, 0)]), asks(&[(B, 0)])]);
        world.account(&[A, B], 0);
        assert!(world.table().members(A) + world.table().members(B) <= 1);
    });
}

/// The same from two homes, of which a live key holds the other slot.
#[test]
fn compete_from_two_homes() {
    explore("compete_from_two_homes", Bound::Preemptions(4), || {
        let world = World::<1, _>::after(fast_tat(1), 2, WhenFull::Deny, &[(C, 0)]);
        let world = world.race(vec![asks(&[(A, 0)]), asks(&[(FAR, 0)])]);
        assert!(world.admitted(A) + world.admitted(FAR) <= 1);
        world.account(&[A, C, FAR], 0);
    });
}

/// The one key of a table charges its slot while a reservation of it is voided: the charge stays.
#[test]
fn void_beside_a_member() {
    explore("void_beside_a_member", Bound::Preemptions(0), || {
        let world = World::<1, _>::after(tat(1), 1, WhenFull::Deny, &[(C, 80)]);
        let world = world.race(vec![asks(&[(A, 100)]), asks(&[(B, 100)]), asks(&[(C, 100)])]);
        // C once before, and then one of the three.
        assert_eq!([A, B, C].map(|key| world.admitted(key)).iter().sum::<usize>(), 2);
        world.account(&[A, B, C], 100);
        world.settle(&[A, B, C], 100);
    });
}
