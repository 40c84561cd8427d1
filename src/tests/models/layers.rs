//! Layers: charged all or none.

use std::sync::Arc;

use super::super::kernels::kernel;
use super::super::model::checker::thread;
use super::super::model::{Bound, explore};
use crate::cell::Verdict;
use crate::limiter::layers::{Inquiry, Layer, Refund, refund};
use crate::table::{Holding, Seat, Table, WhenFull};
use arrayvec::ArrayVec;
use ratecell_core::algorithm::{Gcra, Kernel};
use ratecell_core::{Decision, Request};

/// A layer of one slot.
struct OneSlot {
    kernel: Kernel,
    table: Table<1>,
}

impl OneSlot {
    fn new(policy: &str) -> Self {
        Self { kernel: kernel(policy), table: Table::alone(1, WhenFull::Evict) }
    }

    fn gcra(&self) -> Gcra {
        match &self.kernel {
            Kernel::Gcra(gcra) => *gcra,
            other => panic!("{other:?}"),
        }
    }
}

impl Layer for OneSlot {
    type Receipt<'l> = Verdict<Seat<'l>>;

    fn peek(&self, h: u64, now: u64, request: &Request<'_>) -> Decision {
        self.table.peek(&self.gcra(), h, now, request)
    }

    fn is_in_flight(&self) -> bool {
        false
    }

    fn charge(&self, h: u64, now: u64, request: &Request<'_>) -> (Decision, Self::Receipt<'_>) {
        let verdict = self.table.charge(&self.gcra(), h, now, request);
        (self.table.report(&self.gcra(), &verdict, now, request), verdict)
    }

    fn reserve(
        &self,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Self::Receipt<'_>, Option<Holding>) {
        self.table.reserve(&self.gcra(), h, now, request)
    }
}

impl Refund for Verdict<Seat<'_>> {
    fn refund(self, earlier: &mut [Self]) {
        let Some(cell) = Verdict::refund(self) else { return };
        earlier.iter_mut().for_each(|verdict| verdict.follow(&cell));
    }
}

/// Whether one unit is allowed.
fn ask(layers: &[OneSlot]) -> bool {
    Inquiry { layers, h: 7, now: 0, request: Request::default() }.decide().is_allowed()
}

/// The second layer has one unit left: exactly one request passes, and the first layer holds its unit
/// and no more than those of the refused. Red: refund by a store.
fn one_unit(threads: usize, seen_before: bool) {
    let layers = Arc::new([OneSlot::new("1000000000/s burst=4"), OneSlot::new("1000000000/s burst=2")]);
    let used = u64::from(seen_before);
    if seen_before {
        assert!(ask(&*layers));
    }
    let spawn = |_| {
        let layers = Arc::clone(&layers);
        thread::spawn(move || ask(&*layers))
    };
    let threads: Vec<_> = (0..threads).map(spawn).collect();
    let raced = threads.len() as u64;
    let allowed = threads.into_iter().map(|thread| u64::from(thread.join().expect("no panic"))).sum::<u64>();
    assert_eq!(allowed + used, 2);
    let [first, second] = &*layers;
    assert_eq!(second.table.held(&second.gcra(), 0), 2);
    let held = first.table.held(&first.gcra(), 0);
    assert!((2..=used + raced).contains(&held), "the first layer holds {held}");
}

/// Two charges of one caller on one key are taken back, beside another's charge of it, which stays. Red: refund by a store.
#[test]
fn two_charges_of_one_cell() {
    explore("two_charges_of_one_cell", Bound::Preemptions(1), || {
        let layers = Arc::new([OneSlot::new("1000000000/s burst=4")]);
        let other = Arc::clone(&layers);
        let other = thread::spawn(move || ask(&*other));
        let [layer] = &*layers;
        let charge = |_| layer.charge(7, 0, &Request::default()).1;
        refund((0..2).map(charge).collect::<ArrayVec<_, _>>());
        assert!(other.join().expect("no panic"));
        let held = layer.table.held(&layer.gcra(), 0);
        assert!((1..=3).contains(&held), "{held} units are held");
    });
}

#[test]
fn layers_of_a_known_key() {
    explore("layers", Bound::Preemptions(3), || one_unit(2, true));
}

#[test]
fn layers_of_a_new_key() {
    explore("layers_of_a_new_key", Bound::RandomOnly, || one_unit(3, false));
}

#[test]
fn layers_three_threads() {
    explore("layers_three_threads", Bound::RandomOnly, || one_unit(3, true));
}
