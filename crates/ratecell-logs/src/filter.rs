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
            Comparison::Is => {
                *text == *wanted || self.class.is_some_and(|class| text.first() == Some(&class))
            }
            Comparison::IsNot => *text != *wanted,
            Comparison::BeginsWith => text.starts_with(wanted),
            Comparison::Below => compare(&text, wanted) == Some(Ordering::Less),
            Comparison::Above => compare(&text, wanted) == Some(Ordering::Greater),
        }
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
        let class = match value.as_bytes() {
            [class, b'x', b'x'] if name == "status" => Some(*class),
            _ => None,
        };
        Ok(Self { place: Place::parse(name), comparison, text: value.to_owned(), class })
    }
}
