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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_a_change_or_with_its_time() {
        let word = AtomicU32::default();
        assert!(!wait(&word, 0, Duration::ZERO));
        assert!(!wait(&word, 0, STEP * 2));
        assert!(wait(&word, 1, Duration::MAX));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| wait(&word, 0, Duration::MAX));
            // Relaxed: one word.
            word.store(1, Ordering::Relaxed);
            assert!(waiting.join().expect("no panic"));
        });
    }
}
