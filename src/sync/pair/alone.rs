//! The exchange where there is one thread and no other process: nobody can come between its steps.

use super::Words;
use super::halves::Pair;
use crate::sync::Ordering;

pub(super) fn is_supported() -> bool {
    true
}

pub(super) fn replace(pair: &Pair, from: Words, to: Words) -> bool {
    // Relaxed: there is no other thread.
    let found = (pair.first(Ordering::Relaxed), pair.second(Ordering::Relaxed));
    if found == from {
        pair.store(to);
    }
    found == from
}
