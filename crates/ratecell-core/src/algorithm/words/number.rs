//! Numbers: whole ones, and decimals as exact ratios.

use super::{SEPARATORS, Word, advice};
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use alloc::format;
use alloc::string::String;

/// Digits after the point at most.
pub(crate) const MAX_PLACES: u32 = 9;

/// `digits / 10^places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// Below 2^64 * 10^[`MAX_PLACES`].
    digits: u128,
    places: u32,
}

/// Why a text is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    Spec,
    /// 2^64 or more.
    Large,
    /// More than [`MAX_PLACES`] digits after the point.
    Fine,
}

impl Decimal {
    /// The limit that `word` says, under its name in errors.
    pub(crate) fn read(word: Word<'_>, name: &str) -> Result<Self, PolicyError> {
        Self::parse(word.text).map_err(|flaw| {
            let instead = advice::number(word.text);
            refused(word, name, flaw, instead, "expected a number, such as 100 or 0.5")
        })
    }

    pub(super) fn parse(text: &str) -> Result<Self, Flaw> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let digits = parse_whole(whole)?;
        let Some(fraction) = fraction else {
            return Ok(Self { digits: u128::from(digits), places: 0 });
        };
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Flaw::Spec);
        }
        let places = u32::try_from(fraction.len()).ok().filter(|places| *places <= MAX_PLACES);
        let places = places.ok_or(Flaw::Fine)?;
        let below_the_point: u64 = fraction.parse().map_err(|_| Flaw::Fine)?;
        Ok(Self { digits: u128::from(digits) * 10_u128.pow(places) + u128::from(below_the_point), places })
    }

    /// The numerator and the denominator in lowest terms.
    pub(crate) fn ratio(self) -> (u128, u128) {
        let ten_to = 10_u128.pow(self.places);
        let divisor = greatest_common_divisor(self.digits, ten_to);
        (self.digits / divisor, ten_to / divisor)
    }

    /// Whether it was said with a point.
    pub(crate) fn has_point(self) -> bool {
        self.places > 0
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Digits, with single underscores between them.
fn parse_whole(text: &str) -> Result<u64, Flaw> {
    let is_group = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    if !text.split('_').all(is_group) {
        return Err(Flaw::Spec);
    }
    text.replace('_', "").parse().map_err(|_| Flaw::Large)
}

/// The whole number that `word` says, under its name in errors.
pub(crate) fn whole(word: Word<'_>, name: &str) -> Result<u64, PolicyError> {
    parse_whole(word.text).map_err(|flaw| {
        let instead = advice::number(word.text).filter(|number| parse_whole(number).is_ok());
        refused(word, name, flaw, instead, "expected a whole number")
    })
}

fn refused(word: Word<'_>, name: &str, flaw: Flaw, instead: Option<String>, expected: &str) -> PolicyError {
    let Word { text, .. } = word;
    let expected = if word.is_list() { SEPARATORS } else { expected };
    match (flaw, instead) {
        (Flaw::Large, _) => word.error(Kind::Range, format!("{name} is {text}: expected less than 2^64")),
        (Flaw::Fine, _) => {
            word.refused(format!("{name} is `{text}`: expected at most {MAX_PLACES} digits after the point"))
        }
        (Flaw::Spec, Some(instead)) => word.refused(format!("{name} is `{text}`: write {instead}")),
        (Flaw::Spec, None) => word.refused(format!("{name} is `{text}`: {expected}")),
    }
}
