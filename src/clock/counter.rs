//! CLOCK_MONOTONIC by the processor's time stamp counter, in a third of the time: not ahead of the system's clock, but for
//! the case at the end, and no more than a microsecond behind it.
//!
//! Where the system's clock itself is this counter, scaled, a reading of both is an *anchor*, from which the
//! counter tells the time for a third of a millisecond. It is scaled by a little less than it should be, so that
//! neither the error of the measurement nor the slewing of the system's clock (at most 0.05 % by ntpd and adjtime) can
//! bring it ahead: two processes that share a table, by whichever way they read the clock, allow nothing too early.
//! chronyd may slew by more, up to 8 %: while it does, the time may be ahead by that part of an anchor's life.

use core::arch::x86_64::{_mm_lfence, _rdtsc};
use core::sync::atomic::{AtomicU64, Ordering};
use std::fs;
use std::sync::Mutex;

use crossbeam_utils::CachePadded;

use super::system::monotonic as system_monotonic;

/// What the time is computed from.
struct Counter {
    /// Nanoseconds of a tick, times 2^32, less [`DEFICIT`]; before it is known, [`UNUSED`] or [`UNMEASURED`].
    scale: AtomicU64,
    /// The counter at the last anchor.
    anchor: AtomicU64,
    /// What is added to the scaled counter for the time.
    offset: AtomicU64,
}

/// On a line of its own: every check reads it, and what a program happens to write beside it would take the line away.
static COUNTER: CachePadded<Counter> = CachePadded::new(Counter {
    scale: AtomicU64::new(UNUSED),
    anchor: AtomicU64::new(0),
    offset: AtomicU64::new(0),
});
/// What the scale is measured from.
static FIRST: Mutex<Option<Reading>> = Mutex::new(None);

/// The system's clock is another, or nobody has asked: the counter is not read.
const UNUSED: u64 = 0;
/// The system's clock is the counter.
const UNMEASURED: u64 = 1;

/// Both clocks, read at one time: the system's at most `apart` ticks before the counter.
#[derive(Clone, Copy)]
struct Reading {
    ticks: u64,
    ns: u64,
    apart: u64,
}

/// Ticks for which an anchor is good: a third of a millisecond or less, of a counter of 3 GHz or more.
const LIFE: u64 = 1 << 20;
/// The scale is less by a 512th: 0.2 %, or 2,048 ticks in the life of an anchor.
const DEFICIT: u64 = 512;
/// Ticks within which both clocks must have been read: a thread that is interrupted in between tries later.
const MOST_APART: u64 = 20_000;
/// The scale is measured over so many times what the readings' clocks were apart: its error is below 0.03 %.
const PRECISION: u64 = 4096;

#[inline(always)]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction. It is used where the system's clock is read with it too.
    unsafe { _rdtsc() }
}

/// Uses the counter from now on, if it is what the system's clock is made of: then it is the same on all cores and
/// runs at one rate.
pub(super) fn enable() {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    // Relaxed, here and below: the scale orders nothing.
    if COUNTER.scale.load(Ordering::Relaxed) == UNUSED
        && fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc")
    {
        // Another thread may have measured it by now.
        let _ = COUNTER.scale.compare_exchange(UNUSED, UNMEASURED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Nanoseconds of CLOCK_MONOTONIC.
#[inline]
pub(super) fn monotonic() -> u64 {
    // Relaxed: once measured it stays.
    let scale = COUNTER.scale.load(Ordering::Relaxed);
    if scale <= UNMEASURED {
        return if scale == UNUSED { system_monotonic() } else { anchored(ticks(), scale) };
    }
    let ticks = ticks();
    // Acquire: with an anchor its offset is seen, or a later one. An anchor after `ticks` is past its life by
    // wrapping: so is any, of a counter that the machine's sleep has set back.
    if ticks.wrapping_sub(COUNTER.anchor.load(Ordering::Acquire)) >= LIFE {
        return anchored(ticks, scale);
    }
    // Relaxed: ordered by the anchor.
    scaled(ticks, scale).wrapping_add(COUNTER.offset.load(Ordering::Relaxed))
}

fn scaled(ticks: u64, scale: u64) -> u64 {
    // The low 64 bits of what is added to an offset that was made in the same way.
    ((u128::from(ticks) * u128::from(scale)) >> 32) as u64
}

/// The time by the system, and an anchor for the next. The counter read `before`.
#[cold]
fn anchored(before: u64, scale: u64) -> u64 {
    let ns = system_monotonic();
    // SAFETY: part of SSE2, and so of x86-64.
    unsafe { _mm_lfence() };
    // After the system's clock was read: what the counter tells from here on is not ahead.
    let ticks = ticks();
    let apart = ticks.wrapping_sub(before);
    if apart > MOST_APART {
        return ns;
    }
    if scale == UNMEASURED {
        measure(Reading { ticks, ns, apart });
        return ns;
    }
    // Relaxed: the anchor comes after it.
    COUNTER.offset.store(ns.wrapping_sub(scaled(ticks, scale)), Ordering::Relaxed);
    // Release: a thread that sees the anchor sees its offset.
    COUNTER.anchor.store(ticks, Ordering::Release);
    ns
}

/// Measures the scale, once there are two readings far enough apart.
fn measure(reading: Reading) {
    // Never waited for, so a thread that is stopped in here holds up no other.
    let Ok(mut first) = FIRST.try_lock() else { return };
    match reading.since(*first.get_or_insert(reading)) {
        Since::Scale(scale) => keep(&COUNTER.scale, scale),
        Since::TooLittle => {}
        Since::Anew => *first = Some(reading),
    }
}

/// The first scale that is measured stays: an offset fits only the scale that it was made with, and a thread may measure
/// again that read the clocks before the first was there.
fn keep(place: &AtomicU64, scale: u64) {
    // Relaxed: anchors are made with it by every thread that sees it.
    let _ = place.compare_exchange(UNMEASURED, scale.max(UNMEASURED), Ordering::Relaxed, Ordering::Relaxed);
}

/// What two readings say.
#[derive(Debug, PartialEq)]
enum Since {
    Scale(u64),
    /// The second came too soon to measure by.
    TooLittle,
    /// The second is the better one to measure from.
    Anew,
}

impl Reading {
    fn since(self, first: Self) -> Since {
        let (ticks, ns) = (self.ticks.wrapping_sub(first.ticks), self.ns.wrapping_sub(first.ns));
        // A quarter of a second or more: the machine may have been asleep. Half as far apart takes half the time.
        if ns >= 1 << 28 || ticks >= 1 << 30 || self.apart < first.apart / 2 {
            Since::Anew
        } else if ticks < LIFE || ticks / PRECISION < self.apart.max(first.apart) {
            Since::TooLittle
        } else {
            let scale = (ns << 30).checked_div(ticks >> 2).unwrap_or(0);
            Since::Scale(scale - scale / DEFICIT)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_scale_stays() {
        let place = AtomicU64::new(UNMEASURED);
        keep(&place, 1 << 30);
        keep(&place, 1 << 31);
        assert_eq!(place.into_inner(), 1 << 30);
    }

    #[test]
    fn the_scale_is_measured_as_soon_as_it_is_precise() {
        let first = Reading { ticks: 1 << 40, ns: 1 << 30, apart: 200 };
        // 3 GHz.
        let after = |ticks, apart| Reading { ticks: first.ticks + ticks, ns: first.ns + ticks / 3, apart };
        let third = (1 << 32) / 3;
        for (ticks, apart) in [(3 << 20, 200), (3 << 20, 700), (90 << 20, MOST_APART), (1 << 29, MOST_APART)]
        {
            let Since::Scale(scale) = after(ticks, apart).since(first) else {
                panic!("{apart} apart, and not measured after {ticks}");
            };
            // By the deficit less than a third, and by neither more nor less than a precision that is below it.
            let deficit = third - scale;
            assert!(deficit.abs_diff(third / DEFICIT) < third / PRECISION, "{scale} after {ticks}");
        }
        for (ticks, apart) in [(0, 200), (LIFE - 1, 100), (3 << 20, 800), (60 << 20, MOST_APART)] {
            assert_eq!(after(ticks, apart).since(first), Since::TooLittle, "{ticks}, {apart}");
        }
        for (ticks, apart) in
            [(3 << 20, 99), (1 << 30, 200), (3 << 28, 200), (0_u64.wrapping_sub(1 << 20), 200)]
        {
            let reading = Reading { ticks: first.ticks.wrapping_add(ticks), ns: first.ns + ticks / 3, apart };
            assert_eq!(reading.since(first), Since::Anew, "{ticks}, {apart}");
        }
    }

    /// Whatever the system's clock is made of here, and however long it takes to be measured.
    #[test]
    fn the_counter_is_never_ahead_and_little_behind() {
        // Many times what the scale is measured over.
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
                    // A thread that is interrupted between the readings is not behind for it.
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
