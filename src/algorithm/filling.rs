//! Charging what has already happened: an algorithm whose every step charges as much as there is room for.

use super::packing::Packing;
use super::{Algorithm, Step};
use crate::decision::Decision;

/// `A`, charging without asking: the words are `A`'s, and grow no higher than `A` lets them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling<A>(pub(crate) A);

impl<A: Algorithm> Algorithm for Filling<A> {
    #[inline]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        let filled = self.0.fill(word, now, cost);
        let charged = (filled != word).then_some(filled);
        Step { charged, decision: self.0.report(filled, now, 0) }
    }

    #[inline]
    fn advance(&self, word: u64, now: u64, cost: u32) -> u64 {
        self.0.fill(word, now, cost)
    }

    #[inline]
    fn report(&self, word: u64, now: u64, cost: u32) -> Decision {
        self.step(word, now, cost).decision
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        self.0.fresh_at(word)
    }

    #[inline]
    fn grounded(&self, instant: u64) -> u64 {
        self.0.grounded(instant)
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
