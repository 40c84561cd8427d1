//! Several limiters at once: every one is charged, or none.

use arrayvec::ArrayVec;

use super::Limiter;
use super::hold::LayerHoldings;
use super::layers::{Inquiry, MAX_LAYERS, Phase, Receipts, refund};
use super::regime::Reigning;
use super::remote::{OnFailure, Wait};
#[cfg(feature = "rules")]
use super::reservation::{MAX_RESERVED, Reservation};
use super::tables::LayerTable;
use crate::error::BuildError;
use ratecell_core::{Combined, Decision, Outcome, Request};

/// One of several requests that are allowed together or not at all: see [`Limiter::decide_all`].
#[derive(Clone, Copy, Debug)]
pub struct Claim<'c> {
    /// The limiter that decides it.
    pub limiter: &'c Limiter,
    /// Its request.
    pub request: Request<'c>,
}

/// A claim at an instant, with the regime that was in force after its clock was read.
struct Standing<'c> {
    claim: Claim<'c>,
    now: u64,
    regime: Reigning<'c>,
}

impl<'c> Standing<'c> {
    fn new(claim: Claim<'c>) -> Result<Self, BuildError> {
        let now = Self::now(&claim);
        Ok(Self { claim, now, regime: claim.limiter.regimes.reigning()? })
    }

    /// With the regime of that number; `None` if another is in force.
    #[cfg(feature = "rules")]
    fn numbered(claim: Claim<'c>, number: u64) -> Result<Option<Self>, BuildError> {
        let now = Self::now(&claim);
        let regime = claim.limiter.regimes.numbered(number)?;
        Ok(regime.map(|regime| Self { claim, now, regime }))
    }

    fn now(claim: &Claim<'c>) -> u64 {
        let Claim { limiter, request } = claim;
        let given = request.now_ns().filter(|_| limiter.remote.is_none());
        given.unwrap_or_else(|| limiter.now_ns())
    }

    fn inquiry(&self) -> Inquiry<'_, LayerTable> {
        let Claim { limiter, request } = self.claim;
        Inquiry { layers: &self.regime.layers, h: limiter.hash(&request), now: self.now, request }
    }
}

impl Limiter {
    /// Decides all of `claims` as one request: all are charged, or none is.
    ///
    /// Returns the gravest of the outcomes, and writes the decision of each claim to the same place of `decisions`. If a
    /// claim is refused, the decision of one that would have been allowed shows its units as they are, uncharged.
    ///
    /// As with the layers of one policy, all claims are peeked at before any is charged. No limiter ever allows more than
    /// its policy, with any number of callers. If another caller comes in between, the request may be refused after some
    /// of its claims were charged. These charges are then taken back, except where the key's cell has changed
    /// since, or is one that newcomers share: such a charge stays. (Two limiters that attached to one region apart are as
    /// two callers here.) Two claims on one key of one limiter are decided one after the other; if their sum
    /// is above its capacity, they are denied each time, with a `retry_after` that does not help: give one claim with the
    /// sum.
    ///
    /// A claim on a limiter that shares its units with other machines waits for the store as one request does. While the
    /// store is away it is denied under [`OnFailure::Open`], too: allowed uncharged, it would have the other claims
    /// charged for a request that one limiter did not decide.
    ///
    /// # Panics
    /// If `decisions` is not as long as `claims`, or the policies of the claims have more than 64 layers in all.
    pub fn decide_all(claims: &[Claim<'_>], decisions: &mut [Decision]) -> Outcome {
        assert_eq!(claims.len(), decisions.len(), "a joint request has one decision for each claim");
        let layers: usize = claims.iter().map(|claim| claim.limiter.regimes.first.layers.len()).sum();
        assert!(layers <= MAX_LAYERS, "the claims have {layers} layers: expected at most {MAX_LAYERS}");
        decide_all(claims.iter().copied(), decisions)
    }
}

/// Decides claims of at most [`MAX_LAYERS`] layers, with a place for the decision of each. Where units of many machines are
/// missed, it waits for them as a claim alone does.
pub(crate) fn decide_all<'c>(
    claims: impl Iterator<Item = Claim<'c>> + Clone,
    decisions: &mut [Decision],
) -> Outcome {
    // By the policies in force: anew, if one of them is changed meanwhile.
    loop {
        // The callers have counted the layers, of which each claim has one or more.
        let standing = claims.clone().take(MAX_LAYERS).map(Standing::new);
        let standing = standing.collect::<Result<AllStanding<'_>, _>>();
        if let Some(outcome) = attempt(standing.map(Some), decisions, Kind::Request, decide_standing) {
            return outcome;
        }
    }
}

/// [`decide_all`], of limiters of one family, by their policies of that number. `None`, and nothing is decided, if others
/// are in force.
#[cfg(feature = "rules")]
pub(crate) fn decide_all_by<'c>(
    number: u64,
    claims: impl Iterator<Item = Claim<'c>>,
    decisions: &mut [Decision],
) -> Option<Outcome> {
    attempt(numbered(number, claims), decisions, Kind::Request, decide_standing)
}

/// [`decide_all_by`], where each claim has at most [`MAX_RESERVED`] layers and no limiter
/// shares its units with other machines. If all are charged, `reservations` gets what is held of each.
#[cfg(feature = "rules")]
pub(crate) fn reserve_all_by<'c>(
    number: u64,
    claims: impl Iterator<Item = Claim<'c>>,
    decisions: &mut [Decision],
    reservations: &mut Vec<Reservation>,
) -> Option<Outcome> {
    attempt(numbered(number, claims), decisions, Kind::Request, |standing, decisions| {
        let inquiries = inquiries(standing);
        let nothing = |one: &Inquiry<'_, _>| one.layers.iter().take(MAX_RESERVED).map(|_| None).collect();
        let mut held: Vec<LayerHoldings> = inquiries.iter().map(nothing).collect();
        let outcome = decide_once(&inquiries, decisions, Some(&mut held));
        if outcome == Outcome::Allowed {
            let each = standing.iter().zip(&inquiries).zip(held);
            reservations.extend(each.map(|((one, inquiry), layers)| {
                one.claim.limiter.reservation(inquiry.h, inquiry.request.units(), &one.regime, layers)
            }));
        }
        outcome
    })
}

/// Decides claims, and waits for the units of many machines.
fn decide_standing(standing: &[Standing<'_>], decisions: &mut [Decision]) -> Outcome {
    let mut inquiries = inquiries(standing);
    let outcome = decide_once(&inquiries, decisions, None);
    if outcome != Outcome::Asked {
        return outcome;
    }
    let limiters = standing.iter().map(|one| one.claim.limiter);
    let limiters = limiters.take(MAX_LAYERS).collect::<ArrayVec<_, MAX_LAYERS>>();
    let is_in_force = || standing.iter().all(|one| one.claim.limiter.regimes.is_in_force(&one.regime));
    ask_for_all(&mut inquiries, &limiters, is_in_force, decisions)
}

/// Claims at an instant, if they are to be decided at all.
type AllStanding<'c> = ArrayVec<Standing<'c>, MAX_LAYERS>;

/// The claims by the policies of that number; `None` if others are in force.
#[cfg(feature = "rules")]
fn numbered<'c>(
    number: u64,
    claims: impl Iterator<Item = Claim<'c>>,
) -> Result<Option<AllStanding<'c>>, BuildError> {
    // The callers have counted the layers, of which each claim has one or more.
    let standing = claims.take(MAX_LAYERS).map(|claim| Standing::numbered(claim, number).transpose());
    standing.collect::<Option<Result<_, _>>>().transpose()
}

/// Whether claims are made, or only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Request,
    #[cfg(feature = "rules")]
    Peek,
}

/// Decides claims, and names the keys of those that are denied; `None` if the policy of one is changed meanwhile, or was
/// before.
fn attempt<'c>(
    standing: Result<Option<AllStanding<'c>>, BuildError>,
    decisions: &mut [Decision],
    kind: Kind,
    decide: impl FnOnce(&[Standing<'c>], &mut [Decision]) -> Outcome,
) -> Option<Outcome> {
    let Ok(standing) = standing else {
        // Nobody knows what the words of a region mean whose record of its policy cannot be read.
        decisions.fill(Decision::allowed(0).never());
        return Some(Outcome::Never);
    };
    let standing = standing?;
    let outcome = decide(&standing, decisions);
    if decisions.iter().any(Decision::is_superseded) {
        return None;
    }
    if outcome != Outcome::Allowed && kind == Kind::Request {
        for (Claim { limiter, request }, decision) in standing.iter().map(|one| one.claim).zip(decisions) {
            limiter.note_refused(&request, decision);
        }
    }
    Some(outcome)
}

fn inquiries<'s>(standing: &'s [Standing<'_>]) -> ArrayVec<Inquiry<'s, LayerTable>, MAX_LAYERS> {
    standing.iter().take(MAX_LAYERS).map(Standing::inquiry).collect()
}

/// What claims on limiters of one family would be decided as where another claim refuses the request: nothing is charged. By
/// their policies of that number; `None` if others are in force.
#[cfg(feature = "rules")]
pub(crate) fn decide_uncharged_by<'c>(
    number: u64,
    claims: impl Iterator<Item = Claim<'c>>,
    decisions: &mut [Decision],
) -> Option<Outcome> {
    attempt(numbered(number, claims), decisions, Kind::Peek, peek_standing)
}

#[cfg(feature = "rules")]
fn peek_standing(standing: &[Standing<'_>], decisions: &mut [Decision]) -> Outcome {
    let mut gravest = Outcome::Allowed;
    for (inquiry, decision) in inquiries(standing).iter().zip(decisions) {
        let peeked = inquiry.peek(&inquiry.request);
        gravest = gravest.gravest(peeked.outcome());
        *decision = inquiry.with_next(inquiry.uncharged(peeked));
    }
    gravest
}

/// Asks again until no claim misses units, or the wait of the first that does is over. Superseded, if their policies are not in
/// force any more.
#[cold]
fn ask_for_all(
    inquiries: &mut [Inquiry<'_, LayerTable>],
    limiters: &[&Limiter],
    is_in_force: impl Fn() -> bool,
    decisions: &mut [Decision],
) -> Outcome {
    let is_try = inquiries.iter().any(|inquiry| inquiry.request.is_without_waiting());
    let mut wait: Option<(&Limiter, Wait)> = None;
    let mut before = 0;
    loop {
        let asked = decisions.iter().position(|decision| decision.outcome() == Outcome::Asked);
        let missing = asked.and_then(|number| Some((number, inquiries.get(number)?, *limiters.get(number)?)));
        let Some((number, inquiry, limiter)) = missing else { return Outcome::Asked };
        let Some(remote) = &limiter.remote else { return Outcome::Asked };
        let (h, request) = (inquiry.h, inquiry.request);
        // One limiter's clock tells how long it takes: another's has another epoch.
        let (timer, wait) =
            wait.get_or_insert_with(|| (limiter, Wait::new(remote, h, limiter.now_ns(), is_try)));
        let ticket = remote.board.ticket(h);
        let elapsed_ns = wait.elapsed_ns(timer.now_ns());
        for (inquiry, limiter) in inquiries.iter_mut().zip(limiters) {
            inquiry.now = match limiter.remote {
                // No lease is used by an instant that is older than this look.
                Some(_) => limiter.now_ns(),
                None => inquiry.now.saturating_add(elapsed_ns.saturating_sub(before)),
            };
        }
        before = elapsed_ns;
        // After the clocks: no policy decides at an instant after the one that followed it.
        if !is_in_force() {
            decisions.fill(Decision::superseded());
            return Outcome::Denied;
        }
        let outcome = decide_once(inquiries, decisions, None);
        if outcome != Outcome::Asked {
            return outcome;
        }
        if let Err(why) =
            wait.ask(remote, h, u64::from(request.units()), ticket, limiter.now_ns(), elapsed_ns)
            && let Some(decision) = decisions.get_mut(number)
        {
            // Not by `on_failure`: one claim that is admitted uncharged would leave the others uncharged too.
            *decision = remote.end(&why, *decision, &request, OnFailure::Closed);
            return decision.outcome();
        }
    }
}

/// Decides the claims by what is there. If all are charged, `held` is what is held of each.
fn decide_once(
    inquiries: &[Inquiry<'_, LayerTable>],
    decisions: &mut [Decision],
    held: Option<&mut [LayerHoldings]>,
) -> Outcome {
    let mut gravest = Outcome::Allowed;
    for (inquiry, decision) in inquiries.iter().zip(&mut *decisions) {
        *decision = inquiry.peek(&inquiry.request);
        gravest = gravest.gravest(decision.outcome());
    }
    let overtaken = match gravest {
        Outcome::Allowed => charge_all(inquiries, decisions, held).err(),
        _ => None,
    };
    let charged = gravest == Outcome::Allowed && overtaken.is_none();
    for ((number, inquiry), decision) in inquiries.iter().enumerate().zip(decisions) {
        let decided = match overtaken {
            _ if charged => *decision,
            Some((at, refused)) if at == number => inquiry.overtaken(refused),
            _ => inquiry.uncharged(*decision),
        };
        *decision = inquiry.with_next(decided);
    }
    overtaken.map_or(gravest, |(_, refused)| refused.outcome())
}

/// Charges all, or none. The error is the number of the claim that refused, with its decision.
fn charge_all(
    inquiries: &[Inquiry<'_, LayerTable>],
    decisions: &mut [Decision],
    mut held: Option<&mut [LayerHoldings]>,
) -> Result<(), (usize, Decision)> {
    let mut receipts = Receipts::<LayerTable>::new();
    let mut charged = ArrayVec::<Combined, MAX_LAYERS>::new();
    charged.extend(inquiries.iter().take(MAX_LAYERS).map(|_| Combined::default()));
    for phase in Phase::ALL {
        for ((number, inquiry), decisions) in inquiries.iter().enumerate().zip(&mut charged) {
            let held = held.as_deref_mut().and_then(|held| held.get_mut(number)).map(|layers| &mut **layers);
            if let Err(refused) = inquiry.charge(phase, &mut receipts, decisions, held) {
                refund(receipts);
                return Err((number, refused));
            }
        }
    }
    for (decision, charged) in decisions.iter_mut().zip(charged) {
        *decision = charged.decision().unwrap_or_default();
    }
    Ok(())
}
