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
        let mut all = Combined::default();
        for (layer, decision) in (0..).zip(decisions) {
            all.add(decision.of_layer(layer));
        }
        all.decision()
    }

    /// These two layers' decisions, as [`Combined`] has them.
    #[inline]
    pub fn combine(self, other: Self) -> Self {
        Combined::of(self).with(other).all.unwrap_or(other)
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

/// Layers' decisions as one, in whatever order they are added: the least remaining with its limit and number, among
/// equals of the one that is reset last, and of these the first layer; the greatest times, the gravest outcome.
///
/// Refusal is monotone in time in each layer, so the greatest `retry_after` is the exact one; but for a layer that heals,
/// which may allow now what it refuses once the clock has caught up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Combined {
    all: Option<Decision>,
    /// When the layer that is named is reset: `all` has the latest reset of any.
    reset_after_ns: u64,
}

impl Combined {
    #[inline]
    fn of(decision: Decision) -> Self {
        Self { all: Some(decision), reset_after_ns: decision.reset_after_ns }
    }

    #[inline]
    fn with(self, other: Decision) -> Self {
        let Some(all) = self.all else { return Self::of(other) };
        let is_tighter = (other.remaining, Reverse(other.reset_after_ns), other.layer)
            < (all.remaining, Reverse(self.reset_after_ns), all.layer);
        let (named, reset_after_ns) =
            if is_tighter { (other, other.reset_after_ns) } else { (all, self.reset_after_ns) };
        let all = Decision {
            retry_after_ns: all.retry_after_ns.max(other.retry_after_ns),
            reset_after_ns: all.reset_after_ns.max(other.reset_after_ns),
            delay_ns: all.delay_ns.max(other.delay_ns),
            outcome: all.outcome.gravest(other.outcome),
            notes: all.notes | other.notes,
            ..named
        };
        Self { all: Some(all), reset_after_ns }
    }

    /// Adds that of one more layer.
    #[inline]
    pub fn add(&mut self, decision: Decision) {
        *self = self.with(decision);
    }

    /// All as one; `None` of no layer.
    #[inline]
    #[must_use]
    pub fn decision(self) -> Option<Decision> {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::{Combined, Decision};
    use crate::decision::Outcome;

    /// The layer that is reset last of those with the least remaining, though one with more is reset later still.
    #[test]
    fn the_layer_that_is_named_is_the_same_in_every_order() {
        let layer =
            |layer, remaining, reset_ns| Decision::new(Outcome::Allowed, 9, remaining, 0, reset_ns, 0, layer);
        let layers = [layer(0, 1, 100), layer(1, 0, 5), layer(2, 0, 50), layer(3, 0, 50)];
        for first in 0..4 {
            for second in 0..4 {
                let mut order = layers;
                order.swap(0, first);
                order.swap(1, second);
                let mut all = Combined::default();
                order.into_iter().for_each(|decision| all.add(decision));
                let all = all.decision().expect("of four layers");
                assert_eq!((all.layer(), all.remaining(), all.reset_after_ns()), (2, 0, 100), "{order:?}");
            }
        }
    }
}
