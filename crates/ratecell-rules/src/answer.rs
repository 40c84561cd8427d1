//! The answer to a request, from the decisions on its claims.

use ratecell_core::{Decision, Outcome};

use crate::evaluate::{Claim, Evaluation};
use crate::rule::Mode;

/// The most layers that are charged together.
const MAX_LAYERS: usize = 64;

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The gravest outcome of the enforcing claims; allowed if there is none.
    pub outcome: Outcome,
    /// The number of the rule that refused; `None` if it is allowed.
    pub rule: Option<usize>,
    /// Nanoseconds until all claims would be allowed, with no other traffic on their keys: 0 if it is allowed,
    /// [`Decision::NEVER`] if there is no such time.
    pub retry_after_ns: u64,
    /// Nanoseconds for which the allowed request is to be held: the longest of the claims'.
    pub delay_ns: u64,
    /// The rule to show to the client, with its figures; `None` if no rule limits the request.
    pub shown: Option<Shown>,
    /// The rule and the outcome of each shadow claim, in the order of the rules.
    pub shadow: Vec<(usize, Outcome)>,
}

/// A rule's figures: those of the rule that refused, or of the one that runs out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shown {
    /// The number of the rule.
    pub rule: usize,
    /// The capacity of its policy, in units.
    pub limit: u64,
    /// Units that would be allowed at the same instant, after this decision.
    pub remaining: u64,
    /// Nanoseconds until its cell is as good as never used.
    pub reset_after_ns: u64,
}

impl Answer {
    /// Whether the request may go.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.outcome == Outcome::Allowed
    }

    /// The answer to a request whose [path is unclear](Evaluation::is_unclear_path): it is never allowed, and no rule
    /// refuses it.
    #[must_use]
    pub fn unclear_path() -> Self {
        Self::never(None)
    }

    /// The answer to a request that is never allowed, by that rule or by none.
    #[must_use]
    pub fn never(rule: Option<usize>) -> Self {
        Self {
            outcome: Outcome::Never,
            rule,
            retry_after_ns: Decision::NEVER,
            delay_ns: 0,
            shown: None,
            shadow: Vec::new(),
        }
    }
}

impl<'e> Evaluation<'e> {
    /// The claims that limit the request, in order: they are all charged, or none is.
    pub fn enforced(&self) -> impl Iterator<Item = Claim<'e>> + Clone + use<'e> {
        self.claims().filter(|claim| claim.mode == Mode::Enforce)
    }

    /// The shadow claims, in order. Each is decided by itself after the others, and charged only if the request was allowed.
    pub fn shadows(&self) -> impl Iterator<Item = Claim<'e>> + Clone + use<'e> {
        self.claims().filter(|claim| claim.mode == Mode::Shadow)
    }

    /// The answer, if the claims are too many to be decided: their policies have more than 64 layers together. Then nothing
    /// is asked or charged, for shadow claims either. The rule is that with which the 65th layer came; `"blocked"` counts
    /// as one.
    #[must_use]
    pub fn too_many_layers(&self) -> Option<Answer> {
        let mut layers = 0;
        let rule = self.enforced().find_map(|claim| {
            let policy = claim.policy.map(|number| self.rules().policies()[number].policy());
            layers += policy.map_or(1, |policy| policy.layers().len());
            (layers > MAX_LAYERS).then_some(claim.rule)
        })?;
        Some(Answer::never(Some(rule)))
    }

    /// The answer from the decisions on the [`enforced`](Self::enforced) claims, one for each and in their order, made
    /// together at one instant. Where one refuses, the others' `remaining` and `reset_after` are those of a peek. The
    /// decision on a claim without a policy, a `"blocked"` one, is not looked at.
    ///
    /// The shadow claims are not in it: they are decided once it is known whether the request is allowed.
    #[must_use]
    pub fn answer(&self, decisions: &[Decision]) -> Answer {
        let made = self.enforced().zip(decisions).map(|(claim, decision)| match claim.policy {
            Some(number) => (claim, *decision, self.rules().policies()[number].policy().capacity()),
            None => (claim, Decision::default(), 0),
        });
        let outcome =
            made.clone().fold(Outcome::Allowed, |gravest, (_, made, _)| gravest.gravest(made.outcome()));
        let longest =
            |of: fn(&Decision) -> u64| made.clone().map(|(_, made, _)| of(&made)).max().unwrap_or(0);
        let is_allowed = outcome == Outcome::Allowed;
        let (retry_after_ns, delay_ns) = match outcome {
            Outcome::Allowed => (0, longest(Decision::delay_ns)),
            Outcome::Never | Outcome::ClockRange => (Decision::NEVER, 0),
            _ => (longest(Decision::retry_after_ns), 0),
        };
        let shown = if is_allowed {
            made.clone().min_by_key(|(claim, decision, _)| {
                let remaining = decision.remaining();
                (remaining / u64::from(claim.cost.max(1)), remaining, u64::MAX - decision.reset_after_ns())
            })
        } else {
            let refused =
                |made: &Decision| made.outcome() == outcome && made.retry_after_ns() == retry_after_ns;
            made.clone().find(|(_, made, _)| refused(made))
        };
        let shown = shown.map(|(claim, decision, limit)| Shown {
            rule: claim.rule,
            limit,
            remaining: decision.remaining(),
            reset_after_ns: decision.reset_after_ns(),
        });
        let rule = shown.filter(|_| !is_allowed).map(|shown| shown.rule);
        Answer { outcome, rule, retry_after_ns, delay_ns, shown, shadow: Vec::new() }
    }
}
