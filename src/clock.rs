//! Time: nanoseconds since a limiter's epoch, read from CLOCK_MONOTONIC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, DynamicClockId, clock_gettime_dynamic};

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[expect(unsafe_code, reason = "the processor's counter is read by an instruction")]
mod counter;
/// Where there is no counter that the system's clock is made of.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod counter {
    pub(super) use super::system_monotonic as monotonic;

    pub(super) fn enable() {}
}

const NS_PER_SECOND: u64 = 1_000_000_000;
const NS_PER_DAY: u64 = 86_400 * NS_PER_SECOND;
const NS_PER_WEEK: u64 = 7 * NS_PER_DAY;
/// 1970-01-01 was a Thursday: the first Monday is day 4.
const FIRST_MONDAY_NS: u64 = 4 * NS_PER_DAY;

fn read(clock: ClockId) -> u64 {
    // Both clocks are in every system; the call that says so in its type is one that can panic.
    let Ok(time) = clock_gettime_dynamic(DynamicClockId::Known(clock)) else { return 0 };
    // Negative only before 1970 or before the machine started; 2^64 ns is the year 2554.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(NS_PER_SECOND).saturating_add(nanoseconds)
}

/// Never compiled into a loop, which would keep the call's address in a register: ci/panics.sh could not follow it.
#[inline(never)]
fn system_monotonic() -> u64 {
    read(ClockId::Monotonic)
}

/// The system's clocks at one time: nanoseconds, each from its own zero.
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
        Self {
            wall: read(ClockId::Realtime),
            monotonic: system_monotonic(),
            boottime: read(ClockId::Boottime),
        }
    }
}

/// The Monday 00:00 UTC at or before a time given in nanoseconds since 1970.
fn monday_before(wall_ns: u64) -> u64 {
    match wall_ns.checked_sub(FIRST_MONDAY_NS) {
        Some(since) => FIRST_MONDAY_NS + since / NS_PER_WEEK * NS_PER_WEEK,
        None => 0,
    }
}

/// A limiter's clock.
///
/// It tells CLOCK_MONOTONIC, so a step of the wall clock does not move it, and it does not run while the
/// machine is suspended. It is never ahead of CLOCK_MONOTONIC, and up to about a microsecond behind it; where
/// another thread was preempted in the middle of measuring, by 0.2 % of that preemption.
///
/// Its zero is the Monday 00:00 UTC before it was made, so that aligned windows follow the seconds, minutes,
/// hours, days and weeks of UTC as the wall clock showed them then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The epoch in nanoseconds since 1970.
    epoch_wall: u64,
    /// What to add to CLOCK_MONOTONIC for the time since the epoch.
    monotonic_to_epoch: u64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self::carried_over(monday_before(read(ClockId::Realtime)))
    }

    /// The clock with that epoch, and that to add to CLOCK_MONOTONIC.
    pub(crate) fn of(epoch_wall: u64, monotonic_to_epoch: u64) -> Self {
        counter::enable();
        Self { epoch_wall, monotonic_to_epoch }
    }

    /// The clock with that epoch, by the wall clock: what a new one is, and what another boot's goes on as.
    pub(crate) fn carried_over(epoch_wall: u64) -> Self {
        let monotonic = system_monotonic();
        // A wall clock set to before the epoch would be no time at all.
        let since_epoch = read(ClockId::Realtime).saturating_sub(epoch_wall);
        // Modulo 2^64: the monotonic clock may read more than that.
        Self::of(epoch_wall, since_epoch.wrapping_sub(monotonic))
    }

    pub(crate) fn epoch_wall(&self) -> u64 {
        self.epoch_wall
    }

    pub(crate) fn monotonic_to_epoch(&self) -> u64 {
        self.monotonic_to_epoch
    }

    /// When CLOCK_MONOTONIC was 0, by this clock, in nanoseconds since 1970.
    pub(crate) fn monotonic_zero(&self) -> u64 {
        self.epoch_wall.wrapping_add(self.monotonic_to_epoch)
    }

    /// Nanoseconds since the epoch.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        counter::monotonic().wrapping_add(self.monotonic_to_epoch)
    }

    /// The epoch, as the wall clock had it when the clock was made.
    pub(crate) fn epoch(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.epoch_wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_is_a_monday() {
        // 2026-11-21 was a Saturday; 2026-11-16 the Monday before it.
        let saturday = 1_795_219_200 * NS_PER_SECOND + 12_345;
        let monday = 1_794_787_200 * NS_PER_SECOND;
        assert_eq!(monday_before(saturday), monday);
        assert_eq!(monday_before(monday), monday);
        assert_eq!(monday_before(monday - 1), monday - NS_PER_WEEK);
        assert_eq!(monday_before(0), 0);
    }

    #[test]
    fn now_is_the_time_since_the_epoch() {
        let clock = Clock::new();
        let wall = || SystemTime::now().duration_since(clock.epoch()).expect("the epoch is past");
        let (before, now, after) = (wall(), Duration::from_nanos(clock.now()), wall());
        // The wall clock may have been set a little since the clock was made.
        let little = Duration::from_secs(1);
        assert!(before <= now + little && now <= after + little, "{before:?} {now:?} {after:?}");
        assert!(clock.now() < NS_PER_WEEK + NS_PER_DAY);
        let earlier = clock.now();
        assert!(clock.now() >= earlier);
    }
}
