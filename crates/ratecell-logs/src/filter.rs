//! Which records count.

use std::cmp::Ordering;
use std::str::FromStr;

use crate::place::Place;
use crate::record::Record;
use crate::text::{is_digits, trim_start};

/// A condition on a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    place: Place,
    comparison: Comparison,
    text: String,
    /// Where a status is compared with such as `4xx`: its first digit.
    class: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Is,
    IsNot,
    BeginsWith,
    Below,
    Above,
}

/// In an order in which none is found before one that is longer at the same place.
const COMPARISONS: [(&str, Comparison); 5] = [
    ("!=", Comparison::IsNot),
    ("^=", Comparison::BeginsWith),
    ("=", Comparison::Is),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

impl Filter {
    /// Whether the condition holds. What is not there fulfils `!=` alone.
    #[must_use]
    pub fn holds(&self, record: &Record<'_>) -> bool {
        let Some(text) = self.place.text(record) else { return self.comparison == Comparison::IsNot };
        let wanted = self.text.as_bytes();
        match self.comparison {
            Comparison::Is => self.is(&text),
            Comparison::IsNot => !self.is(&text),
            Comparison::BeginsWith => text.starts_with(wanted),
            Comparison::Below => compare(&text, wanted) == Some(Ordering::Less),
            Comparison::Above => compare(&text, wanted) == Some(Ordering::Greater),
        }
    }

    fn is(&self, text: &[u8]) -> bool {
        match self.class {
            // A status has three digits.
            Some(class) => text.first() == Some(&class),
            None => *text == *self.text.as_bytes(),
        }
    }
}

/// Refuses a value that the comparison is never about: the condition would hold for all, or for none.
fn check(text: &str, name: &str, comparison: Comparison, value: &str) -> Result<(), String> {
    let is_number = is_digits(value.as_bytes());
    let wrong = match comparison {
        Comparison::Below | Comparison::Above if !is_number => {
            format!("`{value}` is no whole number, as < and > need")
        }
        Comparison::Is | Comparison::IsNot if value.starts_with('=') => "`==`: write one =".to_owned(),
        Comparison::Is | Comparison::IsNot if name == "status" && !is_number && class(value).is_none() => {
            format!("`{value}` is no status: expected one such as 404, or a class, 1xx to 9xx")
        }
        Comparison::BeginsWith if name == "status" && !is_number => {
            format!("`{value}`: no status begins so: a class, such as 4xx, goes with = and !=")
        }
        _ => return Ok(()),
    };
    Err(format!("`{text}`: {wrong}"))
}

/// The first digit of a class of statuses, such as `4xx`.
fn class(value: &str) -> Option<u8> {
    match value.as_bytes() {
        [class @ b'1'..=b'9', b'x', b'x'] => Some(*class),
        _ => None,
    }
}

/// The order of two whole numbers of any length; `None` if one is none.
fn compare(left: &[u8], right: &[u8]) -> Option<Ordering> {
    if !is_digits(left) || !is_digits(right) {
        return None;
    }
    let (left, right) = (trim_start(left, b'0'), trim_start(right, b'0'));
    Some(left.len().cmp(&right.len()).then_with(|| left.cmp(right)))
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}`: expected a field, =, !=, ^=, < or >, and a value, such as status=4xx or path^=/api"
            )
        };
        let at = text.find(['=', '!', '^', '<', '>']).ok_or_else(wrong)?;
        let (name, rest) = text.split_at(at);
        let found =
            COMPARISONS.iter().find_map(|(sign, comparison)| Some((rest.strip_prefix(sign)?, *comparison)));
        let (value, comparison) = found.ok_or_else(wrong)?;
        if name.is_empty() || name == "header:" {
            return Err(wrong());
        }
        check(text, name, comparison, value)?;
        let class = class(value).filter(|_| name == "status");
        Ok(Self { place: Place::parse(name), comparison, text: value.to_owned(), class })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Line, Options, Reader};

    fn holds(filter: &str, status: &str) -> bool {
        let format: Format = "combined".parse().expect("a format");
        let mut reader = Reader::new(&format, &Options::default());
        let line = format!("a - - [17/May/2015:10:05:03 +0000] \"GET /=4xx HTTP/1.1\" {status} 5");
        let Line::Record(record) = reader.line(line.as_bytes()) else { panic!("{line}: expected a record") };
        filter.parse::<Filter>().expect("a filter").holds(&record)
    }

    #[test]
    fn a_class_is_compared_by_equal_and_by_not_equal() {
        for status in ["404", "400", "499"] {
            assert!(holds("status=4xx", status) && !holds("status!=4xx", status), "{status}");
        }
        for status in ["200", "399", "500"] {
            assert!(!holds("status=4xx", status) && holds("status!=4xx", status), "{status}");
        }
        // What is not there.
        assert!(!holds("status=4xx", "-") && holds("status!=4xx", "-"));
        // Of no other field.
        assert!(holds("bytes!=5xx", "200") && holds("path^=/=", "200") && holds("path=/=4xx", "200"));
    }

    #[test]
    fn a_value_that_no_record_can_have_is_refused() {
        for (filter, part) in [
            ("status>=400", "`=400` is no whole number"),
            ("bytes<=9", "`=9` is no whole number"),
            ("bytes>1k", "`1k` is no whole number"),
            ("bytes<", "`` is no whole number"),
            ("status<4xx", "`4xx` is no whole number"),
            ("status=4XX", "`4XX` is no status"),
            ("status!=0xx", "`0xx` is no status"),
            ("status=40x", "`40x` is no status"),
            ("status=>400", "`>400` is no status"),
            ("status=", "`` is no status"),
            ("status==404", "`==`: write one ="),
            ("path!==/a", "`==`: write one ="),
            ("status^=4xx", "a class, such as 4xx, goes with = and !="),
        ] {
            let error = filter.parse::<Filter>().expect_err("a fault");
            assert!(error.starts_with(&format!("`{filter}`: ")) && error.contains(part), "{filter}: {error}");
        }
    }
}
