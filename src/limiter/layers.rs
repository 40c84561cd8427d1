//! Several layers as one, of one limiter or of several: charged all or none.

use core::cmp::Reverse;

use crate::decision::{Decision, Outcome};

/// One layer's states, of a key or of all.
pub(crate) trait Layer {
    /// What takes a charge back.
    type Receipt<'l>
    where
        Self: 'l;

    fn peek(&self, h: u64, now: u64, cost: u32) -> Decision;

    fn charge(&self, h: u64, now: u64, cost: u32) -> (Decision, Self::Receipt<'_>);

    /// Takes an allowed charge back, unless another came after it that hides it: then it stays.
    fn refund(&self, receipt: Self::Receipt<'_>, h: u64, cost: u32);
}

/// What is asked of one limiter's layers.
#[derive(Debug)]
pub(crate) struct Request<'l, L> {
    pub(crate) layers: &'l [L],
    pub(crate) h: u64,
    pub(crate) now: u64,
    pub(crate) cost: u32,
    /// A delay that is longer refuses.
    pub(crate) max_delay_ns: u64,
}

impl<L: Layer> Request<'_, L> {
    /// What every layer says, and writes nothing. `None` of no layer.
    pub(super) fn peek(&self, cost: u32) -> Option<Decision> {
        let peeked = |layer: &L| layer.peek(self.h, self.now, cost).within(self.max_delay_ns);
        combined(self.layers.iter().map(peeked))
    }

    /// What is answered where `peeked` is said, and nothing is to be charged.
    pub(super) fn uncharged(&self, peeked: Decision) -> Decision {
        match peeked.outcome {
            Outcome::Allowed | Outcome::Denied if self.cost == 0 => peeked,
            Outcome::Allowed => self.peek(0).unwrap_or(peeked),
            Outcome::Denied | Outcome::Never => self.refusal(peeked),
            Outcome::ClockRange => Decision { layer: peeked.layer, ..Decision::clock_range(peeked.limit) },
        }
    }

    /// What is answered where `refused` came of charging, though all peeks had allowed.
    pub(super) fn overtaken(&self, refused: Decision) -> Decision {
        // With what it says itself, for a layer without room for the key is not seen by a peek.
        combine(self.refusal(refused), refused)
    }

    /// The decision of a request that `refused` refuses: nothing was charged, so what remains and when it
    /// is reset are those of a peek.
    fn refusal(&self, refused: Decision) -> Decision {
        let Some(peeked) = self.peek(0) else { return refused };
        Decision { outcome: refused.outcome, retry_after_ns: refused.retry_after_ns, delay_ns: 0, ..peeked }
    }
}

/// Decides `cost` on every layer, and charges all of them or none.
///
/// All are peeked at first, so a refusal that is there to be seen writes nothing. If one refuses while
/// they are charged, another caller came between: the earlier charges are taken back, except where
/// their words have changed since. That may refuse what a serial order would allow. The reverse takes a window that
/// has begun with such a charge (docs/DESIGN.md, *Where it is not absolute*).
pub(crate) fn check<L: Layer>(layers: &[L], h: u64, now: u64, cost: u32) -> Decision {
    check_within(layers, h, now, cost, u64::MAX)
}

/// [`check`], where a delay that is longer refuses.
pub(crate) fn check_within<L: Layer>(
    layers: &[L],
    h: u64,
    now: u64,
    cost: u32,
    max_delay_ns: u64,
) -> Decision {
    let request = Request { layers, h, now, cost, max_delay_ns };
    let Some(peeked) = request.peek(cost) else { return Decision::default() };
    if !peeked.is_allowed() || cost == 0 {
        return request.uncharged(peeked);
    }
    match charge_layers(&request, 0, None, &mut || Ok(())) {
        Ok(decision) => decision.unwrap_or(peeked),
        Err(refused) => request.overtaken(refused),
    }
}

/// Charges the layers of a request from `number` on, then does what comes `after` them, and takes all of it back
/// where one refuses. The decision is that of all layers, of which those before have `told` theirs.
pub(super) fn charge_layers<L: Layer, E: Refusal>(
    request: &Request<'_, L>,
    number: u32,
    told: Option<Decision>,
    after: &mut impl FnMut() -> Result<(), E>,
) -> Result<Option<Decision>, E> {
    let Request { layers, h, now, cost, max_delay_ns } = *request;
    let Some(layer) = layers.get(number as usize) else { return after().map(|()| told) };
    let (charged, receipt) = layer.charge(h, now, cost);
    let decision = Decision { layer: number, ..charged.within(max_delay_ns) };
    if !decision.is_allowed() {
        if charged.is_allowed() {
            layer.refund(receipt, h, cost);
        }
        return Err(E::of(decision));
    }
    let told = told.map_or(decision, |told| combine(told, decision));
    charge_layers(request, number + 1, Some(told), after).inspect_err(|_| layer.refund(receipt, h, cost))
}

/// What tells that a layer refused.
pub(super) trait Refusal {
    fn of(decision: Decision) -> Self;
}

impl Refusal for Decision {
    fn of(decision: Decision) -> Self {
        decision
    }
}

/// The layers' decisions as one, which names the layer.
pub(super) fn combined(decisions: impl Iterator<Item = Decision>) -> Option<Decision> {
    (0..).zip(decisions).map(|(layer, decision)| Decision { layer, ..decision }).reduce(combine)
}

/// Two layers' decisions as one: the least remaining with its limit and number, among equals of the one
/// that is reset last; the greatest times, the gravest outcome.
///
/// Refusal is monotone in time in each layer, so the greatest `retry_after` is the exact one; but for a
/// layer that heals, which may allow now what it refuses once the clock has caught up.
fn combine(a: Decision, b: Decision) -> Decision {
    let slack = |decision: &Decision| (decision.remaining, Reverse(decision.reset_after_ns));
    let tightest = if slack(&b) < slack(&a) { b } else { a };
    Decision {
        limit: tightest.limit,
        remaining: tightest.remaining,
        layer: tightest.layer,
        retry_after_ns: a.retry_after_ns.max(b.retry_after_ns),
        reset_after_ns: a.reset_after_ns.max(b.reset_after_ns),
        delay_ns: a.delay_ns.max(b.delay_ns),
        // The outcomes are numbered by gravity.
        outcome: if b.outcome as i32 > a.outcome as i32 { b.outcome } else { a.outcome },
    }
}
