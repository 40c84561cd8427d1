//! The misses: a set of keys, each with the units that it misses.
//!
//! A pair is empty, {0, 0}, or a key's {h, units}; it changes from the one to the other, and from fewer units to more, by
//! one exchange of its 16 bytes. So units never stand beside another key's h, and are taken as a whole or not at all. A
//! key may stand in two places, where it was posted while the place before was occupied, and is then taken twice.

use crate::memory::{Array, Memory};
use crate::sync::{Ordering, Pair};

/// The places where a key may stand, from its own on.
const PROBES: usize = 4;
/// How often a pair that changes meanwhile is tried again. Only more units, or another key, make an exchange fail; so many
/// come from a damaged memory alone.
const ATTEMPTS: usize = 1_000;
/// The bits of the units; those above say what they are for.
pub(crate) const UNITS: u64 = (1 << 48) - 1;
/// What stands in a pair for the hash 0, which is that of an empty pair.
const ZERO: u64 = u64::MAX;

/// What one pair says where both of these are missed: the greater number of units, and all that they are for.
fn both(units: u64, more: u64) -> u64 {
    ((units | more) & !UNITS) | (units & UNITS).max(more & UNITS)
}

#[derive(Clone, Debug)]
pub(super) struct Misses(Array<Pair>);

impl Misses {
    pub(super) fn in_memory(memory: &Memory, at: usize, pairs: usize) -> Option<Self> {
        memory.array(at, pairs).map(Self)
    }

    /// Notes that the key misses units; false where its places are taken by others.
    pub(super) fn post(&self, h: u64, units: u64) -> bool {
        let h = if h == 0 { ZERO } else { h };
        for _ in 0..ATTEMPTS {
            let Some((pair, seen)) = self.place_of(h) else { return false };
            let units = if seen.0 == h { both(seen.1, units) } else { units };
            // Where the units are there already, too: that they are is known by this alone.
            if pair.replace(seen, (h, units)) {
                return true;
            }
        }
        false
    }

    /// Whether the key stands there.
    pub(super) fn has(&self, h: u64) -> bool {
        let h = if h == 0 { ZERO } else { h };
        self.place_of(h).is_some_and(|(_, seen)| seen.0 == h)
    }

    /// The place where the key stands, or an empty one, and what it holds.
    fn place_of(&self, h: u64) -> Option<(&Pair, (u64, u64))> {
        let places = || (0..PROBES).map(|probe| self.0.around((h as usize).wrapping_add(probe)));
        // Relaxed: only the exchange says what the pair is.
        let first = |pair: &&Pair| pair.first(Ordering::Relaxed);
        let of = |held: u64| places().find(|pair| first(pair) == held).map(|pair| (held, pair));
        let (held, pair) = of(h).or_else(|| of(0))?;
        // Relaxed: as above. In a damaged memory an empty pair has any units.
        Some((pair, (held, pair.second(Ordering::Relaxed))))
    }

    /// Empties each pair, and hands over what was in it.
    pub(super) fn take(&self, mut each: impl FnMut(u64, u64)) {
        for pair in self.0.all() {
            if let Some((h, units)) = taken(pair) {
                each(if h == ZERO { 0 } else { h }, units.max(1));
            }
        }
    }

    /// Whether nothing is there. What was posted before, as far as this thread has acquired it, is seen.
    pub(super) fn is_empty(&self) -> bool {
        // Relaxed: what must be seen was acquired by the caller.
        self.0.all().iter().all(|pair| pair.first(Ordering::Relaxed) == 0)
    }
}

/// What was in a pair that this has emptied.
fn taken(pair: &Pair) -> Option<(u64, u64)> {
    for _ in 0..ATTEMPTS {
        // Relaxed: only the exchange says what the pair is.
        let h = pair.first(Ordering::Relaxed);
        if h == 0 {
            return None;
        }
        // Relaxed: as above.
        let units = pair.second(Ordering::Relaxed);
        if pair.replace((h, units), (0, 0)) {
            return Some((h, units));
        }
    }
    None
}
