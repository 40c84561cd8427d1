//! An algorithm of the tests alone: a count beside the end of its window, of windows that have several lengths.

use ratecell_core::algorithm::{Algorithm, Step, WordLayout};
use ratecell_core::{Decision, Outcome};

/// The ends of the first windows.
const ENDS: [u64; 9] = [10, 13, 30, 75, 90, 105, 112, 131, 200];
const COUNT_BITS: u32 = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Calendar {
    pub(super) capacity: u64,
}

/// When the window that `instant` is in ends.
fn end_of(instant: u64) -> u64 {
    ENDS.into_iter().find(|end| *end > instant).unwrap_or(instant.saturating_add(50))
}

fn unpack(word: u64) -> (u64, u64) {
    (word >> COUNT_BITS, word & ((1 << COUNT_BITS) - 1))
}

fn pack(end: u64, used: u64) -> u64 {
    (end << COUNT_BITS) | used
}

impl Algorithm for Calendar {
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        let (end, used) = unpack(self.carried(word, now));
        let wanted = used + u64::from(cost);
        let (outcome, left) = match self.capacity.checked_sub(wanted) {
            Some(left) => (Outcome::Allowed, left),
            None => (Outcome::Denied, self.capacity.saturating_sub(used)),
        };
        let allowed = outcome == Outcome::Allowed;
        let wait = end.saturating_sub(now);
        let retry = if allowed { 0 } else { wait };
        let decision = Decision::new(outcome, self.capacity, left, retry, wait, 0, 0);
        Step { charged: (allowed && cost > 0).then(|| pack(end, wanted)), decision }
    }

    fn fresh_at(&self, word: u64) -> u64 {
        let (end, used) = unpack(word);
        // Ground without a count is of a window that no clock before it is in.
        if used > 0 { end } else { ENDS.into_iter().rev().find(|before| *before < end).unwrap_or(0) }
    }

    fn carried(&self, word: u64, instant: u64) -> u64 {
        let (end, _) = unpack(word);
        if instant < end { word } else { pack(end_of(instant), 0) }
    }

    fn level(&self, word: u64, now: u64) -> u64 {
        unpack(self.carried(word, now)).1
    }

    fn is_healed(&self, _: u64, _: u64) -> bool {
        false
    }

    fn heal(&self) -> Option<u64> {
        None
    }

    fn packing(&self) -> WordLayout {
        WordLayout { word: *b"calendar", unit: 1, grain: 0, count_bits: COUNT_BITS }
    }
}
