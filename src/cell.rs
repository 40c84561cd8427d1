//! The cell: what holds one key's word, and the one loop of the crate that changes a word by a policy.

mod verdict;

pub(crate) use verdict::Verdict;

use crate::sync::{AtomicU64, Ordering};
use ratecell_core::algorithm::{Algorithm, Step};
use ratecell_core::{Decision, Request};

/// What a request did to a cell: the word it was decided on and the word it left, the same one unless
/// it was charged. Everything else that there is to say follows from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    pub(crate) before: u64,
    pub(crate) after: u64,
}

/// An atomic word that holds one key's state. Zero is a key never seen.
pub(crate) trait Cell {
    /// The word. An acquire load: what its writer knew is known, and later loads come after it.
    fn load(&self) -> u64;

    /// Changes the word from exactly `before`, or not at all. Acquires and releases.
    fn replace(&self, before: u64, after: u64) -> bool;

    /// Gives back: from exactly `after` to the lower `before`, or not at all.
    ///
    /// Charges stand in a stack of rising words, so `after` is on top only while nothing came after it. What lowers a word
    /// otherwise ends that: a forget, and a charge of a healed word. A slot's tag tells of a forget; a word by itself may
    /// then give back a later charge that left the same number.
    fn give_back(&self, after: u64, before: u64) -> bool {
        self.replace(after, before)
    }

    /// Takes note that `other`, if it is the same cell, has given back: so what this one gives back next does not look
    /// like a stranger's.
    fn follow(&mut self, _other: &Self) {}

    /// One attempt to decide `request` at `now` and to charge it if it is allowed; `None` if another changed
    /// the word meanwhile.
    #[inline(always)]
    fn try_charge<A: Algorithm>(
        &self,
        algorithm: &A,
        now: u64,
        request: &Request<'_>,
    ) -> Option<(Charge, Decision)> {
        let before = self.load();
        let Step { charged, decision } = algorithm.decide(before, now, request);
        let after = charged.unwrap_or(before);
        (charged.is_none() || self.replace(before, after)).then_some((Charge { before, after }, decision))
    }

    /// Attempts until one succeeds.
    ///
    /// After an attempt that failed, `holds` is asked whether to go on; where it says no, nothing was
    /// charged and there is no answer. The loop is lock-free: an attempt fails only because another
    /// changed the word, and `now` is the caller's throughout, so a later attempt can only allow less.
    #[inline]
    fn charge<A: Algorithm>(
        &self,
        algorithm: &A,
        now: u64,
        request: &Request<'_>,
        holds: impl Fn() -> bool,
    ) -> Option<Charge> {
        let mut failed = 0;
        loop {
            if let Some((charge, _)) = self.try_charge(algorithm, now, request) {
                return Some(charge);
            }
            if !holds() {
                return None;
            }
            failed += 1;
            back_off(failed);
        }
    }
}

/// A cell by itself, of one key for ever.
#[derive(Debug, Default)]
pub(crate) struct Word(AtomicU64);

impl Cell for Word {
    #[inline]
    fn load(&self) -> u64 {
        // Acquire: as a cell promises.
        self.0.load(Ordering::Acquire)
    }

    #[inline]
    fn replace(&self, before: u64, after: u64) -> bool {
        // AcqRel: as a cell promises.
        // Relaxed on failure: the value is not used, the caller loads again.
        self.0.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

impl Cell for &Word {
    #[inline]
    fn load(&self) -> u64 {
        (**self).load()
    }

    #[inline]
    fn replace(&self, before: u64, after: u64) -> bool {
        (**self).replace(before, after)
    }
}

/// Waits before the next attempt, after so many that failed: at first for about as long as the line takes to the other
/// processor and back. Meanwhile its owner can charge it many times, and each change of owner costs more than a charge.
#[cold]
#[inline(never)]
pub(crate) fn back_off(failed: u32) {
    for _ in 0..4 << failed.clamp(1, 4) {
        core::hint::spin_loop();
    }
}
