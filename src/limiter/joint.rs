//! Several limiters at once: every one is charged, or none.

use super::layers::{Refusal, Request, charge_layers};
use super::{LayerTable, Limiter};
use ratecell_core::{Decision, Outcome};

/// One of several requests that are to be allowed together or not at all.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'c> {
    /// Who decides.
    pub limiter: &'c Limiter,
    /// Whom it is about.
    pub key: &'c [u8],
    /// How many units; 0 asks only.
    pub cost: u32,
    /// When, by the time that this limiter's callers use: [`Limiter::now_ns`], of its own clock.
    pub now_ns: u64,
}

impl<'c> Claim<'c> {
    fn request(&self) -> Request<'c, LayerTable> {
        let Self { limiter, key, cost, now_ns: now } = *self;
        Request { layers: &limiter.layers, h: limiter.hash(key), now, cost, max_delay_ns: u64::MAX }
    }
}

/// Which claim refused, and how.
#[derive(Clone, Copy)]
struct Refused(usize, Decision);

impl Refusal for Refused {
    fn of(decision: Decision) -> Self {
        Self(0, decision)
    }
}

impl Limiter {
    /// Decides all of `claims` as one request: all are charged, or none is. Answers with the gravest of their
    /// outcomes; `decisions` are what each says by itself, and of one that would have allowed, where another
    /// refuses, what it has still.
    ///
    /// As with the layers of one policy, all are peeked at before any is charged, and no number of callers can
    /// have any limiter allow more than its policy; a claim that another caller overtakes is refused. What was charged
    /// for it is then taken back, unless another charge of the same key came after it: such a charge stays.
    ///
    /// # Panics
    /// Where `decisions` is not as long as `claims`.
    pub fn check_all(claims: &[Claim<'_>], decisions: &mut [Decision]) -> Outcome {
        assert_eq!(claims.len(), decisions.len(), "a joint check has one decision for each claim");
        decide_all(claims.iter().copied(), decisions)
    }
}

/// Decides claims, with a place for the decision of each.
pub(crate) fn decide_all<'c>(
    claims: impl Iterator<Item = Claim<'c>> + Clone,
    decisions: &mut [Decision],
) -> Outcome {
    let mut gravest = Outcome::Allowed;
    for (claim, decision) in claims.clone().zip(&mut *decisions) {
        let request = claim.request();
        *decision = request.peek(request.cost).unwrap_or_default();
        gravest = gravest.gravest(decision.outcome());
    }
    let overtaken = match gravest {
        Outcome::Allowed => match charge_all(claims.clone(), decisions) {
            Ok(()) => return Outcome::Allowed,
            Err(refused) => Some(refused),
        },
        Outcome::Denied | Outcome::Never | Outcome::ClockRange => None,
    };
    for ((number, claim), decision) in claims.enumerate().zip(decisions) {
        *decision = match overtaken {
            Some(Refused(at, refused)) if at == number => claim.request().overtaken(refused),
            _ => claim.request().uncharged(*decision),
        };
    }
    overtaken.map_or(gravest, |Refused(_, refused)| refused.outcome())
}

/// Charges the first claim, then the others, and takes the first charge back where one of them refuses. The
/// decisions are told where none does.
fn charge_all<'c>(
    mut claims: impl Iterator<Item = Claim<'c>> + Clone,
    decisions: &mut [Decision],
) -> Result<(), Refused> {
    let (Some(claim), Some((decision, decisions))) = (claims.next(), decisions.split_first_mut()) else {
        return Ok(());
    };
    let charged = charge_layers(&claim.request(), 0, None, &mut || {
        let others = charge_all(claims.clone(), decisions);
        others.map_err(|Refused(number, how)| Refused(number + 1, how))
    });
    *decision = charged?.unwrap_or_default();
    Ok(())
}
