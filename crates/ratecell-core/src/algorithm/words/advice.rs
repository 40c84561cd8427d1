//! What to write instead of a number or a duration that is refused. What is written so is accepted, and none of it
//! is zero.

use super::super::params::MAX_PERIOD_NS;
use super::duration::{UNITS, Unit, whole_units};
use super::number::Decimal;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;

/// What is counted, as it may stand behind a number of it.
const COUNTED: [&str; 5] = ["r", "req", "reqs", "request", "requests"];

/// The limit or cost that a text means in a notation that the grammar lacks: `1k`, `1e3`, `1,000`, `.5`, `_1`, `+1`,
/// `1req`.
pub(crate) fn number(text: &str) -> Option<String> {
    let (written, number) = meant(text)?;
    (number.ratio().0 <= u128::from(u32::MAX)).then_some(written)
}

/// The number that a text means, and how it is written.
fn meant(text: &str) -> Option<(String, Decimal)> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, power) = exponent(text)?;
    let mut written = with_point(&mantissa.replace('_', ""))?;
    let mut number = Decimal::parse(&written).ok()?;
    if power > 0 {
        let (num, den) = number.ratio();
        let product = num.checked_mul(10_u128.checked_pow(power)?)?;
        written = product.is_multiple_of(den).then(|| (product / den).to_string())?;
        number = Decimal::parse(&written).ok()?;
    }
    (number.ratio().0 > 0).then_some((written, number))
}

/// The mantissa and the power of ten, which an exponent or one letter says.
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
        letters if COUNTED.iter().any(|counted| letters.eq_ignore_ascii_case(counted)) => 0,
        _ => return None,
    };
    Some((mantissa, power))
}

/// With a point at most, digits on both its sides, and no zeros at the end behind it.
fn with_point(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let groups: Vec<_> = whole.split(',').collect();
    let (whole, fraction) = match *groups {
        [whole] => (whole.to_owned(), fraction),
        [first, ref thousands @ ..]
            if matches!(first.len(), 1..=3)
                && !first.starts_with('0')
                && thousands.iter().all(|group| group.len() == 3) =>
        {
            (groups.concat(), fraction)
        }
        // A comma for a point, where it cannot be one of thousands.
        [whole, fraction]
            if !text.contains('.') && (matches!(whole, "" | "0") || matches!(fraction.len(), 1 | 2)) =>
        {
            (whole.to_owned(), fraction)
        }
        _ => return None,
    };
    let whole = match (whole.as_str(), fraction) {
        ("", "") => return None,
        ("", _) => "0",
        (whole, _) => whole,
    };
    Some(match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    })
}

/// The duration that a count and a unit mean. A `bare` unit is one of it.
pub(super) fn duration(count: &str, unit: &str, bare: bool) -> Option<String> {
    let lower = unit.to_ascii_lowercase();
    let name = if matches!(unit, "µs" | "μs") { "us" } else { &lower };
    let Some(known) = known(name) else { return sum(&format!("{count}{unit}")) };
    if count.is_empty() {
        return bare.then(|| name.to_owned());
    }
    let (written, number) = meant(count)?;
    let ns = whole_ns(number, known.ns)?;
    // Of a fraction of a unit, a whole number of a smaller one.
    Some(if number.ratio().1 == 1 { format!("{written}{name}") } else { whole_units(ns).to_string() })
}

/// As many days as `count` spans of so many days are.
pub(super) fn days(count: &str, days: u64) -> Option<String> {
    let count = if count.is_empty() { "1" } else { count };
    let day = known("d")?;
    let ns = whole_ns(meant(count)?.1, days * day.ns)?;
    ns.is_multiple_of(day.ns).then(|| format!("{}{}", ns / day.ns, day.name))
}

/// So many times `unit_ns`, if that is whole and may be a period.
fn whole_ns(count: Decimal, unit_ns: u64) -> Option<u64> {
    let (num, den) = count.ratio();
    let ns = num.checked_mul(u128::from(unit_ns))?;
    u64::try_from(ns / den).ok().filter(|whole| ns.is_multiple_of(den) && *whole <= MAX_PERIOD_NS)
}

fn known(name: &str) -> Option<&'static Unit> {
    UNITS.iter().find(|unit| unit.reads(name))
}

/// One duration for several in a row, such as `1h30m`.
fn sum(text: &str) -> Option<String> {
    let (mut rest, mut total) = (text, 0_u64);
    while !rest.is_empty() {
        let (count, behind) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let (name, behind) =
            behind.split_at(behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len()));
        total = total.checked_add(count.parse::<u64>().ok()?.checked_mul(known(name)?.ns)?)?;
        rest = behind;
    }
    matches!(total, 1..=MAX_PERIOD_NS).then(|| whole_units(total).to_string())
}
