//! The zone of times that are written without an offset.

use std::fmt;
use std::str::FromStr;

/// Further from UTC is no zone.
const MOST_SECONDS: i32 = 86_399;

/// A fixed distance from UTC. As text `+hh:mm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    /// East of UTC.
    pub(crate) seconds: i32,
}

impl FromStr for Zone {
    type Err = String;

    /// Four digits after a sign are hours and minutes. Seconds with a sign have five digits, so that neither `+1` nor
    /// `+01` is a second, and those without a sign begin with no zero, so that `0100` is not 100 of them.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}`: expected +hh:mm or +hhmm, also with -, Z, UTC, or seconds east of UTC such as 3600 or -18000"
            )
        };
        let seconds = if text.eq_ignore_ascii_case("z") || text.eq_ignore_ascii_case("utc") {
            Some(0)
        } else if let Some(east) = text.strip_prefix('+') {
            signed(east)
        } else if let Some(west) = text.strip_prefix('-') {
            signed(west).map(|seconds| -seconds)
        } else {
            number(text).filter(|_| text == "0" || !text.starts_with('0'))
        };
        let seconds = seconds.filter(|seconds| (-MOST_SECONDS..=MOST_SECONDS).contains(seconds));
        seconds.map(|seconds| Self { seconds }).ok_or_else(wrong)
    }
}

/// The seconds of what follows a sign.
fn signed(text: &str) -> Option<i32> {
    let (hours, minutes) = match text.split_once(':') {
        Some(parts) => parts,
        None if text.len() == 5 => return number(text),
        None => text.split_at_checked(2)?,
    };
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let minutes = number(minutes).filter(|minutes| *minutes < 60)?;
    Some(number(hours)? * 3600 + minutes * 60)
}

/// A number of digits alone.
fn number(text: &str) -> Option<i32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.seconds < 0 { '-' } else { '+' };
        let seconds = self.seconds.unsigned_abs();
        write!(f, "{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60)?;
        if !seconds.is_multiple_of(60) {
            write!(f, ":{:02}", seconds % 60)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_one_zone_and_the_rest_is_none() {
        for (text, seconds, shown) in [
            ("+01:00", 3600, "+01:00"),
            ("+0100", 3600, "+01:00"),
            ("-0130", -5400, "-01:30"),
            ("-01:30", -5400, "-01:30"),
            ("+2359", 86_340, "+23:59"),
            ("Z", 0, "+00:00"),
            ("UTC", 0, "+00:00"),
            ("0", 0, "+00:00"),
            ("100", 100, "+00:01:40"),
            ("5400", 5400, "+01:30"),
            ("-18000", -18_000, "-05:00"),
            ("+19800", 19_800, "+05:30"),
            ("86399", 86_399, "+23:59:59"),
        ] {
            let zone = text.parse::<Zone>();
            assert_eq!(zone, Ok(Zone { seconds }), "{text}");
            assert_eq!(Zone { seconds }.to_string(), shown);
        }
        for text in [
            "",
            "+",
            "-",
            "CET",
            "+1",
            "+01",
            "+100",
            "-060",
            "0100",
            "01:00",
            "+1:00",
            "+01:0",
            "+01:60",
            "+0160",
            "+2400",
            "+5400",
            "+01:00:00",
            "++100",
            "+-100",
            "--18000",
            "+ 100",
            "86400",
            "-86400",
            "1e3",
            "+0\u{e9}0",
        ] {
            assert!(text.parse::<Zone>().is_err(), "{text}");
        }
    }
}
