//! What a store far away needs to charge a word that it holds: bounds and a unit, no algorithm.
//!
//! A word that does not roll over is charged by adding to it. The store does that addition, [`Span::take`], on the word
//! as it is when the message arrives, whatever the caller saw last.

use super::{Algorithm, Lease};

/// An algorithm whose words a store can hold for many machines, and whose units it lends them.
pub trait Lend: Algorithm {
    /// What the store charges `word` by at `now`: the word that was last seen of a key, or 0. `None` where it has to roll
    /// over first, which only a [`step`](Algorithm::step) does.
    fn span(&self, word: u64, now: u64) -> Option<Span>;

    /// The instant by which a step at `now` that left `word` decided: where another's clock was ahead, the word's own time.
    fn instant(&self, word: u64, now: u64) -> u64;

    /// The nanoseconds from `now`, rounded down, until the last of the `units` whose charge at `now` left `word` has passed
    /// unused.
    fn lasts_ns(&self, word: u64, units: u64, now: u64) -> u64;

    /// What decides on the leases of this algorithm's units.
    fn lease(&self) -> Option<Lease>;
}

/// The bounds within which units are added to a word, at one instant.
///
/// The law, *take is step*: for any word that a key has, and any word that it had before, where
/// [`take`](Self::take) of n units by the span of the earlier word adds them, a [`step`](super::Algorithm::step) of cost n
/// on the word allows them and leaves the same word. By the span of the word itself, take adds exactly where step allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// A word below this counts as this, or has to roll over: see [`raises`](Self::raises).
    pub floor: u64,
    /// No word above this is left.
    pub ceiling: u64,
    /// What a unit adds to a word; above 0.
    pub unit: u64,
    /// Whether a word below the floor is raised to it. Otherwise it is refused: units of an older window still count, and
    /// only a step knows how.
    pub raises: bool,
}

/// How many units a [`Span::take`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// At most so many are taken.
    pub most: u64,
    /// So many or none; at least 1.
    pub least: u64,
    /// Beyond `least`, at most this part of what there is: 2 is a half. At least 1.
    pub share: u64,
}

impl Span {
    /// The word that units are added to, and how many have room; `None` where it has to roll over, or stands above the
    /// ceiling.
    fn room(&self, word: u64) -> Option<(u64, u64)> {
        let word = match word < self.floor {
            true if self.raises => self.floor,
            true => return None,
            false => word,
        };
        Some((word, self.ceiling.checked_sub(word)?.checked_div(self.unit)?))
    }

    /// Takes units of several layers' words at once, the same number of each, or none: the definition of what a store
    /// does. The words are changed in place where it returns a number.
    pub fn take(spans: &[Self], words: &mut [u64], want: Want) -> Option<u64> {
        let mut room = u64::MAX;
        for (span, word) in spans.iter().zip(words.iter()) {
            room = room.min(span.room(*word)?.1);
        }
        if room < want.least.max(1) {
            return None;
        }
        let units = want.most.min(want.least.max(room / want.share.max(1))).max(1);
        for (span, word) in spans.iter().zip(words) {
            // Within the ceiling, as there is room for them.
            *word = span.room(*word)?.0 + units * span.unit;
        }
        Some(units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span { floor: 100, ceiling: 200, unit: 10, raises: true };

    #[test]
    fn a_take_is_bounded_by_what_is_wanted_and_shared() {
        let take = |word: u64, most, least, share| {
            let mut words = [word];
            Span::take(&[SPAN], &mut words, Want { most, least, share }).map(|units| (units, words[0]))
        };
        assert_eq!(take(0, 3, 1, 1), Some((3, 130)));
        assert_eq!(take(0, 20, 1, 1), Some((10, 200)));
        assert_eq!(take(0, 20, 1, 2), Some((5, 150)));
        assert_eq!(take(0, 20, 7, 2), Some((7, 170)));
        assert_eq!(take(195, 1, 1, 1), None);
        assert_eq!(take(201, 1, 1, 1), None);
        assert_eq!(take(150, 9, 6, 1), None);
    }

    #[test]
    fn the_least_room_of_several_layers_counts() {
        let other = Span { floor: 7 << 8, ceiling: (7 << 8) + 4, unit: 1, raises: false };
        let want = Want { most: 9, least: 1, share: 1 };
        let mut words = [0, (7 << 8) + 1];
        assert_eq!(Span::take(&[SPAN, other], &mut words, want), Some(3));
        assert_eq!(words, [130, (7 << 8) + 4]);
        let mut rolling = [0, 6 << 8];
        assert_eq!(Span::take(&[SPAN, other], &mut rolling, want), None);
        assert_eq!(rolling, [0, 6 << 8]);
    }
}
