//! Several layers as one: charged all or none.

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

/// Decides `cost` on every layer, and charges all of them or none.
///
/// All are peeked at first, so a refusal that is there to be seen writes nothing. If one refuses while
/// they are charged, another caller came between: the earlier charges are taken back, except where
/// their words have changed since. That may refuse what a serial order would allow, never the reverse.
pub(crate) fn check<L: Layer>(layers: &[L], h: u64, now: u64, cost: u32) -> Decision {
    let Some(decision) = peek(layers, h, now, cost) else { return Decision::default() };
    match decision.outcome {
        Outcome::Allowed | Outcome::Denied if cost == 0 => decision,
        Outcome::Allowed => charge(layers, h, now, cost),
        Outcome::Denied | Outcome::Never => refusal(layers, h, now, decision),
        Outcome::ClockRange => Decision { layer: decision.layer, ..Decision::clock_range(decision.limit) },
    }
}

/// What every layer says, and writes nothing. `None` of no layer.
fn peek<L: Layer>(layers: &[L], h: u64, now: u64, cost: u32) -> Option<Decision> {
    let numbered = (0..).zip(layers);
    numbered.map(|(number, layer)| Decision { layer: number, ..layer.peek(h, now, cost) }).reduce(combine)
}

/// Charges the first layer, then the others, and takes the first charge back if they refuse.
fn charge<L: Layer>(layers: &[L], h: u64, now: u64, cost: u32) -> Decision {
    match charge_all(layers, 0, h, now, cost) {
        Ok(decision) => decision,
        // With what it says itself, for a layer without room for the key is not seen by a peek.
        Err(refused) => combine(refusal(layers, h, now, refused), refused),
    }
}

/// The first of `layers` has this `number`.
fn charge_all<L: Layer>(
    layers: &[L],
    number: u32,
    h: u64,
    now: u64,
    cost: u32,
) -> Result<Decision, Decision> {
    let Some((first, rest)) = layers.split_first() else { return Ok(Decision::default()) };
    let (decision, receipt) = first.charge(h, now, cost);
    let decision = Decision { layer: number, ..decision };
    if !decision.is_allowed() {
        return Err(decision);
    }
    if rest.is_empty() {
        return Ok(decision);
    }
    match charge_all(rest, number + 1, h, now, cost) {
        Ok(others) => Ok(combine(decision, others)),
        Err(refused) => {
            first.refund(receipt, h, cost);
            Err(refused)
        }
    }
}

/// The decision of a request that `refused` refuses: nothing was charged, so what remains and when it
/// is reset are those of a peek.
fn refusal<L: Layer>(layers: &[L], h: u64, now: u64, refused: Decision) -> Decision {
    let Some(peeked) = peek(layers, h, now, 0) else { return refused };
    Decision { outcome: refused.outcome, retry_after_ns: refused.retry_after_ns, delay_ns: 0, ..peeked }
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
