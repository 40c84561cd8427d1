//! Time: nanoseconds since a limiter's epoch, read from the system's monotonic clock.

#[cfg(feature = "async")]
use core::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(feature = "mock-clock")]
mod mock;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(all(target_os = "linux", not(ratecell_model)))]
pub(crate) use linux::Reading;
#[cfg(feature = "mock-clock")]
pub use mock::MockClock;

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
#[expect(unsafe_code, reason = "the processor's counter is read by an instruction")]
mod counter;
/// Where there is no counter that the system's clock is made of.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(miri))))]
mod counter {
    pub(super) use super::system::monotonic;

    pub(super) fn enable() {}
}

const NS_PER_SECOND: u64 = 1_000_000_000;
const NS_PER_DAY: u64 = 86_400 * NS_PER_SECOND;
const NS_PER_WEEK: u64 = 7 * NS_PER_DAY;
/// 1970-01-01 was a Thursday: the first Monday is day 4.
const FIRST_MONDAY_NS: u64 = 4 * NS_PER_DAY;

/// The Monday 00:00 UTC at or before a time given in nanoseconds since 1970.
fn monday_before(wall_ns: u64) -> u64 {
    match wall_ns.checked_sub(FIRST_MONDAY_NS) {
        Some(since) => FIRST_MONDAY_NS + since / NS_PER_WEEK * NS_PER_WEEK,
        None => 0,
    }
}

/// A limiter's clock.
///
/// It tells the system's monotonic clock, so a step of the wall clock does not move it. On Linux this is
/// CLOCK_MONOTONIC, which does not run while the machine is suspended. The limiter's clock is up
/// to about a microsecond behind it or, where another thread was preempted in the middle of measuring, by 0.2 % of that
/// preemption; it is never ahead, but for up to 30 us while chronyd slews it by more than 0.17 %. On other systems it is [`Instant`](std::time::Instant).
///
/// Its zero is the Monday 00:00 UTC before it was made, so that aligned windows follow the seconds, minutes,
/// hours, days and weeks of UTC as the wall clock showed them then.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// The epoch in nanoseconds since 1970: before it only where the caller said so.
    epoch_wall: i128,
    /// What to add to the monotonic clock for the time since the epoch.
    monotonic_to_epoch: u64,
    /// In place of the system's, whose monotonic and whose wall clock are then one.
    #[cfg(feature = "mock-clock")]
    mock: Option<MockClock>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self::carried_over(monday_before(system::wall()).into())
    }

    /// The clock whose epoch is so many seconds after 1970, or before it.
    pub(crate) fn since(epoch_s: i64) -> Self {
        Self::carried_over(i128::from(epoch_s) * i128::from(NS_PER_SECOND))
    }

    /// The clock with that epoch, and that to add to the monotonic clock.
    pub(crate) fn of(epoch_wall: i128, monotonic_to_epoch: u64) -> Self {
        counter::enable();
        Self {
            epoch_wall,
            monotonic_to_epoch,
            #[cfg(feature = "mock-clock")]
            mock: None,
        }
    }

    /// The clock with that epoch, by the wall clock: what a new one is, and what another boot's goes on as.
    pub(crate) fn carried_over(epoch_wall: i128) -> Self {
        let monotonic = system::monotonic();
        // A wall clock set to before the epoch would be no time at all.
        let since_epoch = (i128::from(system::wall()) - epoch_wall).max(0);
        let since_epoch = u64::try_from(since_epoch).unwrap_or(u64::MAX);
        // Modulo 2^64: the monotonic clock may read more than that.
        Self::of(epoch_wall, since_epoch.wrapping_sub(monotonic))
    }

    /// Nanoseconds since the epoch.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        #[cfg(feature = "mock-clock")]
        if let Some(mock) = &self.mock {
            return mock.now_unix_ns().wrapping_add(self.monotonic_to_epoch);
        }
        counter::monotonic().wrapping_add(self.monotonic_to_epoch)
    }

    /// The same by the system's own clock, which [`now`](Self::now) is never ahead of: so no instant is later that anybody
    /// has read before this call, but while chronyd slews.
    pub(crate) fn latest(&self) -> u64 {
        #[cfg(feature = "mock-clock")]
        if self.mock.is_some() {
            return self.now();
        }
        system::monotonic().wrapping_add(self.monotonic_to_epoch)
    }

    /// The epoch, as the wall clock had it when the clock was made.
    pub(crate) fn epoch(&self) -> SystemTime {
        let distance = u64::try_from(self.epoch_wall.unsigned_abs()).unwrap_or(u64::MAX);
        let distance = Duration::from_nanos(distance);
        if self.epoch_wall < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
    }

    /// The epoch in whole seconds since 1970.
    pub(crate) fn epoch_s(&self) -> i64 {
        let seconds = self.epoch_wall.div_euclid(i128::from(NS_PER_SECOND));
        i64::try_from(seconds).unwrap_or(if seconds < 0 { i64::MIN } else { i64::MAX })
    }
}

/// The mock in place of the system's clocks.
#[cfg(feature = "mock-clock")]
impl Clock {
    /// The clock that tells what `mock` does, with that epoch in seconds since 1970, or a new one's.
    pub(crate) fn mocked(mock: &MockClock, epoch_s: Option<i64>) -> Self {
        let wall = mock.now_unix_ns();
        let of = |epoch_s: i64| i128::from(epoch_s) * i128::from(NS_PER_SECOND);
        let epoch_wall = epoch_s.map_or_else(|| monday_before(wall).into(), of);
        let since_epoch = u64::try_from((i128::from(wall) - epoch_wall).max(0)).unwrap_or(u64::MAX);
        let monotonic_to_epoch = since_epoch.wrapping_sub(wall);
        Self { epoch_wall, monotonic_to_epoch, mock: Some(mock.clone()) }
    }
}

impl Clock {
    /// Whether it is a mock in place of the system's clocks.
    pub(crate) fn is_mock(&self) -> bool {
        #[cfg(feature = "mock-clock")]
        return self.mock.is_some();
        #[cfg(not(feature = "mock-clock"))]
        false
    }

    /// Whether a mock has come to `until`; otherwise its next advance wakes the task. Another clock wakes nobody: it is always
    /// there.
    #[cfg(feature = "async")]
    #[cfg_attr(
        not(feature = "mock-clock"),
        expect(unused_variables, clippy::unused_self, reason = "there is no mock")
    )]
    pub(crate) fn poll_mock(&self, context: &Context<'_>, until: u64) -> Poll<()> {
        #[cfg(feature = "mock-clock")]
        if let Some(mock) = &self.mock {
            return mock.poll(context, || self.now() >= until);
        }
        Poll::Ready(())
    }
}

/// What a region keeps of its clock.
#[cfg(target_os = "linux")]
impl Clock {
    pub(crate) fn epoch_wall(&self) -> u64 {
        // A region's is after 1970.
        u64::try_from(self.epoch_wall).unwrap_or(0)
    }

    pub(crate) fn monotonic_to_epoch(&self) -> u64 {
        self.monotonic_to_epoch
    }

    /// When CLOCK_MONOTONIC was 0, by this clock, in nanoseconds since 1970.
    pub(crate) fn monotonic_zero(&self) -> u64 {
        self.epoch_wall().wrapping_add(self.monotonic_to_epoch)
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

    #[test]
    fn the_clock_of_other_systems_is_the_wall_clock_and_runs_on() {
        let wall = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
            u64::try_from(since.as_nanos()).expect("before 2554")
        };
        let (before, read, after) = (wall(), elsewhere::wall(), wall());
        // It may be set a little meanwhile.
        assert!(before <= read + NS_PER_SECOND && read <= after + NS_PER_SECOND, "{before} {read} {after}");
        let earlier = elsewhere::monotonic();
        std::thread::sleep(Duration::from_millis(2));
        assert!(elsewhere::monotonic() >= earlier + 2_000_000);
    }
}
