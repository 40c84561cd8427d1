//! What was reserved is given back: each algorithm's part of it.
//!
//! A reservation is a charge of which the caller remembers where it stands. When the actual cost is known, what was too
//! much is given back, as far as nobody else's charge is forgiven by it: [`Reserve`].

use super::{Algorithm, InFlight, Lease};

/// What is remembered of one charge: positions on the word's own axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The time of the word after the charge; of a TAT the charge's instant.
    pub made: u64,
    /// Where the charge begins: the TAT before it, or the units that were out.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// The total that had been given back to the key before the charge. It is read before the exchange that charges.
    pub given: u64,
}

impl Held {
    /// What has been given back since the charge, if the total is known now.
    pub(super) fn since(&self, total: Option<u64>) -> Option<u64> {
        // The total wraps: only what it has grown by is meant.
        total.map(|total| total.wrapping_sub(self.given))
    }
}

/// An algorithm whose charges can be given back in part.
///
/// The bound: a key is never more permissive afterwards than if only the actual cost had been asked for. So every policy
/// keeps its bound for what was admitted less what was given back.
pub trait Reserve: Algorithm {
    /// What is remembered of the charge of `cost` at `now` that left the word `after`.
    fn held(&self, after: u64, now: u64, cost: u32, given: u64) -> Held;

    /// The word after as much of `units` as can be given back at `now`, and by how much that is less on the word's axis:
    /// the total given back grows by it. `units` are a part of the `cost` that was held. `total` is what has been given
    /// back to the key until now, or more; `None` where nobody keeps it.
    fn give_back(
        &self,
        word: u64,
        now: u64,
        held: &Held,
        cost: u32,
        units: u32,
        total: Option<u64>,
    ) -> (u64, u64);
}

/// Of a charge of `length` that began at `start` of an axis, or earlier by what was given `back` since, but not before it
/// was `made`: what is surely ahead of `now`, under a word that reaches to `word`.
#[inline]
pub(super) fn ahead(word: u64, now: u64, made: u64, start: u64, length: u64, back: Option<u64>) -> u64 {
    let earliest = back.map_or(made, |back| start.saturating_sub(back).max(made));
    match earliest.checked_add(length) {
        // A word of an unbroken life reaches as far.
        Some(end) if end <= word => end.saturating_sub(now),
        _ => 0,
    }
}

/// A permit comes back by its release alone.
impl Reserve for InFlight {
    fn held(&self, after: u64, _: u64, _: u32, given: u64) -> Held {
        Held { made: self.window(after), given, ..Held::default() }
    }

    fn give_back(&self, word: u64, _: u64, _: &Held, _: u32, _: u32, _: Option<u64>) -> (u64, u64) {
        (word, 0)
    }
}

/// Units of a lease are given back by the algorithm whose they are.
impl Reserve for Lease {
    fn held(&self, _: u64, _: u64, _: u32, given: u64) -> Held {
        Held { given, ..Held::default() }
    }

    fn give_back(&self, word: u64, _: u64, _: &Held, _: u32, _: u32, _: Option<u64>) -> (u64, u64) {
        (word, 0)
    }
}
