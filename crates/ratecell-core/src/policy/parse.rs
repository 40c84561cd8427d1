//! Policies from text.

use super::{Layer, Policy, form};
use crate::algorithm::params::{COMMON_OPTIONS, FLAGS, Field, LIMIT, Mode, PERIOD, Params, Start};
use crate::algorithm::{FORMS, Form};
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The units of a duration, smallest first.
pub(super) const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("w", 604_800_000_000_000),
];

const LIMIT_PERIOD: &str = "LIMIT/PERIOD, such as 100/s or 5000/1h";

/// A word of the text and where it begins.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    offset: usize,
}

fn syntax(offset: usize, message: String) -> PolicyError {
    PolicyError::new(Kind::Syntax, message).at(offset)
}

pub(super) fn policy(text: &str) -> Result<Policy, PolicyError> {
    let mut layers = Vec::new();
    let mut offset = 0;
    for part in text.split('&') {
        layers.push(layer(part, offset)?);
        offset += part.len() + 1;
    }
    Policy::of(layers)
}

fn tokens(part: &str, offset: usize) -> impl Iterator<Item = Token<'_>> {
    part.split_ascii_whitespace().map(move |text| {
        // Both point into the same string: the distance is where the token begins.
        Token { text, offset: offset + (text.as_ptr() as usize - part.as_ptr() as usize) }
    })
}

fn layer(part: &str, offset: usize) -> Result<Layer, PolicyError> {
    let end = offset + part.trim_ascii_end().len();
    let mut rest = tokens(part, offset);
    let Some(first) = rest.next() else {
        return Err(syntax(offset, format!("nothing here: expected {LIMIT_PERIOD}")));
    };
    let (form, quota) = if first.text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        (algorithm(first)?, rest.next())
    } else {
        (algorithm(Token { text: "gcra", offset: first.offset })?, Some(first))
    };
    let Some(quota) = quota else {
        return Err(syntax(end, format!("the text ends after `{}`: expected {LIMIT_PERIOD}", first.text)));
    };
    let mut params = limit_and_period(quota)?;
    for token in rest {
        option(token, form, &mut params)?;
    }
    // Each is accepted for itself; whether they fit together shows only now.
    Layer::new(form, params).map_err(|error| {
        let place = match error.param() {
            Some(LIMIT) => Some(quota.offset),
            Some(PERIOD) => quota.text.find('/').map(|slash| quota.offset + slash + 1),
            Some(name) => tokens(part, offset).find_map(|token| {
                let value = token.text.strip_prefix(name)?.strip_prefix('=')?;
                Some(token.offset + token.text.len() - value.len())
            }),
            None => None,
        };
        error.at(place.unwrap_or(first.offset))
    })
}

fn algorithm(token: Token<'_>) -> Result<&'static Form, PolicyError> {
    form(token.text).ok_or_else(|| {
        let names: Vec<_> = FORMS.iter().map(|form| form.name).collect();
        let message = format!("no algorithm `{}`: expected {}", token.text, names.join(", "));
        PolicyError::new(Kind::UnknownAlgorithm, message).at(token.offset)
    })
}

fn limit_and_period(token: Token<'_>) -> Result<Params, PolicyError> {
    let Some((limit, period)) = token.text.split_once('/') else {
        return Err(syntax(token.offset, format!("`{}`: expected {LIMIT_PERIOD}", token.text)));
    };
    let period = Token { text: period, offset: token.offset + limit.len() + 1 };
    let limit = number(Token { text: limit, offset: token.offset }, "limit")?;
    Ok(Params { limit, period_ns: duration(period, "period", true)?, ..Params::default() })
}

fn number(token: Token<'_>, name: &str) -> Result<u64, PolicyError> {
    if token.text.is_empty() || !token.text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(syntax(token.offset, format!("{name} is `{}`: expected a whole number", token.text)));
    }
    token.text.parse().map_err(|_| {
        PolicyError::new(Kind::Range, format!("{name} is {}: expected less than 2^64", token.text))
            .at(token.offset)
    })
}

/// A whole number and a unit; for a period the number may be left out, as in `/s`.
fn duration(token: Token<'_>, name: &str, bare_unit: bool) -> Result<u64, PolicyError> {
    let digits = token.text.len() - token.text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (count, unit) = token.text.split_at(digits);
    let Some((_, unit_ns)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let expected =
            if bare_unit { "a unit, or a whole number and a unit" } else { "a whole number and a unit" };
        let units: Vec<_> = UNITS.iter().map(|(name, _)| *name).collect();
        return Err(syntax(
            token.offset,
            format!("{name} is `{}`: expected {expected}: {}", token.text, units.join(" ")),
        ));
    };
    let count = if count.is_empty() && bare_unit { 1 } else { number(Token { text: count, ..token }, name)? };
    count.checked_mul(*unit_ns).ok_or_else(|| {
        PolicyError::new(Kind::Range, format!("{name} is {}: expected less than 2^64 ns", token.text))
            .at(token.offset)
    })
}

fn option(token: Token<'_>, form: &Form, params: &mut Params) -> Result<(), PolicyError> {
    let Some((name, value)) = token.text.split_once('=') else {
        return Err(syntax(token.offset, format!("`{}`: expected option=value", token.text)));
    };
    let Some(key) = form.options.iter().chain(&COMMON_OPTIONS).find(|key| key.name() == name) else {
        let names: Vec<_> = form.options.iter().chain(&COMMON_OPTIONS).map(|key| key.name()).collect();
        return Err(syntax(
            token.offset,
            format!("{} has no option `{name}`: expected {}", form.name, names.join(", ")),
        ));
    };
    let value = Token { text: value, offset: token.offset + name.len() + 1 };
    let unsaid = match params.field(*key) {
        Field::Units(field) => field.replace(number(value, name)?).is_none(),
        Field::DurationNs(field) => field.replace(duration(value, name, false)?).is_none(),
        Field::Flag(field) => field.replace(one_of(value, name, &FLAGS, Kind::Syntax)?).is_none(),
        Field::Mode(field) => {
            field.replace(one_of(value, name, &Mode::NAMES, Kind::UnknownAlgorithm)?).is_none()
        }
        Field::Start(field) => {
            field.replace(one_of(value, name, &Start::NAMES, Kind::UnknownAlgorithm)?).is_none()
        }
    };
    if unsaid { Ok(()) } else { Err(syntax(token.offset, format!("{name} is given twice"))) }
}

fn one_of<T: Copy>(token: Token<'_>, name: &str, values: &[(&str, T)], kind: Kind) -> Result<T, PolicyError> {
    values.iter().find(|(value, _)| *value == token.text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
        let message = format!("{name} is `{}`: expected {}", token.text, names.join(", "));
        PolicyError::new(kind, message).at(token.offset)
    })
}
