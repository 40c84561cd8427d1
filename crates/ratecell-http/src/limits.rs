//! Limits before a server: one limiter or several, which are charged all or none.

use std::sync::Arc;

use ratecell::fields::{Answer, Label, Styles, Unit, next_ns};
use ratecell::{Claim, Decision, Limiter, Outcome, Policy, Request, Unsettled};
use smallvec::SmallVec;

use crate::error::ConfigError;
use crate::fields::{Sink, write_all};
use crate::held::{Held, Of, OfLimit};
use crate::key::Key;
use crate::refusal::{Reason, Refusal};
use crate::told::Told;

/// The most layers of all limits of a request.
const MAX_LAYERS: usize = 64;

/// A limiter before a server.
#[derive(Clone, Debug)]
pub struct Limit {
    limiter: Arc<Limiter>,
    label: Label<'static>,
    /// How much of a request counts as used that its handler does not settle; `None` if costs are not settled.
    unsettled: Option<Unsettled>,
    has_permits: bool,
    /// Whether a decision alone does not say when there is one unit more.
    asks_next: bool,
    told: Arc<Told>,
}

impl Limit {
    /// By this limiter. Under a layer `in_flight` each request has its permit until it has ended.
    #[must_use]
    pub fn new(limiter: impl Into<Arc<Limiter>>) -> Self {
        let limiter = limiter.into();
        let policy = limiter.policy();
        let has_permits = policy.to_string().contains("in_flight");
        let asks_next = !says_next(&policy);
        let (label, told) = (Label::new(), Arc::default());
        Self { limiter, label, unsettled: None, has_permits, asks_next, told }
    }

    /// Sets the name, the unit and the partition of the policy in fields.
    #[must_use]
    pub fn label(self, label: Label<'static>) -> Self {
        Self { label, ..self }
    }

    /// Settles each request at what its handler says that it [used](crate::Used). If it does not say it, `unsettled` counts.
    #[must_use]
    pub fn settled(self, unsettled: Unsettled) -> Self {
        Self { unsettled: Some(unsettled), ..self }
    }

    /// The limiter.
    #[must_use]
    pub fn limiter(&self) -> &Arc<Limiter> {
        &self.limiter
    }

    /// Whether its requests hold something until they have ended.
    fn reserves(&self) -> bool {
        self.has_permits || self.unsettled.is_some()
    }

    fn counts_bytes(&self) -> bool {
        self.label == self.label.unit(Unit::ContentBytes)
    }

    fn request<'k>(&self, claimed: &'k Claimed<'_>) -> Request<'k> {
        let request = Request::new(&claimed.key).cost(claimed.cost).without_waiting();
        if self.asks_next { request.with_next() } else { request }
    }

    /// Decides the only claim of a request.
    pub(crate) fn decide(&self, claimed: &Claimed<'_>) -> (Decision, Option<Held>) {
        let request = self.request(claimed);
        if !self.reserves() {
            return (self.limiter.decide(request), None);
        }
        let (decision, held) = reserve(self, request);
        (decision, held.map(|held| Held::new(Of::Limits(vec![held]))))
    }

    /// Hands out the fields of the only decision on a request.
    pub(crate) fn write_fields(&self, decision: Decision, styles: Styles, sink: &mut Sink<'_>) {
        self.told.write(self.limiter.policy(), self.label, styles, decision, sink);
    }

    /// The refusal by the only decision on a request.
    pub(crate) fn refusal(&self, decision: Decision) -> Refusal {
        let reason = if decision.outcome() == Outcome::Never { Reason::TooLarge } else { Reason::Denied };
        Refusal::by_limit(reason, decision, self.counts_bytes())
    }

    fn held(&self, reservation: ratecell::Reservation) -> OfLimit {
        OfLimit { limiter: Arc::clone(&self.limiter), reservation, unsettled: self.unsettled }
    }
}

/// Whether the time of one unit more follows from a decision by this policy, which then need not be asked for it.
fn says_next(policy: &Policy) -> bool {
    let capacity = policy.capacity();
    let one_used =
        Decision::new(Outcome::Allowed, capacity, capacity.saturating_sub(1), 0, u64::MAX / 2, 0, 0);
    next_ns(policy, &one_used).is_some()
}

/// What a request claims of one limit.
#[derive(Clone, Debug)]
pub struct Claimed<'r> {
    /// The number of the limit.
    pub limit: usize,
    /// Who is limited.
    pub key: Key<'r>,
    /// The units. 0 charges nothing, and shows the limit.
    pub cost: u32,
}

/// One limit or several.
#[derive(Clone, Debug)]
pub struct Limits(Box<[Limit]>);

/// The decisions on several claims of a request.
pub(crate) struct Decided {
    pub(crate) outcome: Outcome,
    /// With the number of the limit.
    decisions: SmallVec<[(usize, Decision); 2]>,
    pub(crate) held: Option<Held>,
}

impl Decided {
    /// The longest delay.
    pub(crate) fn delay_ns(&self) -> u64 {
        self.decisions.iter().map(|(_, decision)| decision.delay_ns()).max().unwrap_or(0)
    }
}

impl Limits {
    /// These limits, which are known by their numbers from 0 on.
    ///
    /// # Errors
    /// There is none; they have more than 64 layers; a policy has `tz=caller`; or a limiter is to reserve, and cannot.
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Result<Self, ConfigError> {
        let limits: Box<[_]> = limits.into_iter().collect();
        if limits.is_empty() {
            return Err(ConfigError::NoLimits);
        }
        let policies = limits.iter().map(|limit| limit.limiter.policy());
        let layers = policies.map(|policy| policy.layers().len()).sum();
        if layers > MAX_LAYERS {
            return Err(ConfigError::Layers { layers });
        }
        for limit in &limits {
            let policy = || limit.limiter.policy().to_string();
            // A peek: it charges nothing.
            let peek = Request::new("").cost(0).without_waiting();
            if limit.limiter.decide(peek).is_without_zone() {
                return Err(ConfigError::Zone { policy: policy() });
            }
            if limit.reserves()
                && let Err(error) = limit.limiter.reserve(peek)
            {
                return Err(ConfigError::Reserve { policy: policy(), error });
            }
        }
        Ok(Self(limits))
    }

    /// The limits, in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[Limit] {
        &self.0
    }

    /// Decides claims as one request; those on limits that there are not are passed over. It does not wait.
    pub(crate) fn decide(&self, claims: &[Claimed<'_>]) -> Decided {
        let claims: SmallVec<[_; 4]> = claims
            .iter()
            .filter_map(|claimed| {
                let limit = self.0.get(claimed.limit)?;
                Some((claimed.limit, limit, limit.request(claimed)))
            })
            .collect();
        together(&claims)
    }

    /// Hands out the fields.
    pub(crate) fn write_fields(&self, decided: &Decided, styles: Styles, sink: &mut Sink<'_>) {
        let of = |(limit, decision): &(usize, Decision)| {
            let limit = self.0.get(*limit)?;
            Some((limit.limiter.policy(), limit.label, *decision))
        };
        let each: SmallVec<[_; 2]> = decided.decisions.iter().filter_map(of).collect();
        let answers = each.iter().map(|(policy, label, decision)| Answer::of(policy, *label, *decision));
        let answers: SmallVec<[_; 2]> = answers.collect();
        write_all(styles, &answers, None, sink);
    }

    /// The refusal of a request that is denied, or never allowed.
    pub(crate) fn refusal(&self, decided: &Decided) -> Refusal {
        let refusals = || decided.decisions.iter().filter(|(_, decision)| !decision.is_allowed());
        let gravest = refusals().find(|(_, decision)| decision.outcome() == decided.outcome);
        let Some((limit, decision)) = gravest else { return Refusal::of(Reason::Denied) };
        let counts_bytes = self.0.get(*limit).is_some_and(Limit::counts_bytes);
        let reason = if decided.outcome == Outcome::Never { Reason::TooLarge } else { Reason::Denied };
        // Of several the longest; none is known if one is not.
        let longest = refusals().try_fold(None, |longest, (_, decision)| {
            decision.retry_after().map(|after| longest.max(Some(after)))
        });
        Refusal::by_limit(reason, *decision, counts_bytes).after(longest.flatten())
    }
}

fn reserve(limit: &Limit, request: Request<'_>) -> (Decision, Option<OfLimit>) {
    match limit.limiter.reserve(request) {
        Ok((decision, reservation)) => (decision, reservation.map(|reservation| limit.held(reservation))),
        // It could when the limit was made.
        Err(_) => (limit.limiter.decide(request), None),
    }
}

/// Decides claims as one request. Those that hold something are reserved, one after the other, before the others are decided
/// together. If one is refused, they are cancelled.
fn together(claims: &[(usize, &Limit, Request<'_>)]) -> Decided {
    let mut decisions: SmallVec<[(usize, Decision); 2]> =
        claims.iter().map(|(number, ..)| (*number, Decision::default())).collect();
    let (mut held, mut refused) = (Vec::new(), None);
    let mut rest: SmallVec<[usize; 4]> = SmallVec::new();
    for (place, (_, limit, request)) in claims.iter().enumerate() {
        if refused.is_some() || !limit.reserves() {
            rest.push(place);
            continue;
        }
        let (decision, own) = reserve(limit, *request);
        decisions[place].1 = decision;
        match own {
            Some(own) => held.push(own),
            None => refused = Some(decision.outcome()),
        }
    }
    // Once one has refused, the others say what remains.
    let others: SmallVec<[Claim<'_>; 4]> = rest
        .iter()
        .map(|place| {
            let (_, limit, request) = &claims[*place];
            let request = if refused.is_some() { request.cost(0) } else { *request };
            Claim { limiter: &limit.limiter, request }
        })
        .collect();
    let mut made: SmallVec<[Decision; 4]> = others.iter().map(|_| Decision::default()).collect();
    let joint = if others.is_empty() { Outcome::Allowed } else { Limiter::decide_all(&others, &mut made) };
    for (place, decision) in rest.into_iter().zip(made) {
        decisions[place].1 = decision;
    }
    let outcome = refused.unwrap_or(joint);
    let held = (!held.is_empty()).then(|| Held::new(Of::Limits(held)));
    if outcome == Outcome::Allowed {
        return Decided { outcome, decisions, held };
    }
    if let Some(held) = held {
        held.cancel();
        for ((_, decision), (_, limit, request)) in decisions.iter_mut().zip(claims) {
            if limit.reserves() && decision.is_allowed() {
                *decision = limit.limiter.decide(request.cost(0));
            }
        }
    }
    Decided { outcome, decisions, held: None }
}
