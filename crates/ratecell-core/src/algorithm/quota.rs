//! How much is allowed in which time, as text: what stands between the name of an algorithm and its options.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

use super::params::{MAX_PERIOD_NS, Params};
use super::words::{Decimal, Duration, Word, Words, number_meant, whole_units};
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use crate::zone::Period;

/// The form of an algorithm's quota.
#[derive(Debug)]
pub(crate) struct Quota {
    /// The form, with examples, as errors name it.
    pub(crate) expected: &'static str,
    pub(crate) read: for<'a> fn(&mut Words<'a>, &mut Params) -> Result<Places<'a>, PolicyError>,
    pub(crate) print: fn(&Params, &mut fmt::Formatter<'_>) -> fmt::Result,
    /// Whether the algorithm knows its quota as a rate alone, so that a decimal may say it. Where a window or an
    /// interval has the period's length, a decimal would change that length.
    pub(crate) is_rate: fn(&Params) -> bool,
}

/// Where a quota's parts stand, for errors that only the whole layer shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    pub(crate) limit: Word<'a>,
    /// Where the period begins; the limit, where there is no period.
    pub(crate) period: usize,
    /// Whether the limit was said with a point.
    pub(crate) decimal: bool,
}

/// A rate, which is the same in any unit of time: `100/s`, `0.5/s`.
pub(crate) const RATE: Quota =
    Quota { expected: "LIMIT/PERIOD, such as 100/s or 5000/1h", read, print, is_rate: |_| true };

/// A whole number of units in each window.
pub(crate) const WINDOW: Quota = Quota { is_rate: |_| false, ..RATE };

/// A whole number of units in each day, week, month, quarter or year.
pub(crate) const CALENDAR: Quota = Quota {
    expected: "LIMIT/PERIOD, such as 1000/day or 5000/month",
    read: read_calendar,
    print: print_calendar,
    is_rate: |_| false,
};

/// A number of units at once, in no time: `10`.
pub(crate) const UNITS: Quota =
    Quota { expected: "LIMIT, such as 10", read: read_units, print: print_units, is_rate: |_| false };

impl Quota {
    /// Refuses a decimal where the parameters, of which all are read, want a whole number.
    pub(crate) fn check_decimal(&self, places: &Places<'_>, params: &Params) -> Result<(), PolicyError> {
        if !places.decimal || (self.is_rate)(params) {
            return Ok(());
        }
        let Word { text, .. } = places.limit;
        let whole = Printed(self, params);
        Err(places.limit.refused(format!("limit is `{text}`: expected a whole number, such as {whole}")))
    }
}

/// A quota as it is printed.
struct Printed<'a>(&'a Quota, &'a Params);

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0.print)(self.1, f)
    }
}

/// The limit where it cannot be a part of a unit.
fn whole_number(limit: Word<'_>, amount: Decimal) -> Result<u64, PolicyError> {
    let (num, den) = amount.ratio();
    let whole = u64::try_from(num).ok().filter(|_| den == 1);
    whole.ok_or_else(|| limit.refused(format!("limit is `{}`: expected a whole number", limit.text)))
}

fn print_units(params: &Params, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", params.limit)
}

fn read_units<'a>(words: &mut Words<'a>, params: &mut Params) -> Result<Places<'a>, PolicyError> {
    let limit = words.next_before_slash();
    if limit.is_empty() || limit.is_option() {
        let message = format!("limit is missing: expected {}", UNITS.expected);
        return Err(limit.error(Kind::MissingParameter, message));
    }
    if words.slash() {
        let message =
            format!("`/` after `{}`: expected no period, as it limits what is in flight at once", limit.text);
        return Err(limit.refused(message));
    }
    let amount = Decimal::read(limit, "limit")?;
    params.limit = whole_number(limit, amount)?;
    Ok(Places { limit, period: limit.offset, decimal: amount.has_point() })
}

fn print(params: &Params, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let period = whole_units(params.period_ns);
    write!(f, "{}/", params.limit)?;
    if period.count != 1 {
        write!(f, "{}", period.count)?;
    }
    f.write_str(period.unit)
}

fn print_calendar(params: &Params, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}/{}", params.limit, params.span.map_or("", Period::name))
}

fn read<'a>(words: &mut Words<'a>, params: &mut Params) -> Result<Places<'a>, PolicyError> {
    let (limit, amount, separator) = amount(words, RATE.expected)?;
    let next = words.peek();
    if next.is_empty() || next.is_option() {
        let message = format!("nothing after `{separator}`: expected a period, such as s, 5m or day");
        return Err(next.refused(message));
    }
    let period_ns = Duration::next(words).ns("period", true)?;
    (params.limit, params.period_ns) = in_whole_numbers(limit, amount, period_ns)?;
    Ok(Places { limit, period: next.offset, decimal: amount.has_point() })
}

fn read_calendar<'a>(words: &mut Words<'a>, params: &mut Params) -> Result<Places<'a>, PolicyError> {
    let names = || Period::NAMES.map(|(name, _)| name).join(", ");
    let (limit, amount, separator) = amount_of_calendar(words)?;
    let next = words.peek();
    if next.is_empty() || next.is_option() {
        let message = format!("nothing after `{separator}`: expected {}", names());
        return Err(next.error(Kind::MissingParameter, message));
    }
    let word = words.next();
    let named = Period::NAMES.iter().find(|(name, _)| *name == word.text);
    let Some((_, span)) = named else {
        let message = format!("no calendar period `{}`: expected {}", word.text, names());
        return Err(word.error(Kind::UnknownAlgorithm, message));
    };
    params.limit = whole_number(limit, amount)?;
    params.span = Some(*span);
    params.period_ns = span.days() * 86_400_000_000_000;
    Ok(Places { limit, period: next.offset, decimal: amount.has_point() })
}

/// The limit and the separator of a calendar's quota, whose period may be missing.
fn amount_of_calendar<'a>(words: &mut Words<'a>) -> Result<(Word<'a>, Decimal, &'static str), PolicyError> {
    let mut behind = words.clone();
    let limit = behind.next_before_slash();
    let next = behind.peek();
    if !limit.is_empty() && !limit.is_option() && (next.is_empty() || next.is_option()) {
        let message = format!("nothing after `{}`: expected {}", limit.text, CALENDAR.expected);
        return Err(next.error(Kind::MissingParameter, message));
    }
    amount(words, CALENDAR.expected)
}

/// The limit, and what stands between it and the period.
fn amount<'a>(
    words: &mut Words<'a>,
    expected: &str,
) -> Result<(Word<'a>, Decimal, &'static str), PolicyError> {
    let first = words.next_before_slash();
    if first.is_empty() || first.text == "per" || first.is_option() {
        let before = if first.is_empty() { "/" } else { first.text };
        return Err(first.refused(format!("nothing before `{before}`: expected {expected}")));
    }
    let limit = without_r(first);
    if let Some(instead) = joined(limit.text, words) {
        return Err(limit.refused(format!("`{}`: write {instead}", limit.text)));
    }
    let amount = Decimal::read(limit, "limit")?;
    let separator = separator(words, limit, expected)?;
    Ok((limit, amount, separator))
}

/// The number of `10r`, as nginx has it.
fn without_r(word: Word<'_>) -> Word<'_> {
    match word.text.strip_suffix('r') {
        Some(text) if text.ends_with(|c: char| c.is_ascii_digit()) => Word { text, ..word },
        _ => word,
    }
}

/// What is meant by a number with `rps` or `per` at its end, before the words behind it.
fn joined(text: &str, behind: &Words<'_>) -> Option<String> {
    let count = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let word = &text[count.len()..];
    if word.eq_ignore_ascii_case("per") && !behind.peek().text.starts_with('/') {
        return Some(format!("{} per", number_meant(count)?));
    }
    rate(count, word, behind)
}

/// The whole quota that `rps` and the like mean behind a count, if no period is said behind them.
fn rate(count: &str, word: &str, behind: &Words<'_>) -> Option<String> {
    let next = behind.peek();
    let unit = letter(word).filter(|_| next.is_empty() || next.is_option())?;
    Some(format!("{}/{unit}", number_meant(count)?))
}

/// The unit of `rps`, `RPM`, `qps` and the like.
fn letter(word: &str) -> Option<char> {
    match *word.to_ascii_lowercase().as_bytes() {
        [b'r' | b'q' | b't', b'p', unit @ (b's' | b'm' | b'h' | b'd')] => Some(char::from(unit)),
        _ => None,
    }
}

/// Reads what stands between a limit and its period.
fn separator(words: &mut Words<'_>, limit: Word<'_>, expected: &str) -> Result<&'static str, PolicyError> {
    let mut word = words.next_before_slash();
    if word.text == "r" {
        word = words.next_before_slash();
    }
    match (word.text, words.slash()) {
        ("", true) => Ok("/"),
        ("per", false) => Ok("per"),
        ("", false) => Err(limit.refused(format!("`{}`: expected {expected}", limit.text))),
        ("per", true) => Err(word.refused("`per` and `/`: expected one of them".to_owned())),
        (text, slash) => {
            let instead = match slash {
                true => None,
                false if text.eq_ignore_ascii_case("per") => Some("per".to_owned()),
                false => rate(limit.text, text, words),
            };
            Err(word.refused(match instead {
                Some(instead) => format!("`{text}`: write {instead}"),
                None => format!("`{text}` after `{}`: expected {expected}", limit.text),
            }))
        }
    }
}

/// The limit and the period, in nanoseconds, of a limit that may be a decimal.
fn in_whole_numbers(word: Word<'_>, limit: Decimal, period_ns: u64) -> Result<(u64, u64), PolicyError> {
    let (num, den) = limit.ratio();
    let period = u128::from(period_ns) * den;
    match (u64::try_from(num), u64::try_from(period)) {
        // What a whole number may be, its own check says by its own name.
        (Ok(num), _) if den == 1 => Ok((num, period_ns)),
        (Ok(num), Ok(period)) if num <= u64::from(u32::MAX) && period <= MAX_PERIOD_NS => Ok((num, period)),
        _ => {
            let message = format!(
                "limit is `{}`: {num} in {den} periods is out of range, expected fewer digits",
                word.text
            );
            Err(word.error(Kind::Range, message))
        }
    }
}
