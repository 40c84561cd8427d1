//! The HTTP fields that tell a client its limits, written without allocation.
//!
//! They are a function of plain data: the styles to write, an [`Answer`] for each limiter that has decided
//! the request, and the wall clock for the styles that give an instant. Times are whole seconds, rounded up,
//! so that a client that waits for as long as a field says does not come too early. Field values depend on
//! the client, so a response that carries them must not be cached.
//!
//! ```
//! use ratecell_core::fields::{Answer, Fields, Label, Style};
//! use ratecell_core::{Decision, Outcome, Policy};
//!
//! let policy: Policy = "10/m".parse()?;
//! let label = Label::new().named("api")?;
//! // Denied, a request for 3: the next unit comes in 6 seconds, the third in 18.
//! let second = 1_000_000_000;
//! let denied = Decision::new(Outcome::Denied, 10, 0, 18 * second, 60 * second, 0, 0);
//! let answers = [Answer::new(&policy, label, denied.with_next(6 * second))];
//!
//! let fields = Fields::new(Style::Draft11, &answers, 0);
//! let expected = "RateLimit-Policy: \"api\";q=10;w=60\n\
//!                 RateLimit: \"api\";r=0;t=6\n\
//!                 Retry-After: 18\n";
//! assert_eq!(fields.to_string(), expected);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::cmp::Reverse;
use core::fmt;

use crate::decision::{Decision, Outcome};
use crate::policy::Policy;

mod label;
mod layers;
mod next;
mod style;
mod value;

pub use label::{Label, LabelError, LabelErrorKind, Unit};
pub use layers::{LayerNumbers, Layers};
pub use next::next_ns;
pub use style::{Style, Styles, StylesError};
pub use value::Value;

use value::old_rates;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// A limiter's decision, with the names of its policy.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    layers: Layers<'a>,
    label: Label<'a>,
    decision: Decision,
}

impl<'a> Answer<'a> {
    /// A decision by the policy of these layers. Where it does not say what is [next](Decision::next_after), a time
    /// is written that is never too early.
    #[must_use]
    pub fn new(layers: impl Into<Layers<'a>>, label: Label<'a>, decision: Decision) -> Self {
        Self { layers: layers.into(), label, decision }
    }

    /// A decision by this policy, with what is next from [`next_ns`] where the decision does not say it.
    #[must_use]
    pub fn of(policy: &'a Policy, label: Label<'a>, decision: Decision) -> Self {
        let next_ns = match decision.next_ns() {
            0 => next_ns(policy, &decision).unwrap_or(0),
            known => known,
        };
        Self::new(policy, label, decision.with_next(next_ns))
    }

    /// The layer that the decision names. `None` where the clock is out of range, for nothing is known then,
    /// and where the policy has no such layer.
    fn layer(&self) -> Option<layers::LayerFields<'a>> {
        match self.decision.outcome() {
            Outcome::ClockRange => None,
            _ => self.layers.get(self.decision.layer()),
        }
    }

    /// Seconds of `Retry-After`, if the same request passes later.
    fn retry_after(&self) -> Option<u64> {
        match (self.decision.outcome(), self.decision.retry_after_ns()) {
            (Outcome::Denied, Decision::NEVER) => None,
            (Outcome::Denied, ns) => Some(seconds(ns).max(1)),
            _ => None,
        }
    }

    /// Seconds within which no more units than `remaining` can be used.
    fn window(&self) -> Option<u64> {
        let retry_after = self.retry_after();
        if self.decision.remaining() >= self.layers.capacity()
            || self.decision.outcome() == Outcome::Denied && retry_after.is_none()
        {
            return None;
        }
        let window = match (self.decision.next_ns(), retry_after) {
            (1.., _) => seconds(self.decision.next_ns()),
            (0, Some(retry_after)) => retry_after,
            (0, None) => seconds(self.decision.reset_after_ns()).max(1),
        };
        Some(retry_after.map_or(window, |retry_after| window.min(retry_after)))
    }
}

/// Whole seconds, rounded up.
const fn seconds(ns: u64) -> u64 {
    ns.div_ceil(NS_PER_SECOND)
}

/// The fields of one style, in order.
type Row<'a> = [Option<(&'static str, Value<'a>)>; 5];

/// The fields of one response: an iterator over names and values, or as text, a line `Name: value` and a line
/// feed for each. `RateLimit-Policy`, `RateLimit` and the limits of the older drafts are lists: a field that
/// is there already is added to. `Retry-After` is the last; of two the greater is right.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    styles: Styles,
    answers: &'a [Answer<'a>],
    now_unix_ns: u64,
}

impl<'a> Fields<'a> {
    /// The fields in these styles for the answers of all limiters that have decided the request.
    /// `now_unix_ns` is the time of the decisions in nanoseconds since 1970; it is read only where a style
    /// gives an instant.
    pub fn new(styles: impl Into<Styles>, answers: &'a [Answer<'a>], now_unix_ns: u64) -> Self {
        Self { styles: styles.into(), answers, now_unix_ns }
    }

    /// Name and value of each field.
    pub fn iter(self) -> impl Iterator<Item = (&'static str, Value<'a>)> {
        let retry_after = self.retry_after().map(|seconds| ("Retry-After", Value::number(seconds)));
        self.styles.iter().flat_map(move |style| self.of(style)).flatten().chain(retry_after)
    }

    fn of(self, style: Style) -> Row<'a> {
        match style {
            Style::Draft11 => self.draft_11(),
            Style::Draft07 | Style::Draft06 | Style::Draft03 => self.older_draft(style),
            Style::X | Style::XUnix | Style::GitHub | Style::Twitter | Style::Kong => {
                self.tightest().map_or([None; 5], |answer| self.before_the_drafts(style, answer))
            }
        }
    }

    fn draft_11(self) -> Row<'a> {
        let policies = (!self.answers.is_empty()).then(|| Value::policies(self.answers));
        let limits = self.tightest().map(|_| Value::limits(self.answers));
        [
            policies.map(|value| ("RateLimit-Policy", value)),
            limits.map(|value| ("RateLimit", value)),
            None,
            None,
            None,
        ]
    }

    fn older_draft(self, style: Style) -> Row<'a> {
        let has_policies = style != Style::Draft03 && old_rates(self.answers).next().is_some();
        let policies = has_policies.then(|| ("RateLimit-Policy", Value::old_policies(self.answers)));
        let Some(answer) = self.tightest() else {
            return [policies, None, None, None, None];
        };
        let (limit, remaining) = (answer.decision.limit(), answer.decision.remaining());
        let reset = self.retry_after().or_else(|| answer.window()).unwrap_or(0);
        if style == Style::Draft07 {
            let limit = Some(("RateLimit", Value::old_limit(limit, remaining, reset)));
            return [policies, limit, None, None, None];
        }
        let limit = match style {
            Style::Draft03 => Value::limit_and_policies(limit, self.answers),
            _ => Value::integer(limit),
        };
        [
            policies,
            Some(("RateLimit-Limit", limit)),
            Some(("RateLimit-Remaining", Value::integer(remaining))),
            Some(("RateLimit-Reset", Value::number(reset))),
            None,
        ]
    }

    fn before_the_drafts(self, style: Style, answer: &Answer<'_>) -> Row<'a> {
        let decision = &answer.decision;
        let [limit, remaining, reset] = match style {
            Style::Twitter => ["X-Rate-Limit-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"],
            Style::Kong => ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
            _ => ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"],
        };
        let reset_at = match style {
            Style::X | Style::Kong => seconds(decision.reset_after_ns()),
            _ => self.reset_unix(decision),
        };
        let used = decision.limit().saturating_sub(decision.remaining());
        let [fourth, fifth] = match style {
            Style::GitHub => [Some(("X-RateLimit-Used", used)), None],
            Style::Kong => kong_names(answer).map_or([None; 2], |(limit, remaining)| {
                [Some((limit, decision.limit())), Some((remaining, decision.remaining()))]
            }),
            _ => [None; 2],
        };
        let numbers = [
            Some((limit, decision.limit())),
            Some((remaining, decision.remaining())),
            Some((reset, reset_at)),
            fourth,
            fifth,
        ];
        numbers.map(|field| field.map(|(name, number)| (name, Value::number(number))))
    }

    /// Seconds until all that refuse would admit the request, if all of them do at some time.
    fn retry_after(self) -> Option<u64> {
        let refusals = self.answers.iter().filter(|answer| !answer.decision.is_allowed());
        let longest =
            |longest: Option<u64>, answer: &Answer<'_>| Some(longest.max(Some(answer.retry_after()?)));
        refusals.into_iter().try_fold(None, longest).flatten()
    }

    /// The answer of which the fields with one number speak: of those that refuse, if any, otherwise of all.
    fn tightest(self) -> Option<&'a Answer<'a>> {
        let known = self.answers.iter().filter(|answer| answer.layer().is_some());
        known.min_by_key(|answer| {
            let decision = &answer.decision;
            (decision.is_allowed(), decision.remaining(), Reverse(decision.reset_after_ns()))
        })
    }

    /// Seconds since 1970: the sum is rounded up, not its parts.
    fn reset_unix(self, decision: &Decision) -> u64 {
        let reset = u128::from(self.now_unix_ns) + u128::from(decision.reset_after_ns());
        u64::try_from(reset.div_ceil(u128::from(NS_PER_SECOND))).unwrap_or(u64::MAX)
    }
}

/// Kong's names of limit and remaining, for the periods that it has.
fn kong_names(answer: &Answer<'_>) -> Option<(&'static str, &'static str)> {
    let period_ns = answer.layer()?.period_ns?.get();
    if !period_ns.is_multiple_of(NS_PER_SECOND) {
        return None;
    }
    match period_ns / NS_PER_SECOND {
        1 => Some(("X-RateLimit-Limit-Second", "X-RateLimit-Remaining-Second")),
        60 => Some(("X-RateLimit-Limit-Minute", "X-RateLimit-Remaining-Minute")),
        3_600 => Some(("X-RateLimit-Limit-Hour", "X-RateLimit-Remaining-Hour")),
        86_400 => Some(("X-RateLimit-Limit-Day", "X-RateLimit-Remaining-Day")),
        _ => None,
    }
}

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|(name, value)| writeln!(f, "{name}: {value}"))
    }
}
