//! CLOCK_MONOTONIC by the processor's time stamp counter, in a third of the time: never ahead of what the
//! system would say, and no more than a microsecond behind it.
//!
//! Where the system's clock itself is this counter, scaled, a reading of both is an *anchor*, from which the
//! counter tells the time for a third of a millisecond. It is scaled by a little less than it should be, so that
//! neither the error of the measurement nor the slewing of the system's clock (at most 0.05 %) can bring it ahead:
//! two processes that share a table, by whichever way they read the clock, allow nothing too early.

use core::arch::x86_64::{_mm_lfence, _rdtsc};
use core::sync::atomic::{AtomicU64, Ordering};
use std::fs;
use std::sync::Mutex;

use super::system_monotonic;

/// What is added to the scaled counter for the time.
static OFFSET: AtomicU64 = AtomicU64::new(0);
/// The counter at the last anchor.
static ANCHOR: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds of a tick, times 2^32, less [`DEFICIT`]; before it is known, [`UNUSED`] or [`UNMEASURED`].
static SCALE: AtomicU64 = AtomicU64::new(UNUSED);
/// What the scale is measured from.
static FIRST: Mutex<Option<Reading>> = Mutex::new(None);

/// The system's clock is another, or nobody has asked: the counter is not read.
const UNUSED: u64 = 0;
/// The system's clock is the counter.
const UNMEASURED: u64 = 1;

/// Both clocks, read at one time.
#[derive(Clone, Copy)]
struct Reading {
    ticks: u64,
    ns: u64,
}

/// Ticks for which an anchor is good: a third of a millisecond or less, of a counter of 3 GHz or more.
const LIFE: u64 = 1 << 20;
/// The scale is less by a 512th: 0.2 %, or 2,048 ticks in the life of an anchor.
const DEFICIT: u64 = 512;
/// Ticks within which both clocks must have been read: whoever is interrupted in between tries later.
const MOST_APART: u64 = 20_000;
/// Nanoseconds over which the scale is measured: being apart is then below 0.04 % of it.
const BASELINE: u64 = 20_000_000;

fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction. It is used where the system's clock is read with it too.
    unsafe { _rdtsc() }
}

/// Uses the counter from now on, if it is what the system's clock is made of: then it is the same on all cores and
/// runs at one rate.
pub(super) fn enable() {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    // Relaxed, here and below: the scale orders nothing.
    if SCALE.load(Ordering::Relaxed) == UNUSED
        && fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc")
    {
        // Whoever was first may have measured it by now.
        let _ = SCALE.compare_exchange(UNUSED, UNMEASURED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Nanoseconds of CLOCK_MONOTONIC.
#[inline]
pub(super) fn monotonic() -> u64 {
    // Relaxed: once measured it stays.
    let scale = SCALE.load(Ordering::Relaxed);
    if scale <= UNMEASURED {
        return if scale == UNUSED { system_monotonic() } else { anchored(scale) };
    }
    let ticks = ticks();
    // Acquire: with an anchor its offset is seen, or a later one. An anchor after `ticks` is past its life by
    // wrapping: so is any, of a counter that the machine's sleep has set back.
    if ticks.wrapping_sub(ANCHOR.load(Ordering::Acquire)) >= LIFE {
        return anchored(scale);
    }
    // Relaxed: ordered by the anchor.
    scaled(ticks, scale).wrapping_add(OFFSET.load(Ordering::Relaxed))
}

fn scaled(ticks: u64, scale: u64) -> u64 {
    // The low 64 bits of what is added to an offset that was made in the same way.
    ((u128::from(ticks) * u128::from(scale)) >> 32) as u64
}

/// The time by the system, and an anchor for the next.
#[cold]
fn anchored(scale: u64) -> u64 {
    let before = ticks();
    let ns = system_monotonic();
    // SAFETY: part of SSE2, and so of x86-64.
    unsafe { _mm_lfence() };
    // After the system's clock was read: what the counter tells from here on is not ahead.
    let ticks = ticks();
    if ticks.wrapping_sub(before) > MOST_APART {
        return ns;
    }
    if scale == UNMEASURED {
        measure(Reading { ticks, ns });
        return ns;
    }
    // Relaxed: the anchor comes after it.
    OFFSET.store(ns.wrapping_sub(scaled(ticks, scale)), Ordering::Relaxed);
    // Release: whoever sees the anchor sees its offset.
    ANCHOR.store(ticks, Ordering::Release);
    ns
}

/// Measures the scale, once there are two readings far enough apart.
fn measure(reading: Reading) {
    // Never waited for, so nobody is held up by who is stopped in here.
    let Ok(mut first) = FIRST.try_lock() else { return };
    let Reading { ticks, ns } = *first.get_or_insert(reading);
    let (ticks, ns) = (reading.ticks.wrapping_sub(ticks), reading.ns.wrapping_sub(ns));
    // A second of ticks is below 2^34: what is longer was asleep, and begins anew.
    if ns >= 1 << 34 || ticks >= 1 << 36 {
        *first = Some(reading);
    } else if ns >= BASELINE {
        let scale = (ns << 30).checked_div(ticks >> 2).unwrap_or(0);
        // Relaxed: anchors are made with it by whoever sees it.
        SCALE.store((scale - scale / DEFICIT).max(UNMEASURED), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Whatever the system's clock is made of here, and however long it takes to be measured.
    #[test]
    fn the_counter_is_never_ahead_and_little_behind() {
        // More than the 20 ms that the scale is measured over.
        const READINGS: u64 = 1_000_000;
        const SLEEPS: u64 = 400;
        enable();
        let (mut furthest, mut far) = (0, 0);
        thread::scope(|scope| {
            let busy = || {
                for _ in 0..READINGS {
                    let before = system_monotonic();
                    let ns = monotonic();
                    assert!(ns <= system_monotonic(), "{ns} is ahead");
                    // Whoever is interrupted between the readings is not behind for it.
                    let behind = before.saturating_sub(ns);
                    furthest = furthest.max(behind);
                    far += u64::from(behind > 2_000);
                }
            };
            scope.spawn(|| {
                for _ in 0..SLEEPS {
                    assert!(monotonic() <= system_monotonic());
                    thread::sleep(Duration::from_micros(700));
                }
            });
            scope.spawn(busy).join().expect("no panic");
        });
        // About a microsecond; and now and then a 500th of what a thread was stopped for between its reading and its
        // anchor.
        assert!(
            far * 100 < READINGS && furthest < 1_000_000,
            "{far} readings far behind, {furthest} ns at most"
        );
    }
}
