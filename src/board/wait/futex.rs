//! Linux's futexes.

use core::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};
use rustix::thread::nanosleep;

use crate::sync::AtomicU32;

/// Not private: who waits and who wakes may be of two processes.
const SHARED: Flags = Flags::empty();
/// How long a thread sleeps that may not wait by a futex.
const STEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000 };
const EVERYBODY: u32 = i32::MAX.cast_unsigned();

pub(in crate::board) fn wait(word: &AtomicU32, expected: u32, at_most: Duration) -> bool {
    let ages = Timespec { tv_sec: i64::MAX, tv_nsec: 0 };
    let at_most_ns = Timespec::try_from(at_most).unwrap_or(ages);
    match futex::wait(word, SHARED, expected, Some(&at_most_ns)) {
        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => true,
        Err(Errno::TIMEDOUT) => false,
        // A system that refuses the call refuses to wake, too. Not by std, whose sleep can panic. A signal ends it early.
        Err(_) => {
            let _ = nanosleep(if at_most_ns < STEP { &at_most_ns } else { &STEP });
            true
        }
    }
}

pub(in crate::board) fn wake_one(word: &AtomicU32) {
    wake(word, 1);
}

pub(in crate::board) fn wake_all(word: &AtomicU32) {
    wake(word, EVERYBODY);
}

fn wake(word: &AtomicU32, most: u32) {
    // Where it is refused, so is the wait, and nobody sleeps for longer than a step.
    let _ = futex::wake(word, SHARED, most);
}
