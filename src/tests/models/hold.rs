//! Reservations that are settled beside charges.
//!
//! Their law: what was admitted, less what was given back, stays within the policy's bound in every interval.

use std::sync::{Arc, Mutex};

use super::super::kernels::kernel;
use super::super::model::Memory;
use super::super::model::checker::thread;
use super::super::model::{Bound, explore};
use super::world::{A, B};
use crate::sync::{AtomicU64, Ordering};
use crate::table::{Holding, Lookup, Superseded, Table, Unused, WhenFull};
use ratecell_core::algorithm::{Gcra, Kernel};
use ratecell_core::{Decision, Request};

/// One unit drains in an instant.
const BURST: u64 = 20;

/// Units of key A that were admitted at an instant, less what was settled.
#[derive(Clone, Copy, Debug)]
struct Net {
    now: u64,
    units: u64,
}

/// What was reserved, with its place among the admissions.
#[derive(Clone, Copy, Debug)]
struct Reserved {
    holding: Holding,
    cost: u32,
    number: usize,
}

/// A table of key A, with a clock that some actor advances, and everything that was admitted.
struct Rates {
    table: Table<1>,
    gcra: Gcra,
    clock: AtomicU64,
    admitted: Mutex<Vec<Net>>,
}

pub(super) type Actor<W> = Box<dyn FnOnce(&W) + Send>;

pub(super) fn actor<W>(work: impl FnOnce(&W) + Send + 'static) -> Actor<W> {
    Box::new(work)
}

/// Runs the actors at once, each in a thread of its own, and waits for all.
pub(super) fn race<W: Send + Sync + 'static>(world: W, actors: Vec<Actor<W>>) -> W {
    let world = Arc::new(world);
    let spawn = |act: Actor<W>| {
        let world = Arc::clone(&world);
        thread::spawn(move || act(&world))
    };
    let threads: Vec<_> = actors.into_iter().map(spawn).collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    Arc::into_inner(world).expect("all threads have ended")
}

/// Gives back all of a charge to key A as a limiter does: by an attempt, and if that fails by as many as it takes.
pub(super) fn cancelled<const SLOTS: usize>(
    table: &Table<SLOTS>,
    gcra: &Gcra,
    holding: Holding,
    cost: u32,
    clock: impl Fn() -> u64,
) -> Result<Option<Decision>, Superseded> {
    let mut unused = Unused { holding, cost, units: cost, in_vain: 0 };
    let tried = table.try_settle(gcra, A, &mut unused, &clock);
    tried.map_or_else(|| table.settle(gcra, A, unused, &clock), |left| Ok(Some(left)))
}

impl Rates {
    /// With `shared`, the only slot is another key's, and A is charged to the cell that newcomers share.
    fn new(shared: bool) -> Self {
        let gcra = match kernel(&format!("1000000000/s burst={BURST}")) {
            Kernel::Gcra(gcra) => gcra,
            other => panic!("{other:?}"),
        };
        let when_full = if shared { WhenFull::Share } else { WhenFull::Evict };
        let table = Table::alone(1, when_full).with_totals(Memory::private).expect("totals");
        if shared {
            assert!(table.check(&gcra, B, 0, BURST as u32, Lookup::NotYet).is_allowed());
        }
        Self { table, gcra, clock: AtomicU64::default(), admitted: Mutex::default() }
    }

    fn now(&self) -> u64 {
        self.clock.load(Ordering::Acquire)
    }

    fn advance(&self, now: u64) {
        self.clock.fetch_max(now, Ordering::AcqRel);
    }

    fn admit(&self, now: u64, cost: u32) -> usize {
        let mut admitted = self.admitted.lock().expect("no panic");
        admitted.push(Net { now, units: u64::from(cost) });
        admitted.len() - 1
    }

    fn check(&self, now: u64, cost: u32) -> bool {
        let tried = self.table.try_hit(&self.gcra, A, now, cost);
        let decided = tried.unwrap_or_else(|lookup| self.table.check(&self.gcra, A, now, cost, lookup));
        if decided.is_allowed() {
            self.admit(now, cost);
        }
        decided.is_allowed()
    }

    /// Asks, and takes it back, as a layer does of which a later one refuses.
    fn check_and_refund(&self, now: u64, cost: u32) {
        self.table.charge(&self.gcra, A, now, &Request::default().cost(cost)).refund();
    }

    fn reserve(&self, now: u64, cost: u32) -> Option<Reserved> {
        let (_, _, holding) = self.table.reserve(&self.gcra, A, now, &Request::default().cost(cost));
        holding.map(|holding| Reserved { holding, cost, number: self.admit(now, cost) })
    }

    fn cancel(&self, reserved: Reserved) {
        let Reserved { holding, cost, number } = reserved;
        // Before it is so: an interval that looks meanwhile is that of fewer units.
        self.admitted.lock().expect("no panic")[number].units = 0;
        cancelled(&self.table, &self.gcra, holding, cost, || self.now()).expect("one policy");
    }

    /// Asks to exhaustion at the latest instant, and looks at every interval.
    fn settle(&self) {
        let now = self.now();
        while self.check(now, 1) {}
        let mut admitted = self.admitted.lock().expect("no panic").clone();
        admitted.sort_by_key(|net| net.now);
        for from in 0..admitted.len() {
            let mut units = 0;
            for net in &admitted[from..] {
                units += net.units;
                let bound = BURST + net.now - admitted[from].now;
                assert!(units <= bound, "{units} units from {from} on, at most {bound}: {admitted:?}");
            }
        }
    }
}

/// One settles r1 and stops before its exchange, while r2 is reserved and r3 is settled. The word is then the same number, but
/// what r1 gives back would stand in no total that r2 is settled by. Red, of an own cell: a lowering keeps the void.
fn same_number(name: &'static str, shared: bool) {
    explore(name, Bound::Preemptions(3), move || {
        let world = Rates::new(shared);
        let first = world.reserve(0, 10).expect("room");
        let third = world.reserve(0, 5).expect("room");
        world.advance(2);
        let second = Arc::new(Mutex::new(None));
        let reserved = Arc::clone(&second);
        let world = race(
            world,
            vec![
                actor(move |world: &Rates| world.cancel(first)),
                actor(move |world: &Rates| {
                    *reserved.lock().expect("no panic") = world.reserve(2, 5);
                    world.cancel(third);
                }),
            ],
        );
        world.advance(6);
        world.check(6, 8);
        let second = second.lock().expect("no panic").take().expect("room");
        world.cancel(second);
        world.settle();
    });
}

#[test]
fn the_same_number_of_an_own_cell() {
    same_number("hold::the_same_number_of_an_own_cell", false);
}

#[test]
fn the_same_number_of_the_shared_cell() {
    same_number("hold::the_same_number_of_the_shared_cell", true);
}

/// What is reserved while another is settled knows what was given back of that one. Red: the total read after the charge.
#[test]
fn reserved_beside_a_settle() {
    explore("hold::reserved_beside_a_settle", Bound::Exhaustive, || {
        let world = Rates::new(false);
        let first = world.reserve(0, 10).expect("room");
        world.advance(2);
        let second = Arc::new(Mutex::new(None));
        let reserved = Arc::clone(&second);
        let world = race(
            world,
            vec![
                actor(move |world: &Rates| world.cancel(first)),
                actor(move |world: &Rates| *reserved.lock().expect("no panic") = world.reserve(2, 5)),
            ],
        );
        world.advance(6);
        world.check(6, 8);
        let second = second.lock().expect("no panic").take().expect("room");
        world.cancel(second);
        world.settle();
    });
}

/// Two are settled at once, with a charge between. Red: the total added after the exchange.
#[test]
fn settled_beside_a_settle() {
    explore("hold::settled_beside_a_settle", Bound::Preemptions(3), || {
        let world = Rates::new(false);
        let first = world.reserve(0, 10).expect("room");
        let second = world.reserve(0, 5).expect("room");
        world.advance(2);
        let world = race(
            world,
            vec![
                actor(move |world: &Rates| world.cancel(first)),
                actor(move |world: &Rates| {
                    world.advance(6);
                    world.check(6, 8);
                    world.cancel(second);
                }),
            ],
        );
        world.settle();
    });
}

/// A charge comes at a later instant while one is settled. Red: the clock read before the word.
#[test]
fn charged_beside_a_settle() {
    explore("hold::charged_beside_a_settle", Bound::Exhaustive, || {
        let world = Rates::new(false);
        let first = world.reserve(0, 10).expect("room");
        world.advance(2);
        let world = race(
            world,
            vec![
                actor(move |world: &Rates| world.cancel(first)),
                actor(move |world: &Rates| {
                    world.advance(6);
                    world.check(6, 10);
                }),
            ],
        );
        world.settle();
    });
}

/// A charge is taken back beside one that is settled, and another that makes the same number. Red: a refund with any void.
#[test]
fn refunded_beside_a_settle() {
    explore("hold::refunded_beside_a_settle", Bound::Preemptions(3), || {
        let world = Rates::new(false);
        let third = world.reserve(0, 5).expect("room");
        world.advance(2);
        let second = Arc::new(Mutex::new(None));
        let reserved = Arc::clone(&second);
        let world = race(
            world,
            vec![
                actor(move |world: &Rates| world.check_and_refund(2, 5)),
                actor(move |world: &Rates| {
                    world.cancel(third);
                    *reserved.lock().expect("no panic") = world.reserve(2, 3);
                }),
            ],
        );
        world.advance(4);
        world.check(4, 5);
        let second = second.lock().expect("no panic").take().expect("room");
        world.cancel(second);
        world.settle();
    });
}

/// Three that are settled, in three threads.
#[test]
fn three_are_settled() {
    explore("hold::three_are_settled", Bound::Preemptions(1), || {
        let world = Rates::new(false);
        let reserved = [10, 5, 5].map(|cost| world.reserve(0, cost).expect("room"));
        world.advance(2);
        let cancels = reserved.map(|reserved| actor(move |world: &Rates| world.cancel(reserved)));
        let world = race(world, cancels.into());
        world.advance(6);
        world.settle();
    });
}
