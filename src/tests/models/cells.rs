//! Each algorithm's cell: whatever the interleaving, exactly the capacity passes.

use std::sync::Arc;

use super::super::kernels::kernel;
use super::super::model::checker::thread;
use super::super::model::{Bound, explore};
use crate::cell::{Cell as _, Word};
use ratecell_core::{Request, with_kernel};

/// Threads that ask for one unit each time, all at one instant, of a cell that has room for three.
fn exactly_three(name: &str, policy: &'static str, threads: usize, asks: usize, bound: Bound) {
    explore(name, bound, move || {
        let cell = Arc::new(Word::default());
        let spawn = || {
            let cell = Arc::clone(&cell);
            thread::spawn(move || {
                let ask = |_: &usize| {
                    with_kernel!(kernel(policy), algorithm => cell.charge(&algorithm, 5, &Request::default(), || true))
                        .is_some_and(|charge| charge.after != charge.before)
                };
                (0..asks).filter(ask).count()
            })
        };
        let threads: Vec<_> = (0..threads).map(|_| spawn()).collect();
        let allowed: usize = threads.into_iter().map(|thread| thread.join().expect("no panic")).sum();
        assert_eq!(allowed, 3);
    });
}

macro_rules! cells {
    ($($name:ident: $policy:literal),+ $(,)?) => {
        $(mod $name {
            use super::*;

            #[test]
            fn two_threads() {
                exactly_three(concat!("cell_", stringify!($name)), $policy, 2, 2, Bound::Exhaustive);
            }

            #[test]
            fn three_threads() {
                let name = concat!("cell_", stringify!($name), "_three_threads");
                exactly_three(name, $policy, 3, 2, Bound::Preemptions(2));
            }
        })+
    };
}

cells! {
    gcra: "3/s",
    sliding_window: "sliding_window 3/s",
    fixed_window: "fixed_window 3/s",
    fixed_window_first: "fixed_window 3/s start=first",
    calendar_window: "calendar_window 3/day tz=UTC",
    bucket_interval: "token_bucket 1/s capacity=3 mode=interval",
    bucket_interval_first: "token_bucket 1/s capacity=3 mode=interval_first",
}
