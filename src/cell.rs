//! The cell: one atomic word, and the one loop of the crate that changes a word by a policy.

use crate::algorithm::{Algorithm, Step};
use crate::decision::Decision;
use crate::sync::{AtomicU64, Ordering};

/// One key's state. Zero is a key never seen.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Cell(AtomicU64);

/// What a request did to a cell: the word it was decided on and the word it left, the same one unless
/// it was charged. Everything else that there is to say follows from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    pub(crate) before: u64,
    pub(crate) after: u64,
}

impl Cell {
    #[inline]
    pub(crate) fn load(&self) -> u64 {
        // Acquire: a denial reads the slot's tag again, and that load must come after this one.
        self.0.load(Ordering::Acquire)
    }

    /// The one write of a word: from exactly `before`, or not at all, and then it tells what is there.
    #[inline]
    pub(crate) fn exchange(&self, before: u64, after: u64) -> Result<u64, u64> {
        // AcqRel: acquires every earlier probe of this word, and with it the mark that came before the
        // probe; releases to later probes what this caller knew.
        // Acquire on failure: a load, from which the caller may go on.
        self.0.compare_exchange(before, after, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Whether the word was `before`, and so is now `after`.
    #[inline]
    pub(crate) fn replace(&self, before: u64, after: u64) -> bool {
        self.exchange(before, after).is_ok()
    }

    /// Decides `cost` at `now`, and charges it if it is allowed.
    ///
    /// Whenever another changed the word meanwhile, `holds` is asked whether to go on; where it says no, nothing
    /// was charged and there is no answer. The loop is lock-free: an attempt fails only because another changed
    /// the word, and `now` is the caller's throughout, so a later attempt can only allow less.
    ///
    /// The next attempt goes on from what the failed one found, at once: it has brought the cell's line to this
    /// processor, which may not have it for long.
    #[inline(always)]
    pub(crate) fn charge<A: Algorithm>(
        &self,
        algorithm: &A,
        now: u64,
        cost: u32,
        holds: impl Fn() -> bool,
    ) -> Option<(Charge, Decision)> {
        let mut before = self.load();
        loop {
            let Step { charged, decision } = algorithm.step(before, now, cost);
            let Some(after) = charged else { return Some((Charge { before, after: before }, decision)) };
            match self.exchange(before, after) {
                Ok(_) => return Some((Charge { before, after }, decision)),
                Err(_) if !holds() => return None,
                Err(found) => before = found,
            }
        }
    }
}
