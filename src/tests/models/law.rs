//! Policies in small integers, one for each kind of word.

use core::fmt::Debug;

use super::super::kernels::kernel;
use super::calendar::Calendar;
use ratecell_core::algorithm::{Algorithm, FixedWindow, FixedWindowFirst, Gcra, Kernel, SlidingWindow};

/// What a word may be of.
pub(super) trait Word: Algorithm + Copy + Debug + Send + Sync + 'static {}

impl<A: Algorithm + Copy + Debug + Send + Sync + 'static> Word for A {}

/// A policy, and what the models need to know of it.
///
/// What one unit leaves at 80 is fresh at 100, and what one leaves at 95 is at 108, but not at 100.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law<A> {
    pub(super) algorithm: A,
    /// The most that it allows at one instant.
    pub(super) capacity: u64,
    /// Nanoseconds in one instant of the models.
    pub(super) tick: u64,
    /// Whether a limiter decides a hit in its caller: else it only ever charges.
    pub(super) tries_hits: bool,
    /// Whether a newcomer before the floor is judged as if it came there: else as of its own instant, even so.
    pub(super) judges_by_others: bool,
}

impl<A> Law<A> {
    fn of(algorithm: A, capacity: u64) -> Self {
        Self { algorithm, capacity, tick: 1, tries_hits: false, judges_by_others: true }
    }
}

macro_rules! parsed {
    ($policy:expr, $kind:ident) => {
        match kernel(&$policy) {
            Kernel::$kind(algorithm) => algorithm,
            other => panic!("{} is {other:?}", $policy),
        }
    };
}

/// A TAT, of one unit in ten instants.
pub(super) fn tat(capacity: u64) -> Law<Gcra> {
    let algorithm = parsed!(format!("100000000/s burst={capacity}"), Gcra);
    Law { tries_hits: true, judges_by_others: false, ..Law::of(algorithm, capacity) }
}

/// A TAT, of one unit in one instant.
pub(super) fn fast_tat(capacity: u64) -> Law<Gcra> {
    let algorithm = parsed!(format!("1000000000/s burst={capacity}"), Gcra);
    Law { tries_hits: true, judges_by_others: false, ..Law::of(algorithm, capacity) }
}

/// A count, in windows that begin at multiples of 15.
pub(super) fn one_count(capacity: u64) -> Law<FixedWindow> {
    Law::of(parsed!(format!("fixed_window {capacity}/15ns"), FixedWindow), capacity)
}

/// A count, in windows of ten instants that begin with a request.
pub(super) fn one_count_from_first(capacity: u64) -> Law<FixedWindowFirst> {
    let algorithm = parsed!(format!("fixed_window {capacity}/1us start=first"), FixedWindowFirst);
    Law { tick: 100, ..Law::of(algorithm, capacity) }
}

/// Two counts, in windows that begin at multiples of 7.
pub(super) fn two_counts(capacity: u64) -> Law<SlidingWindow> {
    Law::of(parsed!(format!("sliding_window {capacity}/7ns strict=true"), SlidingWindow), capacity)
}

/// Two counts, in windows that begin at multiples of 10.
pub(super) fn two_counts_of_ten(capacity: u64) -> Law<SlidingWindow> {
    Law::of(parsed!(format!("sliding_window {capacity}/10ns"), SlidingWindow), capacity)
}

/// A count, in windows of several lengths.
pub(super) fn calendar(capacity: u64) -> Law<Calendar> {
    Law::of(Calendar { capacity }, capacity)
}

/// Makes one model of `$model` for each kind of word.
macro_rules! each_word {
    ($model:ident, $bound:expr) => {
        mod $model {
            use super::super::super::model::Bound;
            use super::super::law;

            law::each_word!(@ $model $bound, tat one_count one_count_from_first two_counts calendar);
        }
    };
    (@ $model:ident $bound:expr, $($kind:ident)+) => {
        $(#[test]
        fn $kind() {
            super::$model(concat!(stringify!($model), "::", stringify!($kind)), law::$kind, $bound);
        })+
    };
}

pub(super) use each_word;
