//! Taking a slot for a new key: which one, and how its old key is let go without losing a charge.

use super::buckets::{Address, Index};
use super::find::{Place, Places};
use super::layout::Tag;
use super::{Table, WhenFull};
use ratecell_core::algorithm::Algorithm;

/// How willingly a slot is taken, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u64);

impl Rank {
    const EMPTY: Self = Self(0);
    const FRESH_MEMBER: Self = Self(1);
    const FRESH_PENDING: Self = Self(2);
    const NEVER: Self = Self(u64::MAX);

    /// By eviction, whoever holds least first.
    fn live(weight: u64) -> Self {
        Self(weight.saturating_add(3).min(u64::MAX - 1))
    }
}

/// The best slot of one bucket, and how full the bucket is.
#[derive(Clone, Copy, Debug)]
struct Survey<'t> {
    rank: Rank,
    /// `None` where the rank is never.
    best: Option<Place<'t>>,
    live: usize,
    /// When the first of its live slots will be fresh; told where nothing is evicted.
    free_at: u64,
    /// Whether the new key has appeared in it, by another caller.
    own: bool,
}

/// What came of looking for a slot to take.
#[derive(Debug)]
pub(super) enum Taking<'t> {
    Taken(Place<'t>),
    /// Another was there first.
    Lost,
    /// Nothing may be taken before that instant.
    Full(u64),
}

impl<const SLOTS: usize> Table<SLOTS> {
    /// Takes the best slot of the key's two buckets for it; a pending one at most once in a call.
    pub(super) fn take<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        address: &Address<'t, SLOTS>,
        now: u64,
        took_pending: &mut bool,
    ) -> Taking<'t> {
        if let Some(place) = Self::first_empty(address) {
            return self.reclaim(algorithm, address, place, false, now);
        }
        let home = self.survey(algorithm, address.home, address.identity, now, *took_pending);
        let alternate = address.alternate();
        let survey = if alternate.is(address.home) {
            home
        } else {
            let identity = address.identity.in_alternate();
            prefer(home, self.survey(algorithm, alternate, identity, now, *took_pending), SLOTS)
        };
        if survey.own {
            return Taking::Lost;
        }
        let Some(place) = survey.best else { return Taking::Full(survey.free_at) };
        *took_pending |= !place.tag.is_empty() && !place.tag.is_member();
        self.reclaim(algorithm, address, place, survey.rank > Rank::FRESH_PENDING, now)
    }

    /// An empty slot: at home while most of its slots are empty, else in the emptier bucket; of those one of the
    /// preferred pair, or on its line.
    fn first_empty<'t>(address: &Address<'t, SLOTS>) -> Option<Place<'t>> {
        let places = Places::of(address);
        let [home, alternate] = places.empty();
        let at_home = 2 * home.count_ones() as usize > SLOTS || home.count_ones() >= alternate.count_ones();
        let (empty, first) = if at_home { (home, 0) } else { (alternate, SLOTS) };
        let pair = address.pair();
        let nearest = [0b11 << pair, 0b1111 << (pair & !3), empty].map(|near| near & empty);
        let nearest = nearest.into_iter().find(|near| *near != 0)?;
        places.at(first + nearest.trailing_zeros() as usize).filter(|place| place.tag.is_empty())
    }

    fn survey<'t, A: Algorithm>(
        &self,
        algorithm: &A,
        bucket: Index<'t, SLOTS>,
        identity: Tag,
        now: u64,
        took_pending: bool,
    ) -> Survey<'t> {
        let mut survey = Survey { rank: Rank::NEVER, best: None, live: 0, free_at: u64::MAX, own: false };
        for (index, slot) in bucket.bucket().slots.iter().enumerate() {
            let tag = slot.tag.load();
            let word = slot.cell.load();
            let rank = if tag.is_empty() {
                Rank::EMPTY
            } else if !algorithm.is_fresh(word, now) {
                survey.live += 1;
                if self.when_full == WhenFull::Evict {
                    Rank::live(algorithm.weight(word, now))
                } else {
                    survey.free_at = survey.free_at.min(algorithm.fresh_at(word));
                    Rank::NEVER
                }
            } else if tag.is_member() {
                Rank::FRESH_MEMBER
            } else if took_pending {
                survey.free_at = now;
                Rank::NEVER
            } else {
                Rank::FRESH_PENDING
            };
            let own = tag.is_key_of(identity);
            survey.own |= own;
            if rank < survey.rank && !own {
                survey.rank = rank;
                survey.best = Some(Place { slot, index, identity, tag });
            }
        }
        survey
    }

    /// Takes a slot from whoever has it: pending, for the new key.
    fn reclaim<'t, A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address<'t, SLOTS>,
        place: Place<'t>,
        evict: bool,
        now: u64,
    ) -> Taking<'t> {
        match self.retag(algorithm, address, &place, evict, now) {
            Some(tag) => Taking::Taken(Place { tag, ..place }),
            None => Taking::Lost,
        }
    }

    /// The new tag of a slot that could be taken.
    fn retag<A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address<'_, SLOTS>,
        place: &Place<'_>,
        evict: bool,
        now: u64,
    ) -> Option<Tag> {
        let Place { slot, tag, identity, .. } = *place;
        if tag.is_empty() {
            let pending = tag.pending_for(identity);
            return slot.tag.change(tag, pending).then_some(pending);
        }
        // Mark. A slot found marked is gone on with: its reclaimer may be dead.
        let marked = if tag.is_marked() { tag } else { tag.next_mark() };
        if marked != tag && !slot.tag.change(tag, marked) {
            return None;
        }
        // Probe: a read-modify-write of the word, after the mark. A load would not do: it and a
        // charge's load of the tag could each miss the other's store.
        loop {
            let word = slot.cell.load();
            if algorithm.is_fresh(word, now) {
                if slot.cell.replace(word, word) {
                    let fresh_at = algorithm.fresh_at(word);
                    // Past now it is fresh by healing alone, which is no time to wait for.
                    if word != 0 && fresh_at <= now {
                        let alternate = || address.alternate();
                        let bucket = if identity.is_alternate() { alternate() } else { address.home };
                        let home = bucket.home_of(tag);
                        home.ledger().floor.raise(fresh_at, algorithm.latest_believed(now));
                    }
                    break;
                }
            } else if evict {
                if slot.cell.replace(word, 0) {
                    // The count belongs to the erasure, whatever becomes of the slot.
                    self.counters.at(address.home).evicted(algorithm.level(word, now));
                    break;
                }
            } else {
                slot.tag.change(marked, marked.next_mark());
                return None;
            }
        }
        let pending = marked.pending_for(identity);
        slot.tag.change(marked, pending).then_some(pending)
    }
}

/// Of two surveyed buckets the one with the better slot; among equals home while fewer than half of its
/// slots are live, else the emptier.
fn prefer<'t>(home: Survey<'t>, alternate: Survey<'t>, slots: usize) -> Survey<'t> {
    let free_at = home.free_at.min(alternate.free_at);
    let own = home.own || alternate.own;
    let home_first = 2 * home.live < slots || home.live <= alternate.live;
    let take_home = home.rank < alternate.rank || (home.rank == alternate.rank && home_first);
    Survey { free_at, own, ..if take_home { home } else { alternate } }
}
