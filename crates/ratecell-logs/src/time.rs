//! The forms in which logs write times.

use jiff::civil::DateTime;
use jiff::tz::Offset;

use crate::number::{Unit, split_decimal, split_exponent, whole};
use crate::reason::Reason;
use crate::text::Scan;

const NS: i64 = 1_000_000_000;
const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Seconds east of UTC for times without an offset, if the user has said so.
pub(crate) type Zone = Option<i32>;

/// An instant, and how many digits of its second were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time {
    /// Since the Unix epoch, below 2^63.
    pub(crate) ns: u64,
    pub(crate) digits: u8,
    /// Seconds east of UTC of the clock by which it was written; `None` if it was written as a number.
    pub(crate) east: Option<i32>,
}

/// A time by the calendar, as it is written.
struct Civil<'l> {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    /// The digits after the second.
    fraction: &'l [u8],
    offset: Option<WrittenOffset>,
}

struct WrittenOffset {
    west: bool,
    hours: u32,
    minutes: u32,
}

impl Civil<'_> {
    /// A leap second is the second before it once more.
    fn at(&self, zone: Zone) -> Result<Time, Reason> {
        let small = |number: u32| i8::try_from(number).ok();
        let midnight = || {
            let (month, day) = (small(self.month)?, small(self.day)?);
            let day = DateTime::new(i16::try_from(self.year).ok()?, month, day, 0, 0, 0, 0).ok()?;
            Offset::UTC.to_timestamp(day).ok()
        };
        let midnight = midnight().ok_or(Reason::BadTime)?.as_second();
        if self.hour > 23 || self.minute > 59 || self.second > 60 {
            return Err(Reason::BadTime);
        }
        let east = match &self.offset {
            None => zone.ok_or(Reason::NoZone)?,
            Some(offset) if offset.hours > 23 || offset.minutes > 59 => return Err(Reason::BadTime),
            Some(offset) => {
                // Below 24 hours.
                let seconds = (offset.hours * 3600 + offset.minutes * 60) as i32;
                if offset.west { -seconds } else { seconds }
            }
        };
        let second = i64::from(self.hour * 3600 + self.minute * 60 + self.second.min(59));
        let ns = (midnight + second - i64::from(east)).checked_mul(NS);
        let ns = ns.and_then(|ns| ns.checked_add_unsigned(Unit::S.fraction_ns(self.fraction)));
        let ns = ns.and_then(|ns| u64::try_from(ns).ok()).ok_or(Reason::BadTime)?;
        Ok(Time { ns, digits: digits(self.fraction.len()), east: Some(east) })
    }
}

fn digits(count: usize) -> u8 {
    u8::try_from(count.min(9)).unwrap_or(9)
}

/// `.` or `,` and at least one digit, or nothing.
fn fraction<'l>(scan: &mut Scan<'l>) -> Option<&'l [u8]> {
    match scan.one_of(b".,") {
        None => Some(&[]),
        Some(_) => scan.some_of(|byte| byte.is_ascii_digit()),
    }
}

/// `+hh:mm` or `+hhmm`, and `+hh` where `hours_alone`.
fn offset(scan: &mut Scan<'_>, hours_alone: bool) -> Option<WrittenOffset> {
    let west = scan.one_of(b"+-")? == b'-';
    let hours = scan.digits(2)?;
    let minutes = if hours_alone && scan.is_done() {
        0
    } else {
        scan.one_of(b":");
        scan.digits(2)?
    };
    Some(WrittenOffset { west, hours, minutes })
}

fn clf_form(text: &[u8]) -> Option<Civil<'_>> {
    let scan = &mut Scan::of(text);
    let day = scan.digits(2)?;
    scan.literal(b"/")?;
    let (name, rest) = scan.rest.split_at_checked(3)?;
    scan.rest = rest;
    let month = u32::try_from(MONTHS.iter().position(|month| *month == name)?).ok()? + 1;
    scan.literal(b"/")?;
    let year = scan.digits(4)?;
    scan.literal(b":")?;
    let (hour, minute, second) = clock(scan)?;
    let fraction = fraction(scan)?;
    let offset = match scan.literal(b" ") {
        None => None,
        Some(()) => Some(offset(scan, false)?),
    };
    scan.is_done().then_some(Civil { year, month, day, hour, minute, second, fraction, offset })
}

fn iso_form(text: &[u8]) -> Option<Civil<'_>> {
    let scan = &mut Scan::of(text);
    let year = scan.digits(4)?;
    scan.literal(b"-")?;
    let month = scan.digits(2)?;
    scan.literal(b"-")?;
    let day = scan.digits(2)?;
    scan.one_of(b"Tt ")?;
    let (hour, minute, second) = clock(scan)?;
    let fraction = fraction(scan)?;
    scan.literal(b" ");
    let offset = if scan.is_done() {
        None
    } else if scan.one_of(b"Zz").is_some() {
        Some(WrittenOffset { west: false, hours: 0, minutes: 0 })
    } else {
        Some(offset(scan, true)?)
    };
    scan.is_done().then_some(Civil { year, month, day, hour, minute, second, fraction, offset })
}

fn clock(scan: &mut Scan<'_>) -> Option<(u32, u32, u32)> {
    let hour = scan.digits(2)?;
    scan.literal(b":")?;
    let minute = scan.digits(2)?;
    scan.literal(b":")?;
    Some((hour, minute, scan.digits(2)?))
}

/// `17/May/2015:10:05:03 +0000`.
pub(crate) fn clf(text: &[u8], zone: Zone) -> Result<Time, Reason> {
    clf_form(text).ok_or(Reason::BadTime)?.at(zone)
}

/// `2015-05-17T10:05:03Z`.
pub(crate) fn iso(text: &[u8], zone: Zone) -> Result<Time, Reason> {
    iso_form(text).ok_or(Reason::BadTime)?.at(zone)
}

/// Seconds, milliseconds, microseconds or nanoseconds, by the size of the number.
pub(crate) fn unix(text: &[u8]) -> Result<Time, Reason> {
    let shifted;
    let text = match split_exponent(text) {
        Some((digits, sign, exponent)) if sign != b"-" => {
            shifted = shift(digits, 1 + exponent);
            &*shifted
        }
        _ => text,
    };
    let (number, fraction) = split_decimal(text).ok_or(Reason::BadTime)?;
    let number = whole(number, 19).ok_or(Reason::BadTime)?;
    let unit = match number {
        0..100_000_000_000 => Unit::S,
        100_000_000_000..100_000_000_000_000 => Unit::Ms,
        100_000_000_000_000..100_000_000_000_000_000 => Unit::Us,
        _ => Unit::Ns,
    };
    let ns = u128::from(number) * unit.ns() + u128::from(unit.fraction_ns(fraction));
    let ns = i64::try_from(ns).map_err(|_| Reason::BadTime)?;
    Ok(Time { ns: ns.unsigned_abs(), digits: digits(unit.exponent() + fraction.len()), east: None })
}

/// The digits with a point after the first `places`, filled up with zeros.
fn shift(mut digits: Vec<u8>, places: usize) -> Vec<u8> {
    if digits.len() <= places {
        digits.resize(places, b'0');
    } else {
        digits.insert(places, b'.');
    }
    digits
}

/// Any of the three forms.
pub(crate) fn any(text: &[u8], zone: Zone) -> Result<Time, Reason> {
    match iso_form(text).or_else(|| clf_form(text)) {
        Some(civil) => civil.at(zone),
        None => unix(text),
    }
}

/// The length of `17/May/2015:10:05:03 +0000`, of what comes before its seconds, and of what with them.
const CLF_LEN: usize = 26;
const CLF_MINUTE_LEN: usize = 18;
const CLF_SECOND_LEN: usize = 20;

/// Reads the times of the Common family. Remembers the last minute: most records of a log share it with the
/// record before them, and then only the seconds are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClfClock {
    /// A time in the minute, all zero before the first.
    text: [u8; CLF_LEN],
    /// When the minute began.
    minute_ns: u64,
    /// By the clock of its times.
    east: Option<i32>,
}

impl ClfClock {
    pub(crate) fn read(&mut self, text: &[u8], zone: Zone) -> Result<Time, Reason> {
        let Ok(text) = <&[u8; CLF_LEN]>::try_from(text) else {
            return if text.contains(&b'/') { clf(text, zone) } else { any(text, zone) };
        };
        let second_ns = second_ns(text);
        if let Some(second_ns) = second_ns
            && text[..CLF_MINUTE_LEN] == self.text[..CLF_MINUTE_LEN]
            && text[CLF_SECOND_LEN..] == self.text[CLF_SECOND_LEN..]
        {
            // Two seconds of a minute can be on either side of 2^63.
            let ns = i64::try_from(self.minute_ns + second_ns).map_err(|_| Reason::BadTime)?;
            return Ok(Time { ns: ns.unsigned_abs(), digits: 0, east: self.east });
        }
        let time = if text.contains(&b'/') { clf(text, zone) } else { any(text, zone) }?;
        // An offset of its own: the same text is then the same time whatever the zone is.
        if let (Some(second_ns), b'/', b' ') = (second_ns, text[2], text[CLF_SECOND_LEN]) {
            self.text = *text;
            self.minute_ns = time.ns - second_ns;
            self.east = time.east;
        }
        Ok(time)
    }
}

fn second_ns(text: &[u8; CLF_LEN]) -> Option<u64> {
    let second = match [text[CLF_MINUTE_LEN], text[CLF_MINUTE_LEN + 1]] {
        [tens @ b'0'..=b'5', ones @ b'0'..=b'9'] => u64::from(tens - b'0') * 10 + u64::from(ones - b'0'),
        [b'6', b'0'] => 59,
        _ => return None,
    };
    Some(second * NS.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remembered_minute_changes_nothing() {
        let mut clock = ClfClock::default();
        for text in [
            "17/May/2015:10:05:03 +0000",
            "17/May/2015:10:05:59 +0000",
            "17/May/2015:10:05:60 +0000",
            "17/May/2015:10:05:61 +0000",
            "17/May/2015:10:05:0x +0000",
            "17/May/2015:10:05:04 +0130",
            "17/May/2015:10:05:04 +01:3",
            "17/May/2015:10:05:04.12345",
            "17/May/2015:10:05:04 -0130",
            "31/Feb/2015:10:05:04 +0000",
            "17/May/2015:10:05:00 +0000",
            "2015-05-17 10:05:00 +00:00",
            "11/Apr/2262:23:47:16 +0000",
            "11/Apr/2262:23:47:17 +0000",
        ] {
            for zone in [None, Some(3600)] {
                assert_eq!(clock.read(text.as_bytes(), zone), any(text.as_bytes(), zone), "{text}");
            }
        }
    }
}
