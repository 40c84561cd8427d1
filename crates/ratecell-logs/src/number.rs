//! Numbers as logs write them, by their digits.

use crate::reason::Reason;
use crate::text::is_digits;

/// The value of at most `most` digits, which are at most 19.
pub(crate) fn whole(text: &[u8], most: usize) -> Option<u64> {
    if text.is_empty() || text.len() > most {
        return None;
    }
    let mut number: u64 = 0;
    for digit in text {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
    }
    Some(number)
}

/// The bytes of an answer; `-` and nothing are `dash`.
pub(crate) fn bytes(text: &[u8], dash: Option<u64>) -> Result<Option<u64>, Reason> {
    match text {
        b"" | b"-" => Ok(dash),
        _ => whole(text, 18).map(Some).ok_or(Reason::Bytes),
    }
}

pub(crate) fn status(text: &[u8]) -> Result<Option<u16>, Reason> {
    match text {
        b"-" | b"-1" | b"0" | b"000" => Ok(None),
        [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] => {
            Ok(Some(text.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'))))
        }
        _ => Err(Reason::Status),
    }
}

/// The unit of a number of time: 10^-exponent seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    S,
    Ms,
    Us,
    Ns,
}

impl Unit {
    pub(crate) fn exponent(self) -> usize {
        match self {
            Self::S => 0,
            Self::Ms => 3,
            Self::Us => 6,
            Self::Ns => 9,
        }
    }

    pub(crate) fn ns(self) -> u128 {
        10_u128.pow(u32::try_from(9 - self.exponent()).unwrap_or_default())
    }

    /// The nanoseconds of the digits after a point. What is finer is cut off.
    pub(crate) fn fraction_ns(self, digits: &[u8]) -> u64 {
        let places = 9 - self.exponent();
        (0..places)
            .fold(0, |ns, place| ns * 10 + digits.get(place).map_or(0, |digit| u64::from(digit - b'0')))
    }
}

/// `whole.fraction`, both of digits alone; a point without digits after it is none.
pub(crate) fn split_decimal(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        None => (text, &[][..]),
        Some(at) => (&text[..at], &text[at + 1..]),
    };
    let fits = is_digits(whole) && (is_digits(fraction) || whole.len() == text.len());
    fits.then_some((whole, fraction))
}

/// `d.fEn`: the digit and those after the point, the sign of the exponent, and its one or two digits.
pub(crate) fn split_exponent(text: &[u8]) -> Option<(Vec<u8>, &[u8], usize)> {
    let at = memchr::memchr2(b'e', b'E', text)?;
    let (whole, fraction) = split_decimal(&text[..at])?;
    let exponent = &text[at + 1..];
    let (sign, digits) = exponent.split_at(usize::from(matches!(exponent.first(), Some(b'+' | b'-'))));
    let exponent = whole_usize(digits)?;
    (whole.len() == 1).then(|| ([whole, fraction].concat(), sign, exponent))
}

fn whole_usize(digits: &[u8]) -> Option<usize> {
    whole(digits, 2).and_then(|number| usize::try_from(number).ok())
}

/// A duration in a unit; what is no number, or negative, is none.
pub(crate) fn duration_ns(text: &[u8], unit: Unit) -> Option<u128> {
    if let Some((digits, sign, exponent)) = split_exponent(text) {
        if sign != b"-" {
            return None;
        }
        // The point stands behind the first digit, and moves left by the exponent and right by the unit.
        let places = (1 + 9 - unit.exponent()).saturating_sub(exponent);
        let digit = |place: usize| digits.get(place).map_or(0, |digit| u128::from(digit - b'0'));
        return Some((0..places).fold(0, |ns, place| ns * 10 + digit(place)));
    }
    let (seconds, fraction) = split_decimal(text)?;
    Some(u128::from(whole(seconds, 12)?) * unit.ns() + u128::from(unit.fraction_ns(fraction)))
}
