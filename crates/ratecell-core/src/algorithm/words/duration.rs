//! Durations: a whole number and a unit.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

use super::number::whole;
use super::{SEPARATORS, Word, Words, advice};
use crate::error::{PolicyError, PolicyErrorKind as Kind};

#[derive(Debug)]
pub(crate) struct Unit {
    /// The name that is printed.
    pub(crate) name: &'static str,
    /// The names that are read besides.
    pub(crate) others: &'static [&'static str],
    pub(crate) ns: u64,
}

impl Unit {
    const fn new(name: &'static str, others: &'static [&'static str], ns: u64) -> Self {
        Self { name, others, ns }
    }

    pub(super) fn reads(&self, name: &str) -> bool {
        self.name == name || self.others.contains(&name)
    }
}

/// The units, smallest first.
pub(crate) const UNITS: [Unit; 8] = [
    Unit::new("ns", &["nanosecond", "nanoseconds"], 1),
    Unit::new("us", &["microsecond", "microseconds"], 1_000),
    Unit::new("ms", &["millisecond", "milliseconds"], 1_000_000),
    Unit::new("s", &["sec", "secs", "second", "seconds"], 1_000_000_000),
    Unit::new("m", &["min", "mins", "minute", "minutes"], 60_000_000_000),
    Unit::new("h", &["hr", "hrs", "hour", "hours"], 3_600_000_000_000),
    Unit::new("d", &["day", "days"], 86_400_000_000_000),
    Unit::new("w", &["week", "weeks"], 604_800_000_000_000),
];

/// Spans of the calendar, which have no one length: their names, what they are, and days that are about as long.
const LASTING: [(&[&str], &str, u64); 3] = [
    (&["mo", "month", "months"], "a month", 30),
    (&["quarter", "quarters"], "a quarter", 90),
    (&["y", "yr", "yrs", "year", "years"], "a year", 365),
];

/// A duration as it is written: a count, which may be left out where `bare` is allowed, and a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Duration<'a> {
    count: &'a str,
    unit: &'a str,
    offset: usize,
}

impl<'a> Duration<'a> {
    /// Of one word.
    pub(crate) fn of(word: Word<'a>) -> Self {
        let digits = word.text.find(char::is_alphabetic).unwrap_or(word.text.len());
        let (count, unit) = word.text.split_at(digits);
        Self { count, unit, offset: word.offset }
    }

    /// Of one word, or of two: a count and a unit.
    pub(crate) fn next(words: &mut Words<'a>) -> Self {
        let said = Self::of(words.next());
        let next = words.peek();
        if said.unit.is_empty() && next.text.starts_with(char::is_alphabetic) && !next.is_option() {
            return Self { unit: words.next().text, ..said };
        }
        said
    }

    /// Its nanoseconds, under its name in errors. A `bare` unit is one of it.
    pub(crate) fn ns(self, name: &str, bare: bool) -> Result<u64, PolicyError> {
        let Some(unit) = UNITS.iter().find(|unit| unit.reads(self.unit)) else {
            return Err(self.refused(name, bare));
        };
        let count = match self.count {
            "" if bare => 1,
            "" => return Err(self.refused(name, bare)),
            text => whole(self.word(text), name).map_err(|error| match error.kind() {
                Kind::Range => self.too_long(name),
                _ => self.refused(name, bare),
            })?,
        };
        count.checked_mul(unit.ns).ok_or_else(|| self.too_long(name))
    }

    fn word<'t>(self, text: &'t str) -> Word<'t> {
        Word { text, offset: self.offset }
    }

    fn too_long(self, name: &str) -> PolicyError {
        let message = format!("{name} is {self}: expected less than 2^64 ns");
        self.word(self.count).error(Kind::Range, message)
    }

    fn refused(self, name: &str, bare: bool) -> PolicyError {
        let expected = if let Some(lasting) = self.lasting() {
            lasting
        } else if self.unit == "M" {
            "expected m for minutes, or 30d for a month".to_owned()
        } else if self.unit.contains(',') || self.word(&format!("{self}")).is_list() {
            SEPARATORS.to_owned()
        } else if self.word(self.unit).has_option() {
            "expected white space before an option".to_owned()
        } else if self.unit.is_empty() && whole(self.word(self.count), name).is_ok_and(|count| count > 0) {
            format!("expected a unit behind it, such as {}s", self.count)
        } else if let Some(duration) = advice::duration(self.count, self.unit, bare) {
            format!("write {duration}")
        } else {
            let form =
                if bare { "a unit, or a whole number and a unit" } else { "a whole number and a unit" };
            format!("expected {form}: {}", UNITS.each_ref().map(|unit| unit.name).join(" "))
        };
        self.word(self.count).refused(format!("{name} is `{self}`: {expected}"))
    }

    /// Why a span of the calendar is none, and about how many days it has.
    fn lasting(self) -> Option<String> {
        let unit = self.unit.to_ascii_lowercase();
        let (_, span, days) = LASTING.iter().find(|(names, ..)| names.contains(&unit.as_str()))?;
        Some(match advice::days(self.count, *days) {
            Some(days) => format!("{span} has no fixed length, write {days}"),
            None => format!("{span} has no fixed length, expected a whole number of days"),
        })
    }
}

impl fmt::Display for Duration<'_> {
    /// As one word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.count, self.unit)
    }
}

/// A duration in the largest unit that divides it.
#[derive(Clone, Copy, Debug)]
pub struct WholeUnits {
    pub(crate) count: u64,
    pub(crate) unit: &'static str,
}

/// `ns` nanoseconds in the largest unit that divides them.
pub fn whole_units(ns: u64) -> WholeUnits {
    let largest = UNITS.iter().rev().find(|unit| ns >= unit.ns && ns.is_multiple_of(unit.ns));
    let (unit, unit_ns) = largest.map_or(("ns", 1), |unit| (unit.name, unit.ns));
    WholeUnits { count: ns / unit_ns, unit }
}

impl fmt::Display for WholeUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.count, self.unit)
    }
}
