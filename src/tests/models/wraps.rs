//! Fields that come back to what they were while a caller sleeps: the bounds of *Known limits* in `docs/DESIGN.md`, which
//! its mutations reach with fields of one bit.

use super::super::model::{Bound, explore, until_dead};
use super::law::{Word, tat};
use super::world::{A, B, C, D, World, actor, asks};
use crate::table::WhenFull;

/// Asks and dies before the seizure.
fn reserve<const SLOTS: usize>(world: &World<SLOTS, impl Word>, key: u64, now: u64, changes: usize) {
    assert!(until_dead(changes, || world.ask(key, now)).is_none());
}

/// A reserves C's slot. Twice that is voided, and A inserted elsewhere. Red: void of one bit.
#[test]
fn void() {
    explore("wraps::void", Bound::Preemptions(2), || {
        let world = World::<2, _>::after(tat(1), 1, WhenFull::Deny, &[(C, 95), (D, 80)]);
        let others = actor(|world: &World<2, _>| {
            until_dead(2, || world.ask(B, 108));
            world.ask(A, 100);
        });
        let world = world.race(vec![asks(&[(A, 108)]), others]);
        world.settle(&[A], 108);
    });
}
