//! Where in a line of any text a key or a time is.

use std::num::NonZeroUsize;
use std::str::FromStr;

use memchr::{memchr, memchr2};
use regex::bytes::Regex;

use super::Malformed;

/// A part of a line, by its number or by a pattern.
#[derive(Clone, Debug)]
pub enum Selector {
    /// A field, counted from 1.
    Field(NonZeroUsize),
    /// The first group of a pattern, or else its match.
    Regex(Regex),
}

impl Selector {
    pub(crate) const EXPECTED: &str = "field:N or regex:RE";

    pub(crate) fn select<'l>(&self, line: &'l [u8]) -> Result<&'l [u8], Malformed> {
        match self {
            Self::Field(number) => {
                Fields::of(line).nth(number.get() - 1).ok_or(Malformed("fewer fields than field:N asks for"))
            }
            Self::Regex(regex) => {
                let captures = regex.captures(line).ok_or(Malformed("no match of regex:RE"))?;
                let part = captures.get(1).or_else(|| captures.get(0));
                part.map(|part| part.as_bytes()).ok_or(Malformed("no match of regex:RE"))
            }
        }
    }
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("field", number)) => number
                .parse()
                .map(Self::Field)
                .map_err(|_| format!("field `{number}`: expected a whole number from 1")),
            Some(("regex", regex)) => Regex::new(regex).map(Self::Regex).map_err(|error| {
                // The lines before the last one draw where in the pattern it is.
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                format!("regex `{regex}`: {}", reason.strip_prefix("error: ").unwrap_or(reason))
            }),
            _ => Err(format!("expected {}", Self::EXPECTED)),
        }
    }
}

/// The fields of a line: words, and `"quoted text"` and `[bracketed text]` as one word each, without
/// its marks. What is not closed runs to the end of the line.
#[derive(Debug)]
pub(crate) struct Fields<'l> {
    rest: &'l [u8],
}

impl<'l> Fields<'l> {
    pub(crate) fn of(line: &'l [u8]) -> Self {
        Self { rest: line }
    }
}

impl<'l> Iterator for Fields<'l> {
    type Item = &'l [u8];

    fn next(&mut self) -> Option<&'l [u8]> {
        let rest = self.rest.trim_ascii_start();
        let (field, rest) = match rest.split_first()? {
            (b'"', quoted) => split_around(quoted, closing_quote(quoted)),
            (b'[', bracketed) => split_around(bracketed, memchr(b']', bracketed)),
            _ => split_around(rest, rest.iter().position(u8::is_ascii_whitespace)),
        };
        self.rest = rest;
        Some(field)
    }
}

/// Where a quoted text ends; the opening quote is not part of it. A backslash takes the next byte with it.
pub(crate) fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', text.get(from..)?)?;
        match text.get(at) {
            Some(b'"') => return Some(at),
            _ => from = at + 2,
        }
    }
}

/// What comes before and after the byte at `at`; all of it and nothing if there is none.
pub(crate) fn split_around(text: &[u8], at: Option<usize>) -> (&[u8], &[u8]) {
    let (before, from) = text.split_at(at.unwrap_or(text.len()));
    (before, from.get(1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Vec<&str> {
        Fields::of(line.as_bytes()).map(|field| std::str::from_utf8(field).unwrap()).collect()
    }

    #[test]
    fn marks_hold_a_field_together() {
        assert_eq!(fields("a  [b c]\t\"d \\\" e\" f"), ["a", "b c", "d \\\" e", "f"]);
        assert_eq!(fields(r#""" [] x"#), ["", "", "x"]);
    }

    #[test]
    fn what_is_not_closed_runs_to_the_end() {
        assert_eq!(fields(r#"a "b c"#), ["a", "b c"]);
        assert_eq!(fields(r#"a "b \"#), ["a", r"b \"]);
        assert_eq!(fields("a [b c"), ["a", "b c"]);
        assert_eq!(fields(" "), [""; 0]);
    }

    #[test]
    fn the_first_group_counts_and_else_the_match() {
        let select = |selector: &str, line: &'static str| {
            selector
                .parse::<Selector>()
                .unwrap()
                .select(line.as_bytes())
                .ok()
                .map(|part| std::str::from_utf8(part).unwrap())
        };
        assert_eq!(select("regex:id=([0-9]+)", "a id=42 b"), Some("42"));
        assert_eq!(select("regex:id=[0-9]+", "a id=42 b"), Some("id=42"));
        assert_eq!(select("regex:id=[0-9]+", "a b"), None);
        assert_eq!(select("field:2", "a b"), Some("b"));
        assert_eq!(select("field:3", "a b"), None);
    }
}
