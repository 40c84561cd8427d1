//! Linux's clocks, each in nanoseconds from its own zero.

use rustix::time::{ClockId, DynamicClockId, clock_gettime_dynamic};

use super::NS_PER_SECOND;

fn read(clock: ClockId) -> u64 {
    // These clocks are in every system; the call that says so in its type is one that can panic.
    let Ok(time) = clock_gettime_dynamic(DynamicClockId::Known(clock)) else { return 0 };
    // Negative only before 1970 or before the machine started; 2^64 ns is the year 2554.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(NS_PER_SECOND).saturating_add(nanoseconds)
}

/// The wall clock: the time since 1970.
pub(super) fn wall() -> u64 {
    read(ClockId::Realtime)
}

/// CLOCK_MONOTONIC: the time since the machine started, without that in which it was suspended.
///
/// Never compiled into a loop, which would keep the call's address in a register: ci/panics.sh could not follow it.
#[inline(never)]
pub(super) fn monotonic() -> u64 {
    read(ClockId::Monotonic)
}

/// The system's clocks at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) wall: u64,
    /// CLOCK_MONOTONIC: the time since the machine started, without that in which it was suspended.
    pub(crate) monotonic: u64,
    /// CLOCK_BOOTTIME: the time since the machine started.
    pub(crate) boottime: u64,
}

impl Reading {
    pub(crate) fn now() -> Self {
        Self { wall: wall(), monotonic: monotonic(), boottime: read(ClockId::Boottime) }
    }
}
