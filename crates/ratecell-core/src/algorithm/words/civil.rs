//! Words of the civil calendar: zones, times of day, weekdays and days of a month.

use alloc::format;

use super::Word;
use super::number::whole;
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use crate::zone::{Tz, Weekday, expected_zone, minutes_of_day, zone_of_place};

/// A number where a name is expected is of the wrong type, rather than an unknown name.
fn is_number(word: Word<'_>) -> bool {
    !word.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The kind of an error about `word`, which is not what it should be.
fn kind(word: Word<'_>, otherwise: Kind) -> Kind {
    if is_number(word) { Kind::MissingParameter } else { otherwise }
}

/// A zone's name.
pub(crate) fn zone(word: Word<'_>) -> Result<Tz, PolicyError> {
    Tz::of_name(word.text).ok_or_else(|| {
        let text = word.text;
        let expected = match zone_of_place(text) {
            Some(name) => format!("write {name}"),
            None => expected_zone().into(),
        };
        word.error(kind(word, Kind::BadZone), format!("tz is `{text}`: {expected}"))
    })
}

/// A zone that is named outside of a policy's text.
pub(crate) fn zone_named(text: &str) -> Result<Tz, PolicyError> {
    zone(Word { text, offset: 0 }).map_err(PolicyError::without_place)
}

/// A time of day, in minutes.
pub(crate) fn time(word: Word<'_>) -> Result<u16, PolicyError> {
    minutes_of_day(word.text).ok_or_else(|| {
        let message = format!("at is `{}`: expected HH:MM, from 00:00 to 23:59", word.text);
        word.error(kind(word, Kind::BadOffset), message)
    })
}

/// A day of the week.
pub(crate) fn weekday(word: Word<'_>) -> Result<Weekday, PolicyError> {
    let named = Weekday::NAMES.iter().find(|(name, _)| *name == word.text);
    named.map(|(_, day)| *day).ok_or_else(|| {
        let names = Weekday::NAMES.map(|(name, _)| name).join(", ");
        word.error(kind(word, Kind::BadOffset), format!("week is `{}`: expected {names}", word.text))
    })
}

/// A day of a month.
pub(crate) fn day(word: Word<'_>) -> Result<u8, PolicyError> {
    let number = whole(word, "day").ok();
    let day = number.and_then(|day| u8::try_from(day).ok()).filter(|day| (1..=31).contains(day));
    day.ok_or_else(|| {
        let kind = if is_number(word) { Kind::BadOffset } else { Kind::MissingParameter };
        word.error(kind, format!("day is `{}`: expected a whole number from 1 to 31", word.text))
    })
}
