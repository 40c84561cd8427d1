//! What to write instead of a number or a duration that is refused.

use super::duration::{UNITS, whole_units};
use super::number::Decimal;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;

/// The number that a text means in a notation that the grammar lacks: `1k`, `1e3`, `1,000`, `.5`, `_1`, `+1`, `1req`.
pub(super) fn number(text: &str) -> Option<String> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, power) = exponent(text)?;
    let mantissa = without_separators(mantissa)?;
    let mantissa = match mantissa.strip_suffix('.') {
        Some(whole) => whole.to_owned(),
        None if mantissa.starts_with('.') => format!("0{mantissa}"),
        None => mantissa,
    };
    let number = Decimal::parse(&mantissa).ok()?;
    if power == 0 {
        return Some(mantissa);
    }
    let (num, den) = number.ratio();
    let product = num.checked_mul(10_u128.checked_pow(power)?)?;
    product.is_multiple_of(den).then(|| (product / den).to_string())
}

/// The mantissa and the power of ten, which an exponent or a letter says; other letters behind a number say nothing.
fn exponent(text: &str) -> Option<(&str, u32)> {
    let mantissa = text.trim_end_matches(char::is_alphabetic);
    let power = match &text[mantissa.len()..] {
        "k" | "K" => 3,
        "M" => 6,
        "G" => 9,
        "" => {
            let Some((mantissa, power)) = text.split_once(['e', 'E']) else { return Some((text, 0)) };
            return Some((mantissa, power.strip_prefix('+').unwrap_or(power).parse().ok()?));
        }
        _ => 0,
    };
    Some((mantissa, power))
}

/// Without underscores and the commas of thousands; another comma is a point.
fn without_separators(text: &str) -> Option<String> {
    let text = text.replace('_', "");
    let groups: Vec<_> = text.split(',').collect();
    match *groups {
        [_] => Some(text),
        [_, ref thousands @ ..] if thousands.iter().all(|group| group.len() == 3) => Some(groups.concat()),
        [whole, fraction] => Some(format!("{whole}.{fraction}")),
        _ => None,
    }
}

/// The duration that a count and a unit mean.
pub(super) fn duration(count: &str, unit: &str) -> Option<String> {
    let known = |unit: &str| UNITS.iter().find(|known| known.reads(unit));
    match known(unit) {
        // Of a fraction of a unit, a whole number of a smaller one.
        Some(known) if count.contains('.') => {
            let (num, den) = Decimal::parse(&number(count)?).ok()?.ratio();
            let ns = num.checked_mul(u128::from(known.ns))?;
            let whole = u64::try_from(ns / den).ok().filter(|_| ns.is_multiple_of(den))?;
            Some(whole_units(whole).to_string())
        }
        Some(_) => Some(format!("{}{unit}", number(count)?)),
        None if unit == "µs" || unit == "μs" => Some(format!("{count}us")),
        None => {
            let lower = unit.to_ascii_lowercase();
            known(&lower).map(|_| format!("{count}{lower}")).or_else(|| sum(&format!("{count}{unit}")))
        }
    }
}

/// One duration for several in a row, such as `1h30m`.
fn sum(text: &str) -> Option<String> {
    let (mut rest, mut total) = (text, 0_u64);
    while !rest.is_empty() {
        let (count, behind) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let (name, behind) =
            behind.split_at(behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len()));
        let unit = UNITS.iter().find(|unit| unit.reads(name))?;
        total = total.checked_add(count.parse::<u64>().ok()?.checked_mul(unit.ns)?)?;
        rest = behind;
    }
    Some(whole_units(total).to_string())
}
