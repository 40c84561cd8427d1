//! The HTTP fields that tell a client its limits, written without allocation.
//!
//! | field | example | source |
//! | --- | --- | --- |
//! | `RateLimit-Policy` | `"default";q=100;w=60` | draft-ietf-httpapi-ratelimit-headers-11 |
//! | `RateLimit` | `"default";r=50;t=30` | the same |
//! | `Retry-After` | `30` | RFC 9110, section 10.2.3 |
//! | `X-RateLimit-Limit`, `-Remaining`, `-Reset` | `100`, `50`, `30` | custom |
//!
//! Times are whole seconds, rounded up: who waits as long as a field says is not refused for coming too
//! early.
//!
//! ```
//! use ratecell::headers::{Field, Headers};
//! use ratecell::{Limiter, Policy};
//!
//! let limiter = Limiter::builder("2/m".parse::<Policy>()?).build()?;
//! let headers = Headers::new(limiter.policy()).named("api")?;
//! let _ = limiter.check_at("user:42", 2, 0);
//! let denied = limiter.check_at("user:42", 1, 0);
//!
//! let text: Vec<_> = headers
//!     .all([Field::RateLimitPolicy, Field::RateLimit, Field::RetryAfter], &denied)
//!     .map(|(name, value)| format!("{name}: {value}"))
//!     .collect();
//! assert_eq!(text, [r#"RateLimit-Policy: "api";q=2;w=60"#, r#"RateLimit: "api";r=0;t=30"#, "Retry-After: 30"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;
use core::iter;

use crate::decision::{Decision, Outcome};
use crate::policy::Policy;

use crate::structured::{Integer, QuotedString};

/// An HTTP field about a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Field {
    /// `RateLimit`: what remains (`r`, in units) of the tightest layer, and the seconds (`t`) until it is
    /// as good as never used; of a denial, until the same request passes, so that `Retry-After` is never
    /// earlier.
    RateLimit,
    /// `RateLimit-Policy`: each layer's quota (`q`, in units) in a window (`w`, in seconds), the fewest whole
    /// seconds that are whole periods of the policy. Where more or fewer units may come at once
    /// than `q`, `ratecell-burst` says how many. A rate that no such pair of numbers tells has no `w`, and
    /// its capacity for `q`. The same for every decision.
    RateLimitPolicy,
    /// `Retry-After`: seconds until the same request passes, at least 1. Of a denial alone.
    RetryAfter,
    /// `X-RateLimit-Limit`: the most units at one instant, of the tightest layer.
    XRateLimitLimit,
    /// `X-RateLimit-Remaining`: the units that would pass at once now.
    XRateLimitRemaining,
    /// `X-RateLimit-Reset` in seconds from now, as most services give it.
    XRateLimitReset,
    /// `X-RateLimit-Reset` in seconds since 1970, as GitHub gives it; not sent unless [`Headers::at`] gave the time.
    XRateLimitResetUnix,
}

impl Field {
    /// The field's name, as it is sent.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "RateLimit",
            Self::RateLimitPolicy => "RateLimit-Policy",
            Self::RetryAfter => "Retry-After",
            Self::XRateLimitLimit => "X-RateLimit-Limit",
            Self::XRateLimitRemaining => "X-RateLimit-Remaining",
            Self::XRateLimitReset | Self::XRateLimitResetUnix => "X-RateLimit-Reset",
        }
    }
}

/// A name that no structured field can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameError {
    byte: u8,
    column: usize,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { byte, column } = self;
        write!(f, "byte {byte:#04x} at column {column} of the name: expected printable ASCII")
    }
}

impl core::error::Error for NameError {}

/// Writes the fields of one policy's decisions.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'p> {
    policy: &'p Policy,
    name: Option<&'p str>,
    /// Nanoseconds since 1970.
    now_unix_ns: Option<u64>,
}

impl<'p> Headers<'p> {
    /// The fields of `policy`, each layer named by its own text: `"100/s burst=200"`.
    #[must_use]
    pub fn new(policy: &'p Policy) -> Self {
        Self { policy, name: None, now_unix_ns: None }
    }

    /// Names the policy `name` instead; of several layers, each `name-1`, `name-2` and so on.
    ///
    /// # Errors
    /// A structured field carries printable ASCII alone (RFC 9651, section 3.3.3).
    pub fn named(self, name: &'p str) -> Result<Self, NameError> {
        match name.bytes().zip(1..).find(|(byte, _)| !(b' '..=b'~').contains(byte)) {
            Some((byte, column)) => Err(NameError { byte, column }),
            None => Ok(Self { name: Some(name), ..self }),
        }
    }

    /// Gives the time of the decisions by the wall clock, in nanoseconds since 1970.
    #[must_use]
    pub fn at(self, now_unix_ns: u64) -> Self {
        Self { now_unix_ns: Some(now_unix_ns), ..self }
    }

    /// What `field` says of `decision`; `None` if the field is not to be sent with it, or it names a layer
    /// that this policy does not have.
    #[must_use]
    pub fn value(&self, field: Field, decision: &Decision) -> Option<Value<'p>> {
        self.policy.layers().get(decision.layer())?;
        let number = |number| Some(Value(Content::Number(number)));
        match field {
            Field::RateLimit => Some(Value(Content::Remaining(*self, *decision))),
            Field::RateLimitPolicy => Some(Value(Content::Policies(*self))),
            Field::RetryAfter => number(retry_after(decision)?),
            Field::XRateLimitLimit => number(decision.limit),
            Field::XRateLimitRemaining => number(decision.remaining),
            Field::XRateLimitReset => number(seconds(decision.reset_after_ns)),
            Field::XRateLimitResetUnix => number(reset_unix(decision, self.now_unix_ns?)),
        }
    }

    /// Name and value of each of `fields` that is to be sent with `decision`.
    pub fn all(
        &self,
        fields: impl IntoIterator<Item = Field>,
        decision: &Decision,
    ) -> impl Iterator<Item = (&'static str, Value<'p>)> {
        fields.into_iter().filter_map(|field| Some((field.name(), self.value(field, decision)?)))
    }

    /// Begins the list item of one layer.
    fn item(&self, f: &mut fmt::Formatter<'_>, number: usize) -> fmt::Result {
        let layers = self.policy.layers();
        match (self.name, layers) {
            (Some(name), [_]) => write!(f, "{}", QuotedString(name)),
            (Some(name), _) => write!(f, "{}", QuotedString(format_args!("{name}-{}", number + 1))),
            (None, _) => layers.get(number).map_or(Ok(()), |layer| write!(f, "{}", QuotedString(layer))),
        }
    }
}

/// The value of a field, to be written.
#[derive(Clone, Copy, Debug)]
pub struct Value<'p>(Content<'p>);

#[derive(Clone, Copy, Debug)]
enum Content<'p> {
    Number(u64),
    Remaining(Headers<'p>, Decision),
    Policies(Headers<'p>),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Content::Number(number) => write!(f, "{number}"),
            Content::Remaining(headers, decision) => remaining(f, headers, decision),
            Content::Policies(headers) => policies(f, headers),
        }
    }
}

fn remaining(f: &mut fmt::Formatter<'_>, headers: &Headers<'_>, decision: &Decision) -> fmt::Result {
    headers.item(f, decision.layer())?;
    write!(f, ";r={}", Integer(decision.remaining))?;
    match decision.outcome {
        Outcome::Allowed | Outcome::Never => write!(f, ";t={}", seconds(decision.reset_after_ns)),
        Outcome::Denied => retry_after(decision).map_or(Ok(()), |seconds| write!(f, ";t={seconds}")),
        Outcome::ClockRange => Ok(()),
    }
}

fn policies(f: &mut fmt::Formatter<'_>, headers: &Headers<'_>) -> fmt::Result {
    let separators = iter::once("").chain(iter::repeat(", "));
    for ((number, layer), separator) in headers.policy.layers().iter().enumerate().zip(separators) {
        f.write_str(separator)?;
        headers.item(f, number)?;
        let (limit, period_ns) = layer.rate();
        match whole_quota(limit, period_ns) {
            Some((quota, window)) => {
                write!(f, ";q={quota};w={window}")?;
                if layer.capacity() != quota {
                    write!(f, ";ratecell-burst={}", Integer(layer.capacity()))?;
                }
            }
            None => write!(f, ";q={}", Integer(layer.capacity()))?,
        }
    }
    Ok(())
}

const NS_PER_SECOND: u64 = 1_000_000_000;

/// Whole seconds, rounded up.
const fn seconds(ns: u64) -> u64 {
    ns.div_ceil(NS_PER_SECOND)
}

fn retry_after(decision: &Decision) -> Option<u64> {
    match decision.outcome {
        Outcome::Denied => decision.retry_after().map(|_| seconds(decision.retry_after_ns).max(1)),
        Outcome::Allowed | Outcome::Never | Outcome::ClockRange => None,
    }
}

fn reset_unix(decision: &Decision, now_unix_ns: u64) -> u64 {
    let reset = u128::from(now_unix_ns) + u128::from(decision.reset_after_ns);
    u64::try_from(reset.div_ceil(u128::from(NS_PER_SECOND))).unwrap_or(u64::MAX)
}

/// A rate as a whole number of units in the least whole number of seconds, if a structured field can say
/// so.
fn whole_quota(limit: u64, period_ns: u64) -> Option<(u64, u64)> {
    // The greatest common divisor, by Euclid: so many nanoseconds are a whole part of either.
    let (mut part, mut rest) = (period_ns, NS_PER_SECOND);
    while rest > 0 {
        (part, rest) = (rest, part % rest);
    }
    let (periods, window) = (NS_PER_SECOND / part, period_ns / part);
    let quota = limit.checked_mul(periods)?;
    (quota <= Integer::MAX && window <= Integer::MAX).then_some((quota, window))
}
