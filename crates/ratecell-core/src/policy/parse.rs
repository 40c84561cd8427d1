//! Policies from text.

use super::{Layer, Policy, form};
use crate::algorithm::params::{COMMON_OPTIONS, FLAGS, Field, Key, LIMIT, Mode, PERIOD, Params, Start};
use crate::algorithm::words::{Duration, SEPARATORS, Word, Words, day, time, weekday, whole, zone};
use crate::algorithm::{SPECS, Spec, gcra};
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use alloc::format;
use alloc::vec::Vec;

/// What a layer without a name is.
const DEFAULT: &Spec = &gcra::GCRA;

pub(super) fn policy(text: &str) -> Result<Policy, PolicyError> {
    let mut layers = Vec::new();
    let mut offset = 0;
    for part in text.split('&') {
        layers.push(layer(part, offset)?);
        offset += part.len() + 1;
    }
    Policy::of(layers)
}

fn layer(part: &str, offset: usize) -> Result<Layer, PolicyError> {
    let mut words = Words::new(part, offset);
    let first = words.peek();
    if first.is_empty() {
        return Err(first.refused(format!("nothing here: expected {}", DEFAULT.quota.expected)));
    }
    let form = if is_name(first.text) { algorithm(words.next())? } else { DEFAULT };
    if words.peek().is_empty() {
        let message = format!("the text ends after `{}`: expected {}", first.text, form.quota.expected);
        return Err(words.next().refused(message));
    }
    let mut params = Params::default();
    let quota = (form.quota.read)(&mut words, &mut params)?;
    let options = words.clone();
    while !words.peek().is_empty() {
        option(words.next(), form, &mut params)?;
    }
    form.quota.check_decimal(&quota, &params)?;
    // Each is accepted for itself; whether they fit together shows only now.
    Layer::new(form, params).map_err(|error| {
        let place = match error.param() {
            Some(LIMIT) => Some(quota.limit.offset),
            Some(PERIOD) => Some(quota.period),
            Some(name) => value_of(options, name),
            None => None,
        };
        error.at(place.unwrap_or(first.offset))
    })
}

/// Whether a layer's first word is to be an algorithm.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic()) && word != "per" && !word.contains('=')
}

/// Where the value of the option `name` begins.
fn value_of(mut options: Words<'_>, name: &str) -> Option<usize> {
    loop {
        let word = options.next();
        match word.text.split_once('=') {
            Some((said, _)) if said == name => return Some(word.offset + name.len() + 1),
            None if word.is_empty() => return None,
            _ => {}
        }
    }
}

fn algorithm(word: Word<'_>) -> Result<&'static Spec, PolicyError> {
    form(word.text).ok_or_else(|| {
        let names: Vec<_> = SPECS.iter().map(|form| form.name).collect();
        let message = format!("no algorithm `{}`: expected {}", word.text, names.join(", "));
        word.error(Kind::UnknownAlgorithm, message)
    })
}

fn option(word: Word<'_>, form: &Spec, params: &mut Params) -> Result<(), PolicyError> {
    let Some((name, value)) = word.text.split_once('=') else {
        return Err(word.refused(format!(
            "`{}`: expected option=value without white space, or & and another layer",
            word.text
        )));
    };
    let Some(key) = form.options.iter().chain(&COMMON_OPTIONS).find(|key| key.name() == name) else {
        let names: Vec<_> = form.options.iter().chain(&COMMON_OPTIONS).map(|key| key.name()).collect();
        let message = format!("{} has no option `{name}`: expected {}", form.name, names.join(", "));
        return Err(word.refused(message));
    };
    let value = Word { text: value, offset: word.offset + name.len() + 1 };
    if value.is_list() && matches!(key, Key::Tz | Key::At | Key::Week | Key::Day) {
        return Err(value.refused(format!("{name} is `{}`: {SEPARATORS}", value.text)));
    }
    let unsaid = match params.field(*key) {
        Field::Units(field) => field.replace(whole(value, name)?).is_none(),
        Field::DurationNs(field) => field.replace(Duration::of(value).ns(name, false)?).is_none(),
        Field::Flag(field) => field.replace(one_of(value, name, &FLAGS, Kind::Syntax)?).is_none(),
        Field::Mode(field) => {
            field.replace(one_of(value, name, &Mode::NAMES, Kind::UnknownAlgorithm)?).is_none()
        }
        Field::Start(field) => {
            field.replace(one_of(value, name, &Start::NAMES, Kind::UnknownAlgorithm)?).is_none()
        }
        Field::Tz(field) => field.replace(zone(value)?).is_none(),
        Field::Time(field) => field.replace(time(value)?).is_none(),
        Field::Weekday(field) => field.replace(weekday(value)?).is_none(),
        Field::Day(field) => field.replace(day(value)?).is_none(),
    };
    if unsaid { Ok(()) } else { Err(word.refused(format!("{name} is given twice"))) }
}

fn one_of<T: Copy>(word: Word<'_>, name: &str, values: &[(&str, T)], kind: Kind) -> Result<T, PolicyError> {
    values.iter().find(|(value, _)| *value == word.text).map(|(_, value)| *value).ok_or_else(|| {
        if word.is_list() {
            return word.refused(format!("{name} is `{}`: {SEPARATORS}", word.text));
        }
        let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
        word.error(kind, format!("{name} is `{}`: expected {}", word.text, names.join(", ")))
    })
}
