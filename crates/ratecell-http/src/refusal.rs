//! The answer to a request that is refused.

use core::fmt;
use std::time::Duration;

use ratecell::Decision;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// It is over the limit now: 429, in gRPC `RESOURCE_EXHAUSTED`.
    Denied,
    /// Its cost is above the capacity, so that it is never allowed: 400, or 413 where bytes are counted; in gRPC
    /// `INVALID_ARGUMENT`. It is not 429, which clients repeat.
    TooLarge,
    /// Rules never allow it, as one with `"blocked"`: 403, in gRPC `PERMISSION_DENIED`.
    Forbidden,
    /// Its path can be read in several ways, and the rules refuse that: 400, in gRPC `INVALID_ARGUMENT`.
    UnclearPath,
    /// The limiter cannot decide, and is to refuse then: 503, in gRPC `UNAVAILABLE`.
    Undecided,
    /// The server does not say who its clients are, so that none can be limited: 500, in gRPC `INTERNAL`.
    NoPeer,
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    reason: Reason,
    counts_bytes: bool,
    retry_after: Option<Duration>,
    rule: Option<Box<str>>,
    decision: Option<Decision>,
}

impl Refusal {
    pub(crate) fn of(reason: Reason) -> Self {
        Self { reason, counts_bytes: false, retry_after: None, rule: None, decision: None }
    }

    /// By a limit that counts bytes or not.
    pub(crate) fn by_limit(reason: Reason, decision: Decision, counts_bytes: bool) -> Self {
        let retry_after = decision.retry_after().filter(|_| reason == Reason::Denied);
        Self { counts_bytes, retry_after, decision: Some(decision), ..Self::of(reason) }
    }

    pub(crate) fn by_rule(reason: Reason, rule: Option<&str>, retry_after: Option<Duration>) -> Self {
        let retry_after = retry_after.filter(|_| reason == Reason::Denied);
        Self { retry_after, rule: rule.map(Into::into), ..Self::of(reason) }
    }

    /// With the longest wait of several limits.
    pub(crate) fn after(self, retry_after: Option<Duration>) -> Self {
        Self { retry_after: retry_after.filter(|_| self.reason == Reason::Denied), ..self }
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// After how long the same request would be allowed, with no other traffic; `None` if no wait helps, or none is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The name of the rule that refused, of those that rules refuse.
    #[must_use]
    pub fn rule_name(&self) -> Option<&str> {
        self.rule.as_deref()
    }

    /// The decision of the limiter that refused, of those that one did.
    #[must_use]
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// The status of the response: see [`Reason`].
    #[must_use]
    pub fn status(&self) -> u16 {
        match self.reason {
            Reason::Denied => 429,
            Reason::TooLarge if self.counts_bytes => 413,
            Reason::TooLarge | Reason::UnclearPath => 400,
            Reason::Forbidden => 403,
            Reason::Undecided => 503,
            Reason::NoPeer => 500,
        }
    }

    /// The status in gRPC: see [`Reason`].
    #[must_use]
    pub fn grpc_status(&self) -> u8 {
        match self.reason {
            Reason::Denied => 8,
            Reason::TooLarge | Reason::UnclearPath => 3,
            Reason::Forbidden => 7,
            Reason::Undecided => 14,
            Reason::NoPeer => 13,
        }
    }

    /// What the field `grpc-retry-pushback-ms` says to clients that retry by themselves: the milliseconds until the request may
    /// come again, rounded up, or -1 where it is not to come again.
    #[must_use]
    pub fn grpc_pushback_ms(&self) -> i64 {
        let ms = |wait: Duration| i64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX);
        self.retry_after.map_or(-1, ms)
    }
}

/// What the response says, in one line of ASCII.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.reason, self.retry_after) {
            (Reason::Denied, Some(after)) => {
                let seconds = after.as_nanos().div_ceil(1_000_000_000).max(1);
                write!(f, "Too many requests: retry after {seconds} s")
            }
            (Reason::Denied, None) => f.write_str("Too many requests"),
            (Reason::TooLarge, _) => f.write_str("Too large for the rate limit"),
            (Reason::Forbidden, _) => f.write_str("The rules never allow it"),
            (Reason::UnclearPath, _) => f.write_str("The path can be read in several ways"),
            (Reason::Undecided, _) => f.write_str("The rate limiter cannot decide"),
            (Reason::NoPeer, _) => {
                f.write_str("The server does not tell the rate limiter its clients' addresses")
            }
        }
    }
}
