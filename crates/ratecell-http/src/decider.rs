//! Decides the requests before a server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ratecell::Outcome;
use ratecell::fields::{Style, Styles};
use ratecell::rules::Attributes;
use ratecell::waiting::Sleep;

use crate::held::Held;
use crate::limits::{Claimed, Limits};
use crate::refusal::{Reason, Refusal};
use crate::rules::{self, RuleLimits};

/// What happens to a request when the limiter cannot decide: its clock is past the range of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnFault {
    /// It goes, unlimited and without fields.
    #[default]
    Open,
    /// It is refused, with 503.
    Closed,
}

/// How often something happened that the responses do not show. Counted since the middleware was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that would have been refused, and went because the limits are a trial.
    pub shadowed: u64,
    /// Requests that the limiter could not decide, or that had no peer's address.
    pub faults: u64,
}

/// [`Counts`], while they grow.
#[derive(Debug, Default)]
struct Counters {
    refused: AtomicU64,
    shadowed: AtomicU64,
    faults: AtomicU64,
}

/// What was decided.
#[derive(Debug)]
#[must_use = "a verdict that is ignored limits nothing"]
pub enum Verdict {
    /// The request goes.
    Go(Pass),
    /// It is refused.
    Refuse(Refusal),
    /// It is not known yet: the store of many machines was asked. Ask again in some milliseconds, and after
    /// [`Decider::ASK_FOR`] no more.
    Ask,
}

/// What goes with a request.
#[derive(Debug, Default)]
pub struct Pass {
    /// How long the request is to be held before its handler gets it.
    pub delay: Duration,
    /// What it holds until it has ended.
    pub held: Option<Held>,
}

/// The limits before a server, and what it answers by them.
#[derive(Debug)]
pub struct Decider {
    limits: Kind,
    styles: Option<Styles>,
    is_shadow: bool,
    on_fault: OnFault,
    counters: Counters,
}

#[derive(Debug)]
enum Kind {
    Limits(Limits),
    Rules(RuleLimits),
}

impl From<Limits> for Decider {
    fn from(limits: Limits) -> Self {
        Self::new(limits)
    }
}

impl Decider {
    /// How long a request waits at most for the store of many machines: as long as
    /// [`OnMiss::Wait`](ratecell::OnMiss::Wait) does by default. Then it is [late](Self::late).
    pub const ASK_FOR: Duration = Duration::from_millis(50);

    /// By these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::of(Kind::Limits(limits))
    }

    /// By these rules.
    #[must_use]
    pub fn by_rules(limits: RuleLimits) -> Self {
        Self::of(Kind::Rules(limits))
    }

    fn of(limits: Kind) -> Self {
        Self {
            limits,
            styles: Some(Style::Draft11.into()),
            is_shadow: false,
            on_fault: OnFault::default(),
            counters: Counters::default(),
        }
    }

    /// Sets which fields responses have; by default those of [`Style::Draft11`]. `None` is none.
    #[must_use]
    pub fn styles(self, styles: Option<Styles>) -> Self {
        Self { styles, ..self }
    }

    /// Makes it a trial: requests are decided, charged and counted, and all of them go, without a delay and without fields. One
    /// that the store of many machines is asked about waits for the answer, as it would then.
    #[must_use]
    pub fn shadow(self) -> Self {
        Self { is_shadow: true, ..self }
    }

    /// Sets what happens when the limiter cannot decide.
    #[must_use]
    pub fn on_fault(self, on_fault: OnFault) -> Self {
        Self { on_fault, ..self }
    }

    /// How often something happened that the responses do not show.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Counters { refused, shadowed, faults } = &self.counters;
        // Relaxed: each count is read by itself.
        let [refused, shadowed, faults] = [refused, shadowed, faults].map(|one| one.load(Ordering::Relaxed));
        Counts { refused, shadowed, faults }
    }

    /// Sleeps by the limiter's clock.
    pub fn sleep(&self, delay: Duration) -> Option<Sleep> {
        match &self.limits {
            Kind::Limits(limits) => Some(limits.as_slice().first()?.limiter().sleep(delay)),
            Kind::Rules(limits) => Some(limits.limiter().sleep(delay)),
        }
    }

    /// Decides a request by its claims, and hands its fields to `sink`: names in small letters, and values. Without a claim the
    /// request is not limited. It does not wait.
    pub fn decide(
        &self,
        claims: &[Claimed<'_>],
        sink: &mut (impl FnMut(&'static str, &[u8]) + ?Sized),
    ) -> Verdict {
        let Kind::Limits(limits) = &self.limits else { return Verdict::Go(Pass::default()) };
        if claims.is_empty() {
            return Verdict::Go(Pass::default());
        }
        if let [claimed] = claims
            && let Some(limit) = limits.as_slice().get(claimed.limit)
        {
            let (decision, held) = limit.decide(claimed);
            return self.verdict(
                decision.outcome(),
                Pass { delay: decision.delay(), held },
                || limit.refusal(decision),
                |styles| limit.write_fields(decision, styles, &mut |name, value| sink(name, value)),
            );
        }
        let mut decided = limits.decide(claims);
        let pass = Pass { delay: Duration::from_nanos(decided.delay_ns()), held: decided.held.take() };
        self.verdict(
            decided.outcome,
            pass,
            || limits.refusal(&decided),
            |styles| limits.write_fields(&decided, styles, &mut |name, value| sink(name, value)),
        )
    }

    /// Decides a request by its attributes, as [`decide`](Self::decide) does by claims.
    pub fn decide_by_rules<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        sink: &mut (impl FnMut(&'static str, &[u8]) + ?Sized),
    ) -> Verdict {
        let Kind::Rules(limits) = &self.limits else { return Verdict::Go(Pass::default()) };
        let (decision, held) = limits.decide(attributes);
        let outcome = if decision.is_unclear_path() { Outcome::Never } else { decision.outcome };
        let pass = Pass { delay: decision.delay(), held };
        self.verdict(
            outcome,
            pass,
            || rules::refusal(&decision),
            |styles| rules::write_fields(&decision, styles, &mut |name, value| sink(name, value)),
        )
    }

    fn verdict(
        &self,
        outcome: Outcome,
        pass: Pass,
        refusal: impl FnOnce() -> Refusal,
        write_fields: impl FnOnce(Styles),
    ) -> Verdict {
        let verdict = match outcome {
            Outcome::Allowed => Verdict::Go(pass),
            Outcome::Asked => return Verdict::Ask,
            Outcome::ClockRange => return self.fault(),
            _ => self.refuse(refusal),
        };
        match (verdict, self.styles) {
            (Verdict::Go(pass), _) if self.is_shadow => Verdict::Go(Pass { delay: Duration::ZERO, ..pass }),
            (verdict, Some(styles)) => {
                write_fields(styles);
                verdict
            }
            (verdict, None) => verdict,
        }
    }

    /// Refuses a request, unless the limits are a trial.
    fn refuse(&self, refusal: impl FnOnce() -> Refusal) -> Verdict {
        if self.is_shadow {
            count(&self.counters.shadowed);
            return Verdict::Go(Pass::default());
        }
        count(&self.counters.refused);
        Verdict::Refuse(refusal())
    }

    fn fault(&self) -> Verdict {
        count(&self.counters.faults);
        match self.on_fault {
            OnFault::Closed if !self.is_shadow => Verdict::Refuse(Refusal::of(Reason::Undecided)),
            _ => Verdict::Go(Pass::default()),
        }
    }

    /// The verdict on a request that was asked about for long enough: it is denied.
    pub fn late(&self) -> Verdict {
        self.refuse(|| Refusal::of(Reason::Denied))
    }

    /// The verdict on a request whose client cannot be known, since its server does not say who its peers are. That is a fault of
    /// the program, which every request of such a server shows: it is refused whatever [`OnFault`] says, so that no
    /// server runs without its limit, or with one for all clients together.
    pub fn no_peer(&self) -> Verdict {
        count(&self.counters.faults);
        if self.is_shadow {
            return Verdict::Go(Pass::default());
        }
        Verdict::Refuse(Refusal::of(Reason::NoPeer))
    }
}

fn count(counter: &AtomicU64) {
    // Relaxed: nothing is read by a count.
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use ratecell::{Limiter, Policy};

    use super::*;
    use crate::limits::Limit;

    fn decider() -> Decider {
        let policy: Policy = "1/h".parse().expect("a policy");
        let limiter = Limiter::builder(policy).max_keys(10).build().expect("a limiter");
        Decider::new(Limits::new([Limit::new(limiter)]).expect("limits"))
    }

    #[test]
    fn who_was_asked_about_for_long_enough_is_denied() {
        let enforcing = decider();
        let Verdict::Refuse(refusal) = enforcing.late() else { panic!("it is denied") };
        assert_eq!((refusal.status(), refusal.retry_after()), (429, None));
        assert_eq!(enforcing.counts().refused, 1);
        let trial = decider().shadow();
        assert!(matches!(trial.late(), Verdict::Go(_)));
        assert_eq!(trial.counts(), Counts { shadowed: 1, ..Counts::default() });
    }

    #[test]
    fn a_request_without_a_claim_is_not_limited() {
        let decider = decider();
        for _ in 0..3 {
            assert!(matches!(decider.decide(&[], &mut |name, _| panic!("{name}")), Verdict::Go(_)));
        }
    }
}
