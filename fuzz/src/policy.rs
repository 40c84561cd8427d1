//! The text of a policy: what is accepted is printed as itself, what is not is told where, and C has the
//! same answers as Rust.

use core::ffi::{CStr, c_char};
use std::ffi::CString;

use ratecell::ffi::ratecell_status::RATECELL_EPOLICY_SYNTAX;
use ratecell::ffi::{ratecell_policy_explain, ratecell_policy_format, ratecell_strerror};
use ratecell::{Policy, PolicyError};

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
    assert_eq!(words(&printed), words(text), "{text:?}, printed {printed:?}: expected the same words");
    assert!(policy.capacity() > 0, "{text:?}: expected a capacity above 0");
    assert!((1..=8).contains(&policy.resolved().count()), "{text:?}: expected 1 to 8 layers");
}

/// The words of each layer, in one order, as far as a word can be said in one way only.
fn words(text: &str) -> Vec<Vec<String>> {
    let layer = |layer: &str| {
        let words = layer.split_ascii_whitespace().filter(|word| *word != "gcra");
        let mut words: Vec<_> = words.map(word).collect();
        words.sort();
        words
    };
    text.split('&').map(layer).collect()
}

/// Numbers without leading zeros, and nothing of times: these have many forms.
fn word(word: &str) -> String {
    let number = |text: &str| text.parse::<u64>().map(|number| number.to_string());
    match (word.split_once('/'), word.split_once('=')) {
        (Some((limit, _)), _) => number(limit).unwrap_or_default(),
        (None, Some((name, value))) if value.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("{name}={}", number(value).unwrap_or_default())
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

/// The name of the status of an error: that of its code.
fn status(error: &PolicyError) -> String {
    format!("RATECELL_EPOLICY_{}", error.kind().code().to_uppercase())
}
