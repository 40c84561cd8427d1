//! Callers that stop for ever after any of their changes.

use super::super::model::{Bound, explore, until_dead};
use super::law::{Word, fast_tat, tat};
use super::world::{A, B, C, D, FAR, FAR_TOO, World, actor, asks};
use crate::table::WhenFull;

/// More changes than any request tries that nobody is in the way of.
const STEPS: usize = 6;

/// For each number of changes a model: the request of `key` at `now` stops after so many, beside the others. What is
/// left is within the law, and serves everybody.
fn dies<const SLOTS: usize, W: Word>(
    name: &str,
    bound: Bound,
    world: impl Fn() -> World<SLOTS, W> + Copy + Send + Sync + 'static,
    (key, now): (u64, u64),
    others: &'static [(u64, u64)],
) {
    for steps in 0..STEPS {
        explore(&format!("{name}::{steps}"), bound, move || {
            let doomed = actor(move |world: &World<SLOTS, W>| {
                until_dead(steps, || world.ask(key, now));
            });
            let world = world().race(vec![doomed, asks(others)]);
            if others.iter().all(|(_, at)| *at == now) {
                world.account(&[A, B, C, D], now);
            }
            world.settle(&[A, B], now);
            assert!(world.ask(A, 300) && world.ask(B, 300));
            world.settle(&[A, B], 300);
        });
    }
}

fn one_place() -> World<2, impl Word> {
    World::after(fast_tat(1), 1, WhenFull::Deny, &[(C, 0)])
}

#[test]
fn alone() {
    dies("dead::alone", Bound::Preemptions(2), one_place, (A, 10), &[(A, 10)]);
}

#[test]
fn beside_another_key() {
    dies("dead::beside_another_key", Bound::Preemptions(1), one_place, (A, 10), &[(B, 10), (A, 10)]);
}

#[test]
fn with_two_clocks() {
    let world = || World::<2, _>::after(tat(1), 1, WhenFull::Deny, &[(C, 95), (D, 80)]);
    dies("dead::with_two_clocks", Bound::Preemptions(1), world, (A, 108), &[(A, 100), (B, 120), (A, 109)]);
}

/// The floor of another home is raised before the reservation.
#[test]
fn in_another_home() {
    let world = || World::<1, _>::after(tat(1), 2, WhenFull::Deny, &[(A, 95), (FAR, 120)]);
    dies("dead::in_another_home", Bound::Preemptions(2), world, (FAR_TOO, 121), &[(A, 100)]);
}

/// Red: eviction counted after the seizure.
#[test]
fn evict() {
    let world = || World::<1, _>::after(tat(2), 1, WhenFull::Evict, &[(B, 100)]);
    dies("dead::evict", Bound::Preemptions(1), world, (A, 100), &[(B, 100), (A, 100)]);
}

#[test]
fn share() {
    let world = || World::<2, _>::after(tat(2), 1, WhenFull::Share, &[(C, 95), (D, 106)]);
    dies("dead::share", Bound::Preemptions(2), world, (A, 108), &[(A, 100), (B, 108)]);
}

#[test]
fn share_charged() {
    let world = || World::<2, _>::after(tat(2), 1, WhenFull::Share, &[(C, 95), (D, 106)]);
    dies("dead::share_charged", Bound::Preemptions(2), world, (A, 100), &[(A, 108), (B, 108)]);
}

/// No request tries more changes than are modelled.
#[test]
fn all_of_them() {
    explore("dead::all_of_them", Bound::Preemptions(0), || {
        let world = World::<1, _>::after(tat(2), 1, WhenFull::Evict, &[(B, 100)]);
        let lives = actor(|world: &World<1, _>| {
            assert_eq!(until_dead(STEPS - 1, || world.ask(A, 100)), Some(true));
        });
        // Nobody is in its way, but shuttle wants two threads.
        world.race(vec![lives, asks(&[])]);
    });
}
