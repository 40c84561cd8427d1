//! Permits that are released and renewed beside those who take the slot.
//!
//! Their law: no permit of one life is taken back in another, and no more stand than the limit.

use std::sync::Mutex;

use super::super::kernels::kernel;
use super::super::model::{Bound, explore};
use super::hold::{actor, race};
use super::world::{A, B};
use crate::table::{Holding, Table, WhenFull};
use ratecell_core::Request;
use ratecell_core::algorithm::{InFlight, Kernel};

const LIMIT: u32 = 2;
/// Of a permit.
const HOLD: u64 = 10;

/// A table of permits, and how many of key A are out, of the life that it has by now.
struct Permits<const SLOTS: usize> {
    table: Table<SLOTS>,
    in_flight: InFlight,
    out: Mutex<u32>,
}

impl<const SLOTS: usize> Permits<SLOTS> {
    fn new() -> Self {
        Self::of(LIMIT, WhenFull::Evict)
    }

    fn of(limit: u32, when_full: WhenFull) -> Self {
        let in_flight = match kernel(&format!("in_flight {limit} hold={HOLD}ns")) {
            Kernel::InFlight(in_flight) => in_flight,
            other => panic!("{other:?}"),
        };
        Self { table: Table::alone(1, when_full), in_flight, out: Mutex::default() }
    }

    fn acquire(&self, key: u64, now: u64) -> Option<Holding> {
        let (_, _, holding) = self.table.reserve(&self.in_flight, key, now, &Request::default());
        if key == A && holding.is_some() {
            *self.out.lock().expect("no panic") += 1;
        }
        holding
    }

    /// Begins another life of A, of which none is out.
    fn begin_anew(&self) {
        *self.out.lock().expect("no panic") = 0;
    }

    fn settle(&self, now: u64) {
        while self.acquire(A, now).is_some() {}
        let out = *self.out.lock().expect("no panic");
        assert!(out <= LIMIT, "{out} are out, at most {LIMIT}");
    }
}

/// A's permit is released while A is forgotten and comes back in its slot. Red: by the word alone; forget keeps the tenure.
#[test]
fn released_beside_a_forget() {
    explore("permits::released_beside_a_forget", Bound::Exhaustive, || {
        let world = Permits::<1>::new();
        let permit = world.acquire(A, 0).expect("room");
        let world = race(
            world,
            vec![
                actor(move |world: &Permits<1>| {
                    world.table.release(&world.in_flight, A, &permit, 1, || 0).expect("one policy");
                }),
                actor(move |world: &Permits<1>| {
                    world.table.forget(A);
                    world.begin_anew();
                    for _ in 0..LIMIT {
                        world.acquire(A, 0);
                    }
                }),
            ],
        );
        world.settle(0);
    });
}

/// A's permit is released while B evicts A, and A evicts B. Red: by the word alone.
#[test]
fn released_beside_evictions() {
    explore("permits::released_beside_evictions", Bound::Preemptions(3), || {
        let world = Permits::<1>::new();
        let permit = world.acquire(A, 0).expect("room");
        let world = race(
            world,
            vec![
                actor(move |world: &Permits<1>| {
                    world.table.release(&world.in_flight, A, &permit, 1, || 0).expect("one policy");
                }),
                actor(move |world: &Permits<1>| {
                    world.acquire(B, 0);
                    world.begin_anew();
                    for _ in 0..LIMIT {
                        world.acquire(A, 0);
                    }
                }),
            ],
        );
        world.settle(0);
    });
}

/// A permit that stands is renewed, whoever else wants one. Red: renewed by two exchanges.
#[test]
fn renewed_beside_others() {
    explore("permits::renewed_beside_others", Bound::Exhaustive, || {
        let world = Permits::<1>::new();
        let permit = world.acquire(A, 0).expect("room");
        world.acquire(A, 0).expect("room");
        let world = race(
            world,
            vec![
                actor(move |world: &Permits<1>| {
                    let (renewed, moved) = world.table.renew(&world.in_flight, A, &permit, 1, HOLD);
                    assert!(renewed.is_allowed() && moved.is_some(), "a permit that stands is renewed");
                }),
                actor(move |world: &Permits<1>| assert!(world.acquire(A, HOLD).is_none(), "both are out")),
            ],
        );
        world.settle(HOLD);
    });
}

/// A permit of the cell that newcomers share is renewed by a clock that is late, while its key gets a cell of its own. Red:
/// renewed without a search.
#[test]
fn renewed_in_the_shared_cell() {
    explore("permits::renewed_in_the_shared_cell", Bound::Preemptions(3), || {
        let world = Permits::<1>::of(1, WhenFull::Share);
        let other = world.acquire(B, 50).expect("room");
        let permit = world.acquire(A, 55).expect("a part of the shared cell");
        world.begin_anew();
        let world = race(
            world,
            vec![
                actor(move |world: &Permits<1>| {
                    let (renewed, _) = world.table.renew(&world.in_flight, A, &permit, 1, 69);
                    *world.out.lock().expect("no panic") += u32::from(renewed.is_allowed());
                }),
                actor(move |world: &Permits<1>| {
                    world.table.release(&world.in_flight, B, &other, 1, || 70).expect("one policy");
                    world.acquire(A, 70);
                }),
            ],
        );
        let out = *world.out.lock().expect("no panic");
        assert!(out <= 1, "{out} are out of one");
    });
}
