//! The text of a policy: what is accepted is printed as itself, what is not is told where, and C has the
//! same answers as Rust.

use core::ffi::{CStr, c_char};
use std::ffi::CString;

use ratecell::ffi::ratecell_status::RATECELL_EPOLICY_SYNTAX;
use ratecell::ffi::{ratecell_policy_explain, ratecell_policy_format, ratecell_strerror};
use ratecell::{Policy, PolicyError, PolicyErrorKind};

use crate::text::written;

pub fn run(text: &[u8]) {
    let parsed = core::str::from_utf8(text).ok().map(|text| (text, text.parse::<Policy>()));
    match &parsed {
        Some((text, Ok(policy))) => accepted(text, policy),
        Some((text, Err(error))) => refused(text, error),
        None => {}
    }
    if let Ok(text) = CString::new(text) {
        agrees(&text, parsed.map(|(_, parsed)| parsed));
    }
}

fn accepted(text: &str, policy: &Policy) {
    let printed = policy.to_string();
    let again: Policy =
        printed.parse().unwrap_or_else(|error| panic!("{text:?}, printed {printed:?}: {error}"));
    assert_eq!(&again, policy, "{text:?}, printed {printed:?}: expected the same policy");
    assert_eq!(again.to_string(), printed, "{text:?}: expected to be printed the same again");
    assert_eq!(meaning(&printed), meaning(text), "{text:?}, printed {printed:?}: expected the same meaning");
    assert_eq!(
        printed.split(' ').collect::<Vec<_>>(),
        printed.split_ascii_whitespace().collect::<Vec<_>>(),
        "{text:?}"
    );
    assert!(policy.capacity() > 0, "{text:?}: expected a capacity above 0");
    assert!((1..=8).contains(&policy.resolved().count()), "{text:?}: expected 1 to 8 layers");
}

/// What a layer's text means, read without the parser: only texts that are accepted come here.
#[derive(Debug, PartialEq)]
struct Meaning {
    /// The limit and the nanoseconds that it is for, in lowest terms if it was said with a point.
    quota: (u128, u128),
    /// The algorithm, if it is not gcra, and the options, in one order. A time is nothing but its option's name.
    words: Vec<String>,
}

fn meaning(text: &str) -> Vec<Meaning> {
    let layer = |layer: &str| {
        let is_option = |word: &&str| word.contains('=');
        let (options, others): (Vec<_>, Vec<_>) = layer.split_ascii_whitespace().partition(is_option);
        let named = others[0].starts_with(|c: char| c.is_ascii_alphabetic());
        let (names, quota) = others.split_at(usize::from(named));
        let names = names.iter().filter(|name| **name != "gcra").map(|name| (*name).to_owned());
        let mut words: Vec<_> = names.chain(options.into_iter().map(option)).collect();
        words.sort();
        Meaning { quota: ratio(&quota.concat()), words }
    };
    text.split('&').map(layer).collect()
}

/// A quota without its white space.
fn ratio(quota: &str) -> (u128, u128) {
    let (limit, period) =
        quota.split_once('/').or_else(|| quota.split_once("per")).expect("a limit and a period");
    let limit = limit.trim_end_matches('r').replace('_', "");
    let (whole, fraction) = limit.split_once('.').unwrap_or((&limit, ""));
    let (mut limit, mut times) = (number(&format!("{whole}{fraction}")), 1);
    for _ in fraction.bytes() {
        times *= 10;
    }
    // Ten has no other factors.
    for factor in [2, 5] {
        while times % factor == 0 && limit % factor == 0 {
            (times, limit) = (times / factor, limit / factor);
        }
    }
    let unit = period.find(|c: char| c.is_ascii_alphabetic()).expect("a unit");
    let (count, unit) = period.split_at(unit);
    let ns: u128 = match unit.as_bytes() {
        [b'n', ..] => 1,
        [b'u', ..] | [b'm', b'i', b'c', ..] => 1_000,
        [b'm', b's'] | [b'm', b'i', b'l', ..] => 1_000_000,
        [b's', ..] => 1_000_000_000,
        [b'm', ..] => 60_000_000_000,
        [b'h', ..] => 3_600_000_000_000,
        [b'd', ..] => 86_400_000_000_000,
        _ => 604_800_000_000_000,
    };
    let count = if count.is_empty() { 1 } else { number(&count.replace('_', "")) };
    (limit, count * ns * times)
}

fn number(digits: &str) -> u128 {
    digits.parse().expect("digits")
}

fn option(word: &str) -> String {
    match word.split_once('=') {
        Some((name, value)) if value.starts_with(|c: char| c.is_ascii_digit()) => {
            let value = value.replace('_', "").parse::<u64>().map(|units| units.to_string());
            format!("{name}={}", value.unwrap_or_default())
        }
        _ => word.to_owned(),
    }
}

fn refused(text: &str, error: &PolicyError) {
    // Too many layers are of no one place.
    let column = error.column().unwrap_or(1);
    assert!((1..=text.len() + 1).contains(&column), "{text:?}: {error}: expected a column of the text");
    assert!(text.is_char_boundary(column - 1), "{text:?}: {error}: expected the start of a character");
}

/// `parsed` is `None` for what is not UTF-8.
fn agrees(text: &CStr, parsed: Option<Result<Policy, PolicyError>>) {
    let format = |buffer: *mut c_char, len| {
        // SAFETY: a text with its NUL, and a buffer as `written` has it.
        unsafe { ratecell_policy_format(text.as_ptr(), buffer, len) }
    };
    let explain = |buffer: *mut c_char, len| {
        // SAFETY: as above.
        unsafe { ratecell_policy_explain(text.as_ptr(), buffer, len) }
    };
    let formatted = written("ratecell_policy_format", format);
    let explained = written("ratecell_policy_explain", explain).expect("a text that explains");
    match parsed {
        Some(Ok(policy)) => {
            assert_eq!(formatted, Ok(policy.to_string()), "{text:?}");
            assert_eq!(explained, "", "{text:?}: expected nothing to explain");
        }
        Some(Err(error)) => {
            assert_eq!(explained, error.to_string(), "{text:?}");
            assert_eq!(formatted.map_err(name), Err(status(&error)), "{text:?}");
        }
        None => {
            assert_eq!(formatted, Err(RATECELL_EPOLICY_SYNTAX as i32), "{text:?}");
            assert!(explained.contains("not UTF-8"), "{text:?}: {explained}");
        }
    }
}

fn name(status: i32) -> String {
    // SAFETY: static text.
    let text = unsafe { CStr::from_ptr(ratecell_strerror(status)) }.to_str().expect("ASCII");
    text.split(':').next().unwrap_or_default().to_owned()
}

/// The name of the status of an error: that of its code, but for a missing parameter, of which the code says less.
fn status(error: &PolicyError) -> String {
    let code = match error.kind() {
        PolicyErrorKind::MissingParameter => "missing_parameter",
        kind => kind.code(),
    };
    format!("RATECELL_EPOLICY_{}", code.to_uppercase())
}
