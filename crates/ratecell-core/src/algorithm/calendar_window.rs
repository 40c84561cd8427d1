//! Windows of the civil calendar in a time zone: days, weeks, months, quarters or years.
//!
//! | word | bits |
//! | --- | --- |
//! | the end of the window in force, in whole seconds since the epoch | the rest |
//! | count | `bits(limit)` |
//!
//! A window is opened only where the one in force has ended, and only as a whole window of the calendar: the one that holds
//! the instant, if it begins at that end or later. So the words of one calendar can be read by another one, or by newer
//! rules of the same zone: nothing that was counted is forgotten before its window ends.

use alloc::format;

use super::counting::{Count, Counter, Counting};
use super::lease::Drain;
use super::packing::WordLayout;
use super::params::{Key, Params};
use super::{Kernel, Plan, Spec, quota};
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use crate::zone::{Boundaries, Calendar, Frame, NS_PER_SECOND, Period, Tz, Zone};

mod caller;

pub use caller::CallerWindow;

pub(crate) static CALENDAR_WINDOW: Spec = Spec {
    name: "calendar_window",
    quota: quota::CALENDAR,
    options: &[Key::Tz, Key::At, Key::Week, Key::Day],
    resolve: |params, pack, epoch| {
        let limit = params.limit("limit")?;
        let (calendar, tz) = (calendar(params)?, zone(params)?);
        let horizon = params.horizon()?;
        let frame = Frame { calendar, epoch, until: horizon / NS_PER_SECOND };
        if tz == Tz::Caller {
            return caller::resolve(params, pack, limit, frame);
        }
        let zone = frame.zone(tz).ok_or_else(out_of_years)?;
        let row = zone.row();
        // Every window that is served has an end that is known.
        let served = u64::try_from(ns(row.last()).saturating_sub(1)).unwrap_or(u64::MAX);
        let last_beside = |bits: u32| if row.last() <= (Count { bits }).top() { served } else { 0 };
        let count = Count { bits: pack.count_bits(limit, u32::BITS, params, last_beside)? };
        let max_now = last_beside(count.bits);
        params.reaches_horizon(max_now, "the window's end beside a count of this limit")?;
        let counter = Counter { capacity: limit, count, max_now, heal: params.heal_ns };
        let mut resolved = counter.resolved(Some(count.bits), None);
        resolved.boundaries = u64::try_from(row.len()).ok();
        resolved.boundary_digest = Some(row.digest);
        let kernel = CalendarWindow::new(counter, zone);
        Ok((Plan::Word(Kernel::CalendarWindow(kernel)), resolved))
    },
};

fn calendar(params: &Params) -> Result<Calendar, PolicyError> {
    let Some(period) = params.span else {
        return Err(PolicyError::new(Kind::MissingParameter, "the period is missing: expected LIMIT/PERIOD"));
    };
    let name = period.name();
    let bad = |key: Key, message| Err(PolicyError::new(Kind::BadOffset, message).about(key.name()));
    if params.week.is_some() && period != Period::Week {
        return bad(Key::Week, format!("week is the first day of a week: expected none for a {name}"));
    }
    if params.day.is_some() && !period.has_day() {
        return bad(Key::Day, format!("day is a day of a month: expected none for a {name}"));
    }
    let at = params.at.unwrap_or(0);
    if at >= 24 * 60 {
        return bad(Key::At, "at is past the end of the day: expected 00:00 to 23:59".into());
    }
    let day = params.day.unwrap_or(1);
    if !(1..=31).contains(&day) {
        return bad(Key::Day, format!("day is {day}: expected 1 to 31"));
    }
    Ok(Calendar { period, at, week: params.week.unwrap_or_default(), day })
}

fn zone(params: &Params) -> Result<Tz, PolicyError> {
    let Some(tz) = params.tz else {
        let message = "tz is missing: expected tz=ZONE, such as tz=Europe/Berlin, tz=UTC or tz=+05:30";
        return Err(PolicyError::new(Kind::MissingParameter, message));
    };
    Ok(tz)
}

fn out_of_years() -> PolicyError {
    let message = "the epoch and the horizon: expected instants from the year -9997 to 9997";
    PolicyError::new(Kind::Range, message).about(Key::Horizon.name())
}

/// Windows between the boundaries of a calendar: of the zone that the policy names, or of the one that a request names.
#[derive(Clone, Debug)]
pub struct CalendarWindow<Z = Zone> {
    counter: Counter,
    zone: Z,
}

impl<Z: Boundaries> PartialEq for CalendarWindow<Z> {
    fn eq(&self, other: &Self) -> bool {
        let parts = |kernel: &Self| (kernel.counter, kernel.period());
        parts(self) == parts(other) && self.row() == other.row()
    }
}

impl<Z: Boundaries> Eq for CalendarWindow<Z> {}

impl<Z: Boundaries> CalendarWindow<Z> {
    fn period(&self) -> Period {
        self.zone.period()
    }

    #[inline]
    fn row(&self) -> &crate::zone::Row {
        self.zone.row()
    }
}

impl<Z> CalendarWindow<Z> {
    pub(super) fn new(counter: Counter, zone: Z) -> Self {
        Self { counter, zone }
    }
}

/// What is known of an instant in whole seconds.
fn ns(second: u64) -> u128 {
    u128::from(second) * u128::from(NS_PER_SECOND)
}

fn layout(word: [u8; 8], period: Period, counter: Counter) -> WordLayout {
    let unit = period.days() * 86_400 * NS_PER_SECOND;
    WordLayout { word, unit, grain: 0, count_bits: counter.count.bits }
}

/// All times are the ends of windows.
impl<Z: Boundaries + Clone> Counting for CalendarWindow<Z> {
    #[inline]
    fn counter(&self) -> &Counter {
        &self.counter
    }

    #[inline]
    fn time_at(&self, instant: u64) -> u64 {
        self.row().around(instant / NS_PER_SECOND).1
    }

    #[inline]
    fn passed(&self, end: u64, used: u64, now: u64) -> (u64, u64) {
        let second = now / NS_PER_SECOND;
        // Before its end the window is in force, whatever window of the calendar holds the instant.
        if second < end {
            return (end, used);
        }
        let (start, next) = self.row().around(second);
        if start >= end { (next, 0) } else { (end, used) }
    }

    #[inline]
    fn free_at(&self, end: u64, units: u64) -> u128 {
        ns(if units > 0 { self.row().at_or_after(end) } else { self.row().ground(end) })
    }

    fn written_from(&self, end: u64) -> u128 {
        ns(self.row().start(end))
    }

    fn packed(&self) -> WordLayout {
        layout(*b"calendar", self.period(), self.counter)
    }

    /// No: units of a window of other rules may count in it, and only a step knows.
    fn starts_anew(&self) -> bool {
        false
    }

    fn drain(&self) -> (Drain, bool) {
        (Drain::AtOnce, false)
    }

    fn burst_ns(&self) -> u64 {
        self.row().longest.saturating_mul(NS_PER_SECOND)
    }

    fn lasts_until(&self, end: u64, _: u64, _: u64) -> u128 {
        self.free_at(end, 1)
    }
}

#[cfg(test)]
mod tests;
