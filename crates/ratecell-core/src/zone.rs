//! Time zones by name, and the rules of their clocks: those of the time zone database that is part of this library, so
//! that a policy means the same on every machine; or those of the system, which follow its updates.

use alloc::vec::Vec;
use core::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;

mod calendar;
mod database;
mod ready;
mod row;

pub(crate) use calendar::Calendar;
pub use calendar::{Period, Weekday};
pub(crate) use database::{expected_zone, zone_of_place};
pub use ready::Zone;
pub(crate) use ready::{Boundaries, Frame, NS_PER_SECOND};
pub(crate) use row::Row;

/// A time zone, as a policy names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tz {
    /// UTC.
    Utc,
    /// Clocks that are always this many minutes ahead of UTC: less than a day.
    Fixed(i16),
    /// A zone of the database, with its spelling.
    Named(&'static str),
    /// The zone that each request names.
    Caller,
}

const CALLER: &str = "caller";
const UTC: &str = "UTC";

impl Tz {
    /// The zone of this name, whatever its case; `None` if there is none.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case(UTC) {
            return Some(Self::Utc);
        }
        if name == CALLER {
            return Some(Self::Caller);
        }
        offset_minutes(name)
            .map(Self::Fixed)
            .or_else(|| database::zone(name).map(|(name, _)| Self::Named(name)))
    }

    /// The rules of its clocks; `None` of the caller's, which are not known.
    pub(crate) fn rules(self) -> Option<Rules> {
        Some(Rules(match self {
            Self::Utc => Clocks::Fixed(0),
            Self::Fixed(minutes) => Clocks::Fixed(i64::from(minutes) * 60),
            Self::Named(name) => Clocks::Changing(database::zone(name)?.1),
            Self::Caller => return None,
        }))
    }
}

/// `[+-]HH:MM` in minutes.
fn offset_minutes(text: &str) -> Option<i16> {
    let (sign, time) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    i16::try_from(minutes_of_day(time)?).ok().map(|minutes| sign * minutes)
}

/// `HH:MM` in minutes, below 24:00.
pub(crate) fn minutes_of_day(text: &str) -> Option<u16> {
    let digits = |hour: [u8; 2]| {
        let [tens, ones] = hour.map(|digit| digit.wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then_some(u16::from(tens) * 10 + u16::from(ones))
    };
    let [h, hh, b':', m, mm] = *text.as_bytes() else { return None };
    let (hours, minutes) = (digits([h, hh])?, digits([m, mm])?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// Minutes of a day as they are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HoursMinutes(pub(crate) u16);

impl fmt::Display for HoursMinutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl fmt::Display for Tz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Utc => f.write_str(UTC),
            Self::Fixed(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                write!(f, "{sign}{}", HoursMinutes(minutes.unsigned_abs()))
            }
            Self::Named(name) => f.write_str(name),
            Self::Caller => f.write_str(CALLER),
        }
    }
}

/// How far a zone's clocks are ahead of UTC, at any instant.
#[derive(Clone, Debug)]
pub(crate) struct Rules(Clocks);

#[derive(Clone, Debug)]
enum Clocks {
    /// Always by so many seconds.
    Fixed(i64),
    Changing(TimeZone),
}

/// A part of a zone's time, to the next one's start, with one offset.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// In seconds since 1970.
    from: i64,
    /// Seconds ahead of UTC.
    offset: i64,
}

impl Rules {
    /// The stretches from `first` to `last`, in seconds since 1970: at least one. `None` where an instant is outside the
    /// years -9999 to 9999.
    fn stretches(&self, first: i64, last: i64) -> Option<Vec<Stretch>> {
        let start = Timestamp::from_second(first).ok()?;
        let zone = match &self.0 {
            Clocks::Fixed(offset) => return Some(alloc::vec![Stretch { from: first, offset: *offset }]),
            Clocks::Changing(zone) => zone,
        };
        let stretch = |from: Timestamp, offset: jiff::tz::Offset| Stretch {
            from: from.as_second(),
            offset: i64::from(offset.seconds()),
        };
        let changes = zone.following(start).map(|change| stretch(change.timestamp(), change.offset()));
        let mut stretches = alloc::vec![stretch(start, zone.to_offset(start))];
        stretches.extend(changes.take_while(|stretch| stretch.from <= last));
        Some(stretches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_are_read_and_printed_as_the_database_spells_them() {
        for (name, printed) in [
            ("UTC", "UTC"),
            ("utc", "UTC"),
            ("caller", "caller"),
            ("+05:30", "+05:30"),
            ("-00:00", "+00:00"),
            ("-23:59", "-23:59"),
        ] {
            assert_eq!(Tz::of_name(name).map(|tz| tz.to_string()).as_deref(), Some(printed), "{name}");
        }
        for name in
            ["", "+5:30", "+24:00", "+05:60", "05:30", "+05:3", "+:5:30", "Europe/Atlantis", "é", "+é0:3"]
        {
            assert_eq!(Tz::of_name(name), None, "{name}");
        }
    }
}
