//! Waiting without a system's help: the word is looked at again and again.

use core::time::Duration;
use std::time::Instant;

use crate::sync::{AtomicU32, Ordering};

const STEP: Duration = Duration::from_micros(200);

pub(in crate::board) fn wait(word: &AtomicU32, expected: u32, at_most: Duration) -> bool {
    let started = Instant::now();
    // Relaxed: who waits for a change orders by itself what it looks at afterwards.
    while word.load(Ordering::Relaxed) == expected {
        let left = at_most.saturating_sub(started.elapsed());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(STEP));
    }
    true
}
