//! Algorithms asked otherwise than by a plain check. The words are the algorithm's own.

use super::packing::Packing;
use super::{Algorithm, Step};
use crate::decision::Decision;

/// What a request does instead of the algorithm's own step.
pub(crate) trait Manner: Copy {
    fn step<A: Algorithm>(self, algorithm: &A, word: u64, now: u64, cost: u32) -> Step;
}

/// Charges what has already happened: as much as there is room for, without asking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling;

impl Manner for Filling {
    #[inline]
    fn step<A: Algorithm>(self, algorithm: &A, word: u64, now: u64, cost: u32) -> Step {
        let filled = algorithm.fill(word, now, cost);
        let charged = (filled != word).then_some(filled);
        Step { charged, decision: algorithm.report(filled, now, 0) }
    }
}

/// Denies what would be delayed for longer than so many nanoseconds, until it no longer would.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within(pub(crate) u64);

impl Manner for Within {
    #[inline]
    fn step<A: Algorithm>(self, algorithm: &A, word: u64, now: u64, cost: u32) -> Step {
        let step = algorithm.step(word, now, cost);
        let decision = step.decision.within(self.0);
        if decision.outcome == step.decision.outcome {
            return step;
        }
        // Nothing is charged, so what remains is what a peek sees.
        let Decision { remaining, reset_after_ns, .. } = algorithm.report(word, now, 0);
        Step { charged: None, decision: Decision { remaining, reset_after_ns, ..decision } }
    }
}

/// `A`, asked in the manner `M`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<A, M>(pub(crate) A, pub(crate) M);

impl<A: Algorithm, M: Manner> Algorithm for Asked<A, M> {
    #[inline]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        self.1.step(&self.0, word, now, cost)
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        self.0.fresh_at(word)
    }

    #[inline]
    fn carried(&self, word: u64, instant: u64) -> u64 {
        self.0.carried(word, instant)
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        self.0.level(word, now)
    }

    #[inline]
    fn weight(&self, word: u64, now: u64) -> u64 {
        self.0.weight(word, now)
    }

    #[inline]
    fn is_healed(&self, word: u64, now: u64) -> bool {
        self.0.is_healed(word, now)
    }

    #[inline]
    fn is_fresh(&self, word: u64, now: u64) -> bool {
        self.0.is_fresh(word, now)
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        self.0.heal()
    }

    fn packing(&self) -> Packing {
        self.0.packing()
    }
}
