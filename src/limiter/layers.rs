//! Several layers as one, of one limiter or of several: charged all or none.

use arrayvec::ArrayVec;

use crate::table::Holding;
use ratecell_core::{Combined, Decision, Outcome, Request};

/// The most layers that are charged together: of one request, or of all that are decided at once.
pub(crate) const MAX_LAYERS: usize = 64;

/// One layer's states, of a key or of all.
pub(crate) trait Layer {
    /// What takes a charge back.
    type Receipt<'l>: Refund
    where
        Self: 'l;

    /// Decides, and writes nothing. Of a charge, which nothing refuses, the decision is a peek's.
    fn peek(&self, h: u64, now: u64, request: &Request<'_>) -> Decision;

    /// Whether it counts requests in flight: such a charge can always be taken back.
    fn is_in_flight(&self) -> bool;

    /// Decides, and charges what is allowed.
    fn charge(&self, h: u64, now: u64, request: &Request<'_>) -> (Decision, Self::Receipt<'_>);

    /// [`charge`](Self::charge), and what is held of it.
    fn reserve(
        &self,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Self::Receipt<'_>, Option<Holding>);
}

/// A charge that can be taken back.
pub(crate) trait Refund: Sized {
    /// Takes it back, unless another came after it that hides it: then it stays. The same caller's `earlier` ones, which
    /// may be of the same key, can be taken back afterwards.
    fn refund(self, earlier: &mut [Self]);
}

/// The receipts of what has been charged, in order.
pub(super) type Receipts<'l, L> = ArrayVec<<L as Layer>::Receipt<'l>, MAX_LAYERS>;

/// What is held of each layer, at its number.
pub(crate) type Holdings = [Option<Holding>];

/// Which layers are charged. Those in flight come first, whatever their place: a permit can always be taken back, the
/// charge of a rate only as long as nobody has charged after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    InFlight,
    Others,
}

impl Phase {
    pub(super) const ALL: [Self; 2] = [Self::InFlight, Self::Others];
}

/// Takes back all of them, the newest first.
pub(crate) fn refund<R: Refund>(mut receipts: ArrayVec<R, MAX_LAYERS>) {
    while let Some(newest) = receipts.pop() {
        newest.refund(&mut receipts);
    }
}

/// A request of one limiter: its layers, the key's hash, the instant.
#[derive(Debug)]
pub(crate) struct Inquiry<'l, L> {
    pub(crate) layers: &'l [L],
    pub(crate) h: u64,
    pub(crate) now: u64,
    pub(crate) request: Request<'l>,
}

impl<'l, L: Layer> Inquiry<'l, L> {
    /// Decides on every layer, and charges all of them or none.
    ///
    /// All are peeked at first, so a refusal that is there to be seen writes nothing. If one refuses while
    /// they are charged, another caller came between: the earlier charges are taken back, except where
    /// their cells have changed since, or are shared. That may refuse what a serial order would allow. The reverse takes a window that
    /// has begun with such a charge (docs/DESIGN.md, *Known limits*).
    pub(crate) fn decide(&self) -> Decision {
        if self.request.is_charge() {
            let peeked = self.remaining();
            if peeked.outcome() == Outcome::ClockRange {
                return self.uncharged(peeked);
            }
            // Each is filled by itself.
            let charged = self.layers.iter().map(|layer| layer.charge(self.h, self.now, &self.request).0);
            return Decision::combined(charged).unwrap_or_default();
        }
        self.decide_and(None)
    }

    /// [`decide`](Self::decide), of a request that is no charge. Writes what is held of each layer, if all were charged.
    pub(crate) fn reserve(&self, holdings: &mut Holdings) -> Decision {
        self.decide_and(Some(holdings))
    }

    fn decide_and(&self, mut holdings: Option<&mut Holdings>) -> Decision {
        let peeked = self.peek(&self.request);
        if !peeked.is_allowed() || self.request.units() == 0 {
            return self.uncharged(peeked);
        }
        let mut receipts = Receipts::<L>::new();
        let mut decisions = Combined::default();
        for phase in Phase::ALL {
            if let Err(refused) = self.charge(phase, &mut receipts, &mut decisions, holdings.as_deref_mut()) {
                refund(receipts);
                return self.overtaken(refused);
            }
        }
        decisions.decision().unwrap_or_default()
    }

    /// What every layer says of `request`, and writes nothing.
    pub(super) fn peek(&self, request: &Request<'_>) -> Decision {
        self.peek_at(self.now, request)
    }

    /// What a request of no units sees.
    fn remaining(&self) -> Decision {
        self.peek(&self.request.units_alone(0))
    }

    fn peek_at(&self, now: u64, request: &Request<'_>) -> Decision {
        let peeked = self.layers.iter().map(|layer| layer.peek(self.h, now, request));
        Decision::combined(peeked).unwrap_or_default()
    }

    /// Charges the layers of that phase, in order, and adds their receipts and decisions, until one refuses.
    pub(super) fn charge(
        &self,
        phase: Phase,
        receipts: &mut Receipts<'l, L>,
        decisions: &mut Combined,
        mut holdings: Option<&mut Holdings>,
    ) -> Result<(), Decision> {
        for (number, layer) in (0..).zip(self.layers) {
            if layer.is_in_flight() != (phase == Phase::InFlight) {
                continue;
            }
            let (decision, receipt) = match &mut holdings {
                None => layer.charge(self.h, self.now, &self.request),
                Some(holdings) => {
                    let (decision, receipt, holding) = layer.reserve(self.h, self.now, &self.request);
                    if let Some(place) = holdings.get_mut(number as usize) {
                        *place = holding;
                    }
                    (decision, receipt)
                }
            };
            let decision = decision.of_layer(number);
            if !decision.is_allowed() {
                return Err(decision);
            }
            if let Err(full) = receipts.try_push(receipt) {
                // The callers have counted the layers.
                full.element().refund(receipts);
                return Err(decision.never());
            }
            decisions.add(decision);
        }
        Ok(())
    }

    /// The answer where all layers' peeks say `peeked`, and nothing is to be charged.
    pub(super) fn uncharged(&self, peeked: Decision) -> Decision {
        match peeked.outcome() {
            Outcome::Allowed | Outcome::Denied if self.request.units() == 0 => peeked,
            Outcome::Allowed => self.remaining(),
            Outcome::ClockRange => Decision::clock_range(peeked.limit()).of_layer(peeked.layer() as u32),
            _ => self.refusal(peeked),
        }
    }

    /// The answer where one layer `refused` to be charged, though all peeks had allowed.
    pub(super) fn overtaken(&self, refused: Decision) -> Decision {
        // With what it says itself, for a layer without room for the key is not seen by a peek.
        self.refusal(refused).combine(refused)
    }

    /// The decision of a request that `refused` refuses: nothing was charged, so what remains and when it
    /// is reset are those of a peek.
    fn refusal(&self, refused: Decision) -> Decision {
        let refusal = self.remaining().refused_by(&refused);
        if self.request.max_delay_ns().is_none() {
            return refusal;
        }
        self.delay_when_admitted().map_or_else(Decision::superseded, |delay| refusal.delayed_by(delay))
    }

    /// The delay that would be given at the first instant at which the policy alone admits the request. A layer that
    /// admits it earlier delays it by the less then. `None` if the policy was changed.
    fn delay_when_admitted(&self) -> Option<u64> {
        let plain = self.request.units_alone(self.request.units());
        let mut peeked = self.peek(&plain);
        if peeked.outcome() == Outcome::Denied && !peeked.is_superseded() {
            peeked = self.peek_at(self.now.saturating_add(peeked.retry_after_ns()), &plain);
        }
        (!peeked.is_superseded()).then(|| if peeked.is_allowed() { peeked.delay_ns() } else { 0 })
    }

    /// `decision`, which also says what is next, if the request asks for it: the wait for one unit more than remains. If the
    /// policy was changed since, that is not known of what was charged, and all else is to be decided anew.
    #[inline]
    pub(super) fn with_next(&self, decision: Decision) -> Decision {
        if !self.request.wants_next() {
            return decision;
        }
        match self.next_ns(&decision) {
            Some(next_ns) => decision.with_next(next_ns),
            None if decision.is_allowed() && self.request.units() > 0 => decision,
            None => Decision::superseded(),
        }
    }

    /// `None` if the policy was changed.
    fn next_ns(&self, decision: &Decision) -> Option<u64> {
        let Ok(one_more) = u32::try_from(decision.remaining().saturating_add(1)) else { return Some(0) };
        let peeked = self.peek(&self.request.units_alone(one_more));
        if peeked.is_superseded() {
            return None;
        }
        let by_policy = if peeked.outcome() == Outcome::Denied { peeked.retry_after_ns() } else { 0 };
        // A table without a place for the key has none for one unit either, which no peek sees.
        let is_without_place = decision.outcome() == Outcome::Denied && decision.is_without_place();
        Some(if is_without_place { by_policy.max(decision.retry_after_ns()) } else { by_policy })
    }
}

#[cfg(all(test, not(ratecell_model)))]
mod tests {
    use super::*;
    use crate::limiter::Limiter;
    use core::time::Duration;

    /// What is asked besides a refusal is asked anew where the policy was changed between the two.
    #[test]
    fn a_refusal_is_of_one_policy() {
        let limiter = Limiter::builder("leaky_queue 1/h queue=1".parse().expect("a policy"));
        let limiter = limiter.max_keys(10).build().expect("a limiter");
        let request = Request::new("key").at(0).within(Duration::ZERO).with_next();
        while limiter.decide(request).is_allowed() {}
        let (h, layers) = (limiter.hash(&request), &limiter.regimes.first.layers);
        let inquiry = Inquiry { layers, h, now: 0, request };
        let refused = inquiry.peek(&request);
        let answer = inquiry.uncharged(refused);
        assert!(!answer.is_superseded() && inquiry.with_next(answer).next_after().is_some());
        limiter.change_at("leaky_queue 2/h queue=1".parse().expect("a policy"), 0).expect("in force");
        // By which the word is carried.
        assert!(!limiter.decide(request).is_allowed());
        assert!(inquiry.with_next(answer).is_superseded());
        assert!(inquiry.uncharged(refused).is_superseded());
        let allowed = Decision::allowed(1);
        assert_eq!(inquiry.with_next(allowed), allowed);
    }
}
