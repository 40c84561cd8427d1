//! What a row states of a decision.

use std::fmt;

use ratecell_core::{Decision, Outcome};

/// What a row states of its decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: u8,
    pub(crate) remaining: u64,
    pub(crate) retry_ns: Option<u64>,
    pub(crate) reset_ns: u64,
    pub(crate) delay_ns: u64,
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        Self {
            code: match decision.outcome() {
                Outcome::Denied => 0,
                Outcome::Allowed => 1,
                Outcome::Never => 2,
                // The last of them: a newer one has no code.
                _ => 3,
            },
            remaining: decision.remaining(),
            retry_ns: Some(decision.retry_after_ns()).filter(|ns| *ns != Decision::NEVER),
            reset_ns: decision.reset_after_ns(),
            delay_ns: decision.delay_ns(),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, remaining, retry_ns, reset_ns, delay_ns } = self;
        let retry = retry_ns.map_or_else(|| "null".to_owned(), |ns| ns.to_string());
        write!(
            f,
            "code {code} remaining {remaining} retry_ns {retry} reset_ns {reset_ns} delay_ns {delay_ns}"
        )
    }
}
