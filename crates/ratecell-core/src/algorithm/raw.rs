//! Kernels from plain numbers, for the proofs alone: what the construction of a policy sees to is assumed there.

use core::num::NonZeroU32;

use super::counting::{Count, Counter};
use super::divide::Divider;
use super::lease::Drain;
use super::two_windows::TwoWindows;
use super::{
    BucketInterval, BucketIntervalFirst, CalendarWindow, Emission, FixedWindow, FixedWindowFirst, Gcra,
    InFlight, Lease, SlidingWindow,
};
use crate::zone::{Boundaries, Period, Row};

/// What every kernel that counts has.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// The most units at one instant.
    pub capacity: u32,
    /// The bits of a count.
    pub bits: u32,
    /// The last instant that is served.
    pub max_now: u64,
    /// The heal time, if there is one.
    pub heal: Option<u64>,
}

impl Common {
    fn counter(self) -> Counter {
        let Self { capacity, bits, max_now, heal } = self;
        Counter { capacity, count: Count { bits }, max_now, heal }
    }

    fn windows(self, window: u64) -> TwoWindows {
        TwoWindows::new(self.capacity, self.bits, self.max_now, self.heal, window)
    }
}

/// GCRA, whose words have no count, with `undelayed` units that need no delay.
#[inline]
pub fn gcra(common: Common, num: u64, den: u64, undelayed: u32, reach: u64) -> Gcra {
    let capacity = NonZeroU32::new(common.capacity).unwrap_or(NonZeroU32::MIN);
    let emission = Emission { num, den, exact: true };
    Gcra::new(&emission, capacity, undelayed, common.max_now, common.heal, reach)
}

/// A fixed window that is aligned.
#[inline]
pub fn fixed(common: Common, window: u64, phase: u64) -> FixedWindow {
    FixedWindow::new(common.counter(), window, phase)
}

/// A fixed window that a request opens.
#[inline]
pub fn first(common: Common, window: u64, quantum: u64) -> FixedWindowFirst {
    FixedWindowFirst::new(common.counter(), window, quantum)
}

/// A bucket that is refilled at multiples of its interval.
#[inline]
pub fn bucket(common: Common, refill: u32, interval: u64) -> BucketInterval {
    BucketInterval::new(common.counter(), refill, interval)
}

/// A bucket that is refilled from the request on that found it full.
#[inline]
pub fn bucket_first(common: Common, refill: u32, interval: u64, quantum: u64) -> BucketIntervalFirst {
    BucketIntervalFirst::new(common.counter(), refill, interval, quantum)
}

/// The boundaries of a calendar: any five.
#[derive(Debug)]
pub struct Bounds(Row);

impl Bounds {
    /// Of boundaries that ascend and are above 0.
    #[inline]
    #[must_use]
    pub fn new(ends: [u64; 5]) -> Self {
        Self(Row::of_five(ends))
    }
}

impl Boundaries for Bounds {
    #[inline]
    fn row(&self) -> &Row {
        &self.0
    }

    fn period(&self) -> Period {
        Period::Day
    }
}

/// Windows of a calendar.
#[inline]
pub fn calendar(common: Common, bounds: &Bounds) -> CalendarWindow<&Bounds> {
    CalendarWindow::new(common.counter(), bounds)
}

/// A sliding window that rounds down.
#[inline]
pub fn loose(common: Common, window: u64) -> SlidingWindow {
    SlidingWindow::new(common.windows(window), false)
}

/// A sliding window that is strict.
#[inline]
pub fn strict(common: Common, window: u64) -> SlidingWindow {
    SlidingWindow::new(common.windows(window), true)
}

/// Permits in flight.
#[inline]
pub fn in_flight(common: Common, hold: u64) -> InFlight {
    InFlight::new(common.windows(hold))
}

/// The leases of a window's units.
#[inline]
pub fn lease_at_once(capacity: u64) -> Lease {
    lease(capacity, Drain::AtOnce)
}

/// The leases of a TAT's units.
#[inline]
pub fn lease_evenly(capacity: u64, num: u64, den: u64) -> Lease {
    lease(capacity, Drain::Evenly { num, by_num: Divider::new(num), den })
}

/// The leases of a bucket's units.
#[inline]
pub fn lease_in_steps(capacity: u64, interval: u64) -> Lease {
    lease(capacity, Drain::InSteps { by_interval: Divider::new(interval) })
}

#[inline]
fn lease(capacity: u64, drain: Drain) -> Lease {
    Lease { capacity, drain, burst_ns: 0, undelayed_ns: None, one_by_one: false }
}
