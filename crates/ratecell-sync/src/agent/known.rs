//! What an agent remembers of the keys that it asks for.

use std::collections::HashMap;

use super::Miss;
use super::sizing::{Pace, Sizing};
use crate::Words;
use crate::store::Value;

/// Keys that are remembered at most; beyond, the ones that no lease depends on are forgotten.
pub(super) const MOST_KEYS: usize = 1 << 17;

/// A key that the agent has asked for.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) pace: Pace,
    /// The value at the store, as it was last seen: what is there by now is no smaller, unless the store forgot.
    pub(super) value: Option<Value>,
    /// Its words, carried to the generation in force; none of a value whose generation nobody here knows.
    pub(super) seen: Words,
    /// The words that this machine's last charge left: while nothing is forgotten, the store's are no smaller.
    pub(super) own: Words,
    /// Units of the last lease that were not used when the agent last looked.
    pub(super) left: u64,
    /// Those of them that could still be used then.
    pub(super) usable: u64,
    /// Units that callers missed: they are counted as demand, and are used from the next lease.
    pub(super) counted: u64,
    /// When the last lease has passed, by the machine's clock.
    pub(super) until: u64,
    pub(super) missed: Missed,
    pub(super) tries: u32,
    /// The layer that refused last.
    pub(super) refusing: usize,
    /// A cost that was refused although the store had units.
    pub(super) too_much: Option<TooMuch>,
    /// The connection was made anew since the value was seen: the store may be another one, or have forgotten.
    pub(super) in_doubt: bool,
}

/// What callers miss of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Missed {
    pub(super) units: u64,
    /// Fewer units will do: they are to be charged whatever there is.
    pub(super) fill: bool,
    pub(super) forget: bool,
    /// It waits for its turn, or for an answer.
    pub(super) queued: bool,
}

/// A cost that the store has refused, while it had fewer units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMuch {
    pub(super) cost: u64,
    /// No such cost is asked for again before this instant.
    pub(super) ask_at: u64,
    /// When the store has so many, if nobody takes any.
    pub(super) until: u64,
}

impl Known {
    pub(super) fn new(sizing: &Sizing, now: u64) -> Self {
        Self {
            pace: Pace::new(sizing, now),
            value: None,
            seen: Words::new(),
            own: Words::new(),
            left: 0,
            counted: 0,
            usable: 0,
            until: 0,
            missed: Missed::default(),
            tries: 0,
            refusing: 0,
            too_much: None,
            in_doubt: false,
        }
    }

    /// The word of a layer at the store: the last that was seen, or this machine's own where that is later.
    pub(super) fn word(&self, layer: usize) -> u64 {
        self.seen(layer).max(self.own(layer))
    }

    pub(super) fn seen(&self, layer: usize) -> u64 {
        self.seen.get(layer).copied().unwrap_or(0)
    }

    /// Whether the value that was seen is of a generation that nobody here knows.
    pub(super) fn is_strange(&self) -> bool {
        self.value.is_some() && self.seen.is_empty()
    }

    pub(super) fn own(&self, layer: usize) -> u64 {
        self.own.get(layer).copied().unwrap_or(0)
    }

    /// What the store has refused just now, while it had some units, if the miss is of as much.
    pub(super) fn too_much(&self, miss: &Miss, now: u64) -> Option<TooMuch> {
        let is_refused = |refused: &TooMuch| miss.units >= refused.cost && now < refused.ask_at;
        self.too_much.filter(is_refused).filter(|_| !miss.fill && !miss.forget)
    }

    /// Whether nothing would be lost with it.
    fn is_idle(&self, now: u64) -> bool {
        !self.missed.queued && self.until < now && self.pace.ask_at() < now
    }
}

/// Makes room for another key, if need be.
pub(super) fn make_room(keys: &mut HashMap<u64, Known>, now: u64) {
    if keys.len() < MOST_KEYS {
        return;
    }
    keys.retain(|_, known| !known.is_idle(now));
    if keys.len() >= MOST_KEYS {
        // Their words are then learned from the store again; what is lost is what healing would know of them.
        keys.retain(|h, known| known.missed.queued || h % 2 == 0);
    }
}
