//! Rules before a server.

use std::sync::Arc;

use ratecell::fields::Styles;
use ratecell::rules::{Attributes, RulesDecision, RulesLimiter};
use ratecell::{Outcome, Unsettled};

use crate::fields::{Sink, now_for, write};
use crate::held::{Held, Of};
use crate::refusal::{Reason, Refusal};

/// A limiter by rules before a server. If it is
/// [reserving](ratecell::rules::RulesLimiterBuilder::reserving), each request has its permits until it has ended, and costs
/// that are known afterwards are settled.
#[derive(Clone, Debug)]
pub struct RuleLimits {
    limiter: Arc<RulesLimiter>,
    unsettled: Unsettled,
}

impl RuleLimits {
    /// By these rules. A request that its handler does not settle counts as it was reserved.
    #[must_use]
    pub fn new(limiter: impl Into<Arc<RulesLimiter>>) -> Self {
        Self { limiter: limiter.into(), unsettled: Unsettled::Keep }
    }

    /// How much counts as used if the handler does not say it.
    #[must_use]
    pub fn unsettled(self, unsettled: Unsettled) -> Self {
        Self { unsettled, ..self }
    }

    /// The limiter.
    #[must_use]
    pub fn limiter(&self) -> &Arc<RulesLimiter> {
        &self.limiter
    }

    pub(crate) fn decide<A: Attributes + ?Sized>(&self, attributes: &A) -> (RulesDecision, Option<Held>) {
        if !self.limiter.is_reserving() {
            return (self.limiter.decide(attributes), None);
        }
        let (decision, reservation) = self.limiter.reserve(attributes);
        let held = reservation.map(|reservation| {
            let limiter = Arc::clone(&self.limiter);
            Held::new(Of::Rules { limiter, reservation, unsettled: self.unsettled })
        });
        (decision, held)
    }
}

/// Hands out the fields.
pub(crate) fn write_fields(decision: &RulesDecision, styles: Styles, sink: &mut Sink<'_>) {
    for (name, value) in decision.fields(styles, now_for(styles)).iter() {
        write(name, value, sink);
    }
}

/// The refusal of a request that is not allowed.
pub(crate) fn refusal(decision: &RulesDecision) -> Refusal {
    let reason = match decision.outcome {
        _ if decision.is_unclear_path() => Reason::UnclearPath,
        Outcome::Never => Reason::Forbidden,
        _ => Reason::Denied,
    };
    Refusal::by_rule(reason, decision.rule_name(), decision.retry_after())
}
