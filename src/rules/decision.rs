//! The answer to one request, with the rules that it was decided by.

use core::fmt;
use core::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::Guard;
use ratecell_core::fields::{self, Fields, Label, Styles, Value};
use ratecell_core::{Decision, Outcome};
use ratecell_rules::{Answer, Attributes, Rules};
use smallvec::SmallVec;

use super::RulesLimiter;
use super::file::{Decided, File, MadeList};
use super::reservation::HeldList;

/// The decision on one claim that limits a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    /// The number of its policy in the file.
    pub(crate) policy: usize,
    pub(crate) decision: Decision,
}

/// So many rules that limit one request are few.
const FEW: usize = 4;

/// The answer to one request: an [`Answer`], with the rules that it was decided by.
///
/// It keeps these rules and their tables, so that the numbers of rules in the answer stay those of the file. Drop it when
/// the response is sent.
#[must_use = "a decision that is ignored limits nothing"]
pub struct RulesDecision {
    decided: Decided,
    pub(super) made: SmallVec<[Made; FEW]>,
    file: Guard<Arc<File>>,
}

impl RulesDecision {
    pub(super) fn new<A: Attributes + ?Sized>(
        limiter: &RulesLimiter,
        attributes: &A,
        now_ns: Option<u64>,
        held: Option<&mut HeldList>,
    ) -> Self {
        let mut made = MadeList::new();
        let mut shadow = Vec::new();
        let shadows = |_: &File, rule, outcome| shadow.push((rule, outcome));
        let (file, mut decided) = limiter.decided(attributes, now_ns, &mut made, held, shadows);
        decided.answer.shadow = shadow;
        Self { decided, made: made.iter().copied().collect(), file }
    }

    /// The rules that decided.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        self.file.rules()
    }

    /// Whether the path can be read in several ways, in a file with `unclear_path = "refuse"`. Then the request is not
    /// allowed, nothing was charged, and the program answers 400.
    #[must_use]
    pub fn is_unclear_path(&self) -> bool {
        self.decided.is_unclear_path
    }

    /// The name of the rule that refused; `None` if the request is allowed.
    #[must_use]
    pub fn rule_name(&self) -> Option<&str> {
        self.rule.map(|rule| self.rules().rule(rule).name())
    }

    /// The name of the rule whose figures are [shown](Answer::shown).
    #[must_use]
    pub fn shown_name(&self) -> Option<&str> {
        self.shown.map(|shown| self.rules().rule(shown.rule).name())
    }

    /// The name and outcome of each shadow rule that applies, in the order of the rules.
    pub fn shadows(&self) -> impl ExactSizeIterator<Item = (&str, Outcome)> {
        self.shadow.iter().map(|(rule, outcome)| (self.rules().rule(*rule).name(), *outcome))
    }

    /// After how long the same request would be allowed, with no other traffic on its keys: zero if it is, `None` if there
    /// is no such time.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        Some(self.retry_after_ns).filter(|ns| *ns != Decision::NEVER).map(Duration::from_nanos)
    }

    /// For how long an allowed request is to be held.
    #[must_use]
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(self.delay_ns)
    }

    /// The HTTP fields about the rules that limit the request, each named by its rule. `now_unix_ns` is the time in
    /// nanoseconds since 1970, which only styles read that give an instant. Shadow rules and those with `"blocked"` have
    /// none.
    ///
    /// ```
    /// use ratecell::fields::Style;
    /// use ratecell::rules::{Rules, RulesLimiter};
    ///
    /// let rules = "
    ///     ratecell_rules = 1
    ///     [[rule]]
    ///     name = 'api'
    ///     key = ['client']
    ///     limit = '10/m'
    /// ";
    /// let limiter = RulesLimiter::builder(rules.parse::<Rules>()?).build()?;
    /// let decision = limiter.decide_at(&[("client", "203.0.113.7")], 0);
    /// assert_eq!(
    ///     decision.fields(Style::Draft11, 0).to_string(),
    ///     "RateLimit-Policy: \"api\";q=10;w=60\nRateLimit: \"api\";r=9;t=6\n"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fields(&self, styles: impl Into<Styles>, now_unix_ns: u64) -> RulesFields<'_> {
        let answers = self.made.iter().filter_map(|made| self.file.field(made)).collect();
        RulesFields { answers, styles: styles.into(), now_unix_ns }
    }
}

impl File {
    /// What fields say of a claim.
    pub(crate) fn field(&self, made: &Made) -> Option<fields::Answer<'_>> {
        let of_rule = self.rules().policies().get(made.policy)?;
        let name = self.rules().rule(of_rule.rule()).name();
        // Each name of a rule is one for fields.
        let label = Label::new().named(name).unwrap_or_default();
        Some(fields::Answer::of(of_rule.policy(), label, made.decision))
    }
}

impl Deref for RulesDecision {
    type Target = Answer;

    fn deref(&self) -> &Answer {
        &self.decided.answer
    }
}

impl fmt::Debug for RulesDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulesDecision")
            .field("answer", &self.decided.answer)
            .field("is_unclear_path", &self.decided.is_unclear_path)
            .finish_non_exhaustive()
    }
}

/// The HTTP fields of a [`RulesDecision`]: names and values, or as text, a line `Name: value` for each.
#[derive(Clone, Debug)]
pub struct RulesFields<'d> {
    answers: SmallVec<[fields::Answer<'d>; FEW]>,
    styles: Styles,
    now_unix_ns: u64,
}

impl RulesFields<'_> {
    /// Name and value of each field.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Value<'_>)> {
        Fields::new(self.styles, &self.answers, self.now_unix_ns).iter()
    }
}

impl fmt::Display for RulesFields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Fields::new(self.styles, &self.answers, self.now_unix_ns).fmt(f)
    }
}
