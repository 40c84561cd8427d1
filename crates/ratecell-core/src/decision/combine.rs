//! The decisions of several layers as one.

use core::cmp::Reverse;

use super::Decision;

impl Decision {
    /// This decision as that of the layer of that number.
    #[inline]
    pub fn of_layer(self, layer: u32) -> Self {
        Self { layer, ..self }
    }

    /// The layers' decisions, in order, as one that names the tightest; `None` of no layer.
    #[inline]
    pub fn combined(decisions: impl Iterator<Item = Self>) -> Option<Self> {
        (0..).zip(decisions).map(|(layer, decision)| decision.of_layer(layer)).reduce(Self::combine)
    }

    /// Two layers' decisions as one: the least remaining with its limit and number, among equals of the one
    /// that is reset last; the greatest times, the gravest outcome.
    ///
    /// Refusal is monotone in time in each layer, so the greatest `retry_after` is the exact one; but for a
    /// layer that heals, which may allow now what it refuses once the clock has caught up.
    #[inline]
    pub fn combine(self, other: Self) -> Self {
        let slack = |decision: &Self| (decision.remaining, Reverse(decision.reset_after_ns));
        let tightest = if slack(&other) < slack(&self) { other } else { self };
        Self {
            retry_after_ns: self.retry_after_ns.max(other.retry_after_ns),
            reset_after_ns: self.reset_after_ns.max(other.reset_after_ns),
            delay_ns: self.delay_ns.max(other.delay_ns),
            outcome: self.outcome.gravest(other.outcome),
            notes: self.notes | other.notes,
            ..tightest
        }
    }

    /// The decision of a request that `refused` refuses, where `self` is that of a peek: nothing was charged, so
    /// what remains and when it is reset are the peek's.
    #[inline]
    pub fn refused_by(self, refused: &Self) -> Self {
        let Self { outcome, retry_after_ns, notes, .. } = *refused;
        let notes = notes | (self.notes & Self::SUPERSEDED);
        Self { outcome, retry_after_ns, delay_ns: 0, notes, ..self }
    }

    /// This refusal within a delay, which says the delay that the request would be given when the policy admits it.
    #[inline]
    pub fn delayed_by(self, delay_ns: u64) -> Self {
        Self { delay_ns, ..self }
    }
}
