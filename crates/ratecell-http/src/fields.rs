//! The fields of a response, as a server adds them.

use core::cell::RefCell;
use core::fmt::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use ratecell::fields::{Answer, Fields, Style, Styles};

/// The names of all fields that there are, in small letters, as HTTP/2 has them.
pub const FIELD_NAMES: [&str; 21] = [
    "ratelimit-policy",
    "ratelimit",
    "retry-after",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-used",
    "x-rate-limit-limit",
    "x-rate-limit-remaining",
    "x-rate-limit-reset",
    "x-ratelimit-limit-second",
    "x-ratelimit-limit-minute",
    "x-ratelimit-limit-hour",
    "x-ratelimit-limit-day",
    "x-ratelimit-remaining-second",
    "x-ratelimit-remaining-minute",
    "x-ratelimit-remaining-hour",
    "x-ratelimit-remaining-day",
];

/// Takes a field: its name, in small letters, and its value.
pub(crate) type Sink<'s> = dyn FnMut(&'static str, &[u8]) + 's;

thread_local! {
    /// The value that is being written: taken while it is.
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The field's name in small letters; a test knows all names.
fn lower(name: &str) -> Option<&'static str> {
    FIELD_NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// Hands out a field.
pub(crate) fn write(name: &str, value: impl fmt::Display, sink: &mut Sink<'_>) {
    let Some(name) = lower(name) else { return };
    let mut text = TEXT.take();
    text.clear();
    // Writing to memory does not fail.
    if write!(text, "{value}").is_ok() {
        sink(name, text.as_bytes());
    }
    TEXT.set(text);
}

/// The name of the one field that says the same in every response of a limit.
const POLICY: &str = "RateLimit-Policy";

/// What the field of the policies says of these answers, if these styles have one.
pub(crate) fn policy_field(styles: Styles, answers: &[Answer<'_>]) -> Option<String> {
    let mut fields = Fields::new(styles, answers, 0).iter();
    fields.find_map(|(name, value)| (name == POLICY).then(|| value.to_string()))
}

/// Hands out the fields of these answers, whose policies have that field.
pub(crate) fn write_all(styles: Styles, answers: &[Answer<'_>], policies: Option<&str>, sink: &mut Sink<'_>) {
    for (name, value) in Fields::new(styles, answers, now_for(styles)).iter() {
        match (policies, lower(POLICY)) {
            (Some(policies), Some(own)) if name == POLICY => sink(own, policies.as_bytes()),
            _ => write(name, value, sink),
        }
    }
}

/// The wall clock, for styles that may give an instant; 0 before 1970.
pub(crate) fn now_for(styles: Styles) -> u64 {
    if styles == Style::Draft11.into() {
        return 0;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Whether a field of this name, in small letters, is a list that a middleware adds to. Another middleware's stays then; any
/// other field is replaced, but of two `retry-after` the [later](later) is right.
#[must_use]
pub fn is_list(name: &str) -> bool {
    matches!(name, "ratelimit-policy" | "ratelimit")
}

/// Whether a `retry-after` is to replace the one that is there. A date, which cannot be compared, is replaced.
#[must_use]
pub fn later(own: &[u8], there: &[u8]) -> bool {
    let seconds = |value| core::str::from_utf8(value).ok()?.trim().parse::<u64>().ok();
    match (seconds(own), seconds(there)) {
        (Some(own), Some(there)) => own > there,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use ratecell::fields::Label;
    use ratecell::{Decision, Outcome, Policy};

    use super::*;

    #[test]
    fn every_name_is_known_and_none_is_left_over() {
        let mut written = Vec::new();
        let denied = Decision::new(Outcome::Denied, 10, 0, 1, 1, 0, 0).with_next(1);
        for policy in ["10/s", "10/m", "10/h", "10/d"] {
            let policy: Policy = policy.parse().expect("a policy");
            let answers = [Answer::of(&policy, Label::new(), denied)];
            for style in Style::ALL {
                let names = Fields::new(style, &answers, 0).iter().map(|(name, _)| name.to_ascii_lowercase());
                let mut handed = Vec::new();
                write_all(style.into(), &answers, None, &mut |name, _| handed.push(name));
                assert_eq!(handed, names.collect::<Vec<_>>(), "{}", style.name());
                written.extend(handed);
            }
        }
        let [mut written, mut known] = [written, FIELD_NAMES.to_vec()];
        written.sort_unstable();
        written.dedup();
        known.sort_unstable();
        assert_eq!(written, known);
    }

    #[test]
    fn the_later_retry_after_is_right() {
        for (own, there, is_later) in [("5", "4", true), ("5", "5", false), ("5", "6", false)] {
            assert_eq!(later(own.as_bytes(), there.as_bytes()), is_later);
        }
        assert!(later(b"5", b"Wed, 21 Oct 2026 07:28:00 GMT"));
    }
}
