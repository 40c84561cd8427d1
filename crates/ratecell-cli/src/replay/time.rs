//! Times as logs write them.

use std::str::FromStr;

use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::Malformed;

/// How a log writes its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeFormat {
    /// RFC 3339.
    Rfc3339,
    /// Seconds, also with a fraction.
    Unix,
    /// Whole milliseconds.
    UnixMs,
    /// Whole nanoseconds.
    UnixNs,
    /// By a pattern of strptime.
    Pattern(String),
}

impl TimeFormat {
    pub(crate) fn parse(&self, text: &[u8]) -> Result<Timestamp, Malformed> {
        let text = std::str::from_utf8(text).ok();
        match self {
            Self::Rfc3339 => {
                text.and_then(|text| text.parse().ok()).ok_or(Malformed("the time is not in RFC 3339"))
            }
            Self::Unix => text.and_then(seconds).ok_or(Malformed("the time is not in unix seconds")),
            Self::UnixMs => text
                .and_then(|text| Timestamp::from_millisecond(text.parse().ok()?).ok())
                .ok_or(Malformed("the time is not in whole unix milliseconds")),
            Self::UnixNs => text
                .and_then(|text| Timestamp::from_nanosecond(text.parse().ok()?).ok())
                .ok_or(Malformed("the time is not in whole unix nanoseconds")),
            Self::Pattern(pattern) => text
                .and_then(|text| by_pattern(pattern, text).ok())
                .ok_or(Malformed("the time does not follow the pattern of --time-format")),
        }
    }
}

impl FromStr for TimeFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "rfc3339" => Self::Rfc3339,
            "unix" => Self::Unix,
            "unix_ms" => Self::UnixMs,
            "unix_ns" => Self::UnixNs,
            pattern if pattern.contains('%') => {
                // A pattern that cannot read what it writes itself would make every line malformed.
                let sample = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
                strtime::format(pattern, &sample)
                    .and_then(|sample| by_pattern(pattern, &sample))
                    .map_err(|error| error.to_string())?;
                Self::Pattern(pattern.to_owned())
            }
            _ => {
                return Err(
                    "expected rfc3339, unix, unix_ms, unix_ns or a strptime pattern with %".to_owned()
                );
            }
        })
    }
}

/// A time without an offset is UTC.
fn by_pattern(pattern: &str, text: &str) -> Result<Timestamp, jiff::Error> {
    let time = strtime::parse(pattern, text)?;
    match (time.timestamp(), time.offset()) {
        (None, None) => time.to_datetime()?.to_zoned(TimeZone::UTC).map(|time: Zoned| time.timestamp()),
        _ => time.to_timestamp(),
    }
}

fn seconds(text: &str) -> Option<Timestamp> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds: u64 = seconds.parse().ok()?;
    let nanoseconds: i32 = format!("{fraction:0<9}").parse().ok()?;
    Timestamp::new(i64::try_from(seconds).ok()?, nanoseconds).ok()
}

/// The length of `17/May/2015:10:05:03 +0000` and of what comes before its seconds.
const CLF_LEN: usize = 26;
const CLF_MINUTE_LEN: usize = 18;

/// Reads the times of the common log format, `17/May/2015:10:05:03 +0000`.
///
/// Remembers the last minute: most records of a log share it with the record before them, and then
/// only the seconds are read.
#[derive(Clone, Debug, Default)]
pub struct ClfClock {
    /// The text of a time in the minute, all zero before the first.
    text: [u8; CLF_LEN],
    /// The unix second at which the minute began.
    minute: i64,
}

impl ClfClock {
    pub(crate) fn parse(&mut self, text: &[u8]) -> Result<Timestamp, Malformed> {
        self.read(text).ok_or(Malformed("the [time] is not as in 17/May/2015:10:05:03 +0000"))
    }

    fn read(&mut self, text: &[u8]) -> Option<Timestamp> {
        let text: &[u8; CLF_LEN] = text.try_into().ok()?;
        let (minute, second_and_offset) = text.split_at(CLF_MINUTE_LEN);
        let (second, offset) = second_and_offset.split_at(2);
        let second = match *second {
            [tens @ b'0'..=b'5', ones @ b'0'..=b'9'] => i64::from(tens - b'0') * 10 + i64::from(ones - b'0'),
            // A leap second is the one before it once more.
            [b'6', b'0'] => 59,
            _ => return None,
        };
        if !self.text.starts_with(minute) || !self.text.ends_with(offset) {
            let time = strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?.to_timestamp().ok()?;
            self.minute = time.as_second() - second;
            self.text = *text;
        }
        Timestamp::from_second(self.minute + second).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remembered_minute_changes_nothing() {
        let mut clock = ClfClock::default();
        for (text, expected) in [
            ("17/May/2015:10:05:03 +0000", Some("2015-05-17T10:05:03Z")),
            ("17/May/2015:10:05:59 +0000", Some("2015-05-17T10:05:59Z")),
            ("17/May/2015:10:05:60 +0000", Some("2015-05-17T10:05:59Z")),
            ("17/May/2015:10:05:61 +0000", None),
            ("17/May/2015:10:05:0x +0000", None),
            ("17/May/2015:10:05:04 +0130", Some("2015-05-17T08:35:04Z")),
            ("17/May/2015:10:05:04 -0130", Some("2015-05-17T11:35:04Z")),
            ("31/Feb/2015:10:05:04 +0000", None),
            ("17/May/2015:10:05:00 +0000", Some("2015-05-17T10:05:00Z")),
            ("17/May/2015:10:05:00", None),
        ] {
            let read = clock.parse(text.as_bytes()).ok().map(|time| time.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn each_format_reads_its_own() {
        for (format, text, expected) in [
            ("rfc3339", "2015-05-17T12:05:03.5+02:00", Some("2015-05-17T10:05:03.5Z")),
            ("rfc3339", "2015-05-17", None),
            ("unix", "1431857103", Some("2015-05-17T10:05:03Z")),
            ("unix", "1431857103.25", Some("2015-05-17T10:05:03.25Z")),
            ("unix", "1431857103.2x", None),
            ("unix", "-1", None),
            ("unix_ms", "1431857103250", Some("2015-05-17T10:05:03.25Z")),
            ("unix_ns", "1431857103000000001", Some("2015-05-17T10:05:03.000000001Z")),
            ("unix_ns", "99999999999999999999999999", None),
            ("%Y-%m-%d %H:%M:%S", "2015-05-17 10:05:03", Some("2015-05-17T10:05:03Z")),
            ("%d %b %Y %T %z", "17 May 2015 10:05:03 -0100", Some("2015-05-17T11:05:03Z")),
            ("%s", "1431857103", Some("2015-05-17T10:05:03Z")),
        ] {
            let read = format.parse::<TimeFormat>().unwrap().parse(text.as_bytes()).ok();
            assert_eq!(read.map(|time| time.to_string()).as_deref(), expected, "{format}: {text}");
        }
    }

    #[test]
    fn a_pattern_that_names_no_instant_is_refused() {
        for pattern in ["iso", "%H:%M:%S", "%Q%!", "%"] {
            assert!(pattern.parse::<TimeFormat>().is_err(), "{pattern}");
        }
    }
}
