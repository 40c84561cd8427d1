//! Which slot a new key gets. Nothing is written by choosing.

use super::buckets::{Address, Index};
use super::find::{Place, Places};
use super::judge::Judge;
use super::layout::Slot;
use super::tag::Tag;
use super::{Table, group};
use ratecell_core::algorithm::Algorithm;

/// A slot that a new key may take, and what was in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'t> {
    pub(super) place: Place<'t>,
    pub(super) word: u64,
    /// The word as one of this era.
    pub(super) carried: u64,
    /// What the slot's key still holds, as the [`Judge`] orders it; 0 if the word is fresh, or nobody's.
    pub(super) weight: u64,
}

/// The least heavy slot of one bucket, and how full the bucket is.
#[derive(Clone, Copy, Debug)]
struct Survey<'t> {
    best: Candidate<'t>,
    live: usize,
}

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// The best slot for the key: one that is empty; else the one that holds least. `None` if another caller was in the way.
    #[inline(always)]
    pub(super) fn choose<'t, A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address<'t, SLOTS>,
        now: u64,
    ) -> Option<Candidate<'t>> {
        match first_empty(address) {
            Some(place) => {
                let word = place.slot.word();
                Some(Candidate { place, word, carried: word, weight: 0 })
            }
            None => self.least_held(algorithm, address, now),
        }
    }

    /// When the first of the key's slots will be fresh. `None` if another caller was in the way.
    #[cold]
    pub(super) fn free_at<A: Algorithm>(&self, algorithm: &A, address: &Address<'_, SLOTS>) -> Option<u64> {
        let slots = [address.home, address.alternate()].map(|bucket| bucket.bucket().slots.iter());
        let fresh_at = slots.into_iter().flatten().map(|slot| {
            let (tag, word) = (slot.tag(), slot.word());
            self.carried(slot, tag, word).map(|word| self.era.fresh_at(algorithm, tag, word))
        });
        fresh_at.reduce(|one, other| Some(one?.min(other?)))?
    }

    /// The slot that holds least, of both buckets; among equals at home while fewer than half of its slots are live, else in
    /// the emptier bucket.
    #[inline(always)]
    fn least_held<'t, A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address<'t, SLOTS>,
        now: u64,
    ) -> Option<Candidate<'t>> {
        let home = self.survey(algorithm, address.home, address.identity, now)?;
        let alternate = address.alternate();
        if alternate.is(address.home) {
            return Some(home.best);
        }
        let alternate = self.survey(algorithm, alternate, address.identity.in_alternate(), now)?;
        let home_first = 2 * home.live < SLOTS || home.live <= alternate.live;
        let (home_holds, alternate_holds) = (home.best.weight, alternate.best.weight);
        let at_home = home_holds < alternate_holds || (home_holds == alternate_holds && home_first);
        Some(if at_home { home.best } else { alternate.best })
    }

    #[inline(always)]
    fn survey<'t, A: Algorithm>(
        &self,
        algorithm: &A,
        bucket: Index<'t, SLOTS>,
        identity: Tag,
        now: u64,
    ) -> Option<Survey<'t>> {
        let seen = |(number, slot): (usize, &'t Slot)| {
            let (tag, word) = (slot.tag(), slot.word());
            let carried = self.carried(slot, tag, word)?;
            let weight = if tag.is_empty() { 0 } else { self.era.weight(algorithm, tag, carried, now) };
            Some(Candidate { place: Place { slot, tag, number, identity }, word, carried, weight })
        };
        let mut candidates = (1..).zip(&bucket.bucket().slots).map(seen);
        let mut best = candidates.next()??;
        let mut live = usize::from(best.weight > 0);
        for candidate in candidates {
            let candidate = candidate?;
            live += usize::from(candidate.weight > 0);
            if candidate.weight < best.weight {
                best = candidate;
            }
        }
        Some(Survey { best, live })
    }
}

/// An empty slot: at home while most of its slots are empty, else in the emptier bucket; of those one of the
/// preferred pair, or on its line.
#[inline(always)]
fn first_empty<'t, const SLOTS: usize>(address: &Address<'t, SLOTS>) -> Option<Place<'t>> {
    let places = Places::of(address);
    let [home, alternate] = places.empty();
    if home | alternate == 0 {
        return None;
    }
    let [at_home, elsewhere] = counts(home | alternate);
    let at_home = 2 * at_home > SLOTS || at_home >= elsewhere;
    let (empty, alternate) = if at_home { (home, 0) } else { (alternate, group::BITS) };
    let pair = address.pair() + 1;
    let (of_pair, of_line) = (0b11 << pair, 0b1111 << (pair & !3));
    let nearest = [of_pair, of_line, u32::MAX].map(|near| (near << alternate) & empty);
    let nearest = nearest.into_iter().find(|near| *near != 0)?;
    places.among(nearest).next().filter(|place| place.tag.is_empty())
}

/// How many of the bits of each bucket are set: both counted at once, where not every processor counts bits.
fn counts(bits: u32) -> [usize; 2] {
    let pairs = bits - ((bits >> 1) & 0x5555);
    let nibbles = (pairs & 0x3333) + ((pairs >> 2) & 0x3333);
    let bytes = (nibbles + (nibbles >> 4)) & 0x0F0F;
    [bytes % (1 << group::BITS), bytes >> group::BITS].map(|count| count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_both_buckets_are_counted() {
        for bits in 0..=u32::from(u16::MAX) {
            let expected = [bits & 0xFF, bits >> 8].map(|bits| bits.count_ones() as usize);
            assert_eq!(counts(bits), expected, "{bits:#x}");
        }
    }
}
