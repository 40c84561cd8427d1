//! Insertion: how a key gets a slot, in the table's steps *search, void, reserve, seize*.
//!
//! Nothing here needs repair if its thread stops for ever: it leaves a reservation at most, which the home's next
//! insertion voids.

use super::buckets::{Address, Index};
use super::choose::Candidate;
use super::find::Search;
use super::judge::Judge;
use super::layout::{Ground, Seat, Slot};
use super::tag::{Tag, Version};
use super::{MAX_ROUNDS, Table, Verdict, WhenFull};
use crate::cell::{Charge, back_off};
use ratecell_core::algorithm::Algorithm;
use ratecell_core::{Decision, Request, Zone};

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// Decides a plain request of a key that a search after `version` did not find, and inserts the key if it is allowed:
    /// [`insert`](Self::insert), compiled for what nearly all requests are.
    #[cold]
    #[inline(never)]
    pub(super) fn decide_new<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        version: Version,
        now: u64,
        cost: u32,
    ) -> Decision {
        let address = self.address(h);
        let request = || Request::default().cost(cost);
        match self.round(algorithm, &address, version, now, request) {
            None => self.decide_late(algorithm, h, now, cost),
            Some(verdict) => match verdict.full_until() {
                None => algorithm.report(verdict.word(), now, cost),
                Some(free_at) => self.report_full(algorithm, free_at, now, &request()),
            },
        }
    }

    /// Decides a key that a search after `version` did not find, and inserts it if it is allowed.
    ///
    /// The first round is straight code: around a loop the compiler would compute beforehand what hardly any call needs.
    #[cold]
    #[inline(never)]
    pub(super) fn insert<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        h: u64,
        version: Version,
        now: u64,
        request: &Request<'_>,
    ) -> Verdict<Seat<'t, J::Watch<'t>>> {
        let address = self.address(h);
        match self.round(algorithm, &address, version, now, || *request) {
            Some(verdict) => verdict,
            None => self.decide_again(algorithm, h, now, request),
        }
    }

    /// [`decide_again`](Self::decide_again) for a plain request.
    #[cold]
    #[inline(never)]
    fn decide_late<A: Algorithm>(&self, algorithm: &A, h: u64, now: u64, cost: u32) -> Decision {
        let request = Request::default().cost(cost);
        self.report(algorithm, &self.decide_again(algorithm, h, now, &request), now, &request)
    }

    /// Decides a key that has been decided on once, when another was in the way.
    #[cold]
    #[inline(never)]
    pub(super) fn decide_again<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> Verdict<Seat<'t, J::Watch<'t>>> {
        let address = self.address(h);
        for _ in 1..MAX_ROUNDS {
            if !self.era.is_in_force() {
                return Verdict::superseded();
            }
            let verdict = match self.find(&address) {
                Search::Found(seat, _) => {
                    self.hit(algorithm, seat, now, request).map(|charge| Verdict::charged(seat, charge))
                }
                Search::InVain(version) => self.round(algorithm, &address, version, now, || *request),
                Search::Lost => None,
            };
            if let Some(verdict) = verdict {
                return verdict;
            }
        }
        self.counters.at(address.home).exhausted();
        self.full(&address, now)
    }

    /// One round after a search that `version` came before: an answer, or another round.
    ///
    /// The request is made wherever it is needed: so a plain one, which is its cost alone, need not stand in memory.
    #[inline(always)]
    pub(super) fn round<'t, 'r, A: Algorithm>(
        &'t self,
        algorithm: &A,
        address: &Address<'t, SLOTS>,
        version: Version,
        now: u64,
        request: impl Fn() -> Request<'r>,
    ) -> Option<Verdict<Seat<'t, J::Watch<'t>>>> {
        let header = &address.home.bucket().header;
        let ground = self.ground(address.home, version)?;
        let floor = match self.when_full {
            WhenFull::Share if request().units() == 0 => {
                return Some(Verdict::without_refund(algorithm.above(ground.word, 0, now)));
            }
            WhenFull::Share if !algorithm.is_fresh(ground.word, now) => {
                return self.charge_shared(algorithm, address, ground, now, &request());
            }
            // It is not after `now`, as the shared word is fresh.
            WhenFull::Share => 0,
            WhenFull::Evict | WhenFull::Deny | WhenFull::Allow => ground.word,
        };
        let before = algorithm.above_in(0, floor, now, request().named_zone());
        let Some(after) = algorithm.decide(before, now, &request()).charged else {
            // Denied by the floor alone, it may be a key that has got a cell since the search.
            let is_answer = before == 0 || is_still_absent(address, version);
            return is_answer.then(|| Verdict::without_refund(before));
        };
        if !settle(address, version) {
            return None;
        }
        let candidate = self.choose(algorithm, address, now)?;
        if candidate.weight > 0 && self.when_full != WhenFull::Evict {
            return match self.when_full {
                WhenFull::Share => self.charge_shared(algorithm, address, ground, now, &request()),
                // The key may have got a place since the search, and the last one.
                _ if header.version() != version => None,
                _ => Some(self.full(address, self.free_at(algorithm, address)?)),
            };
        }
        let seat = self.seize(algorithm, address, ground, &candidate, after, now)?;
        Some(Verdict::inserted(
            seat,
            before,
            Charge { before: self.unused(algorithm, ground, now, request().named_zone()), after },
        ))
    }

    /// What stands in a header by now, after a search that `version` came before; `None` if the policy was changed since the
    /// caller read its clock, or if the shared cell's word had to be carried first.
    ///
    /// The word is loaded after the search: the caller that took the slot where the key is missing had raised it before.
    /// The number in force is loaded after that: under a raised rate the key's word could be taken by another home's key
    /// once it has drained, and this policy then give the key a second burst.
    #[inline(always)]
    pub(super) fn ground(&self, home: Index<'_, SLOTS>, version: Version) -> Option<Ground> {
        let ground = Ground { version, word: home.bucket().header.word() };
        if !self.era.is_in_force() {
            return None;
        }
        let is_carried = self.shares() && version.generation() != self.era.in_tag();
        if is_carried {
            self.carry_shared(home, ground);
        }
        (!is_carried).then_some(ground)
    }

    /// The word of a cell of which nothing is used, and which hides its home's floor: so the word is no earlier than that.
    #[inline(always)]
    fn unused<A: Algorithm>(&self, algorithm: &A, ground: Ground, now: u64, zone: Option<&Zone>) -> u64 {
        let floor = match self.when_full {
            WhenFull::Share if algorithm.is_healed(ground.word, now) => 0,
            WhenFull::Share => algorithm.fresh_at(ground.word),
            WhenFull::Evict | WhenFull::Deny | WhenFull::Allow => algorithm.believed(ground.word, now),
        };
        algorithm.carried_in(0, floor, zone)
    }

    /// Reserves the candidate's slot for the key, and seizes it with the word `after`; `None` if another was in the way.
    #[inline(always)]
    fn seize<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        address: &Address<'t, SLOTS>,
        ground: Ground,
        candidate: &Candidate<'t>,
        after: u64,
        now: u64,
    ) -> Option<Seat<'t, J::Watch<'t>>> {
        let Candidate { place, word, carried, weight } = *candidate;
        if place.tag.is_of_key(place.identity) {
            return None;
        }
        let raised = self.raise_floor(algorithm, address, ground.word, candidate, now)?;
        let distance = address.home.distance_of(place.identity);
        let version = ground.version.naming(distance, place.number, place.tag);
        if !address.home.bucket().header.replace(ground, Ground { version, word: raised }) {
            return None;
        }
        let (slot, tag) = (place.slot, place.tag.seized_by(place.identity));
        let seat = Seat { slot, tag, watch: self.era.watch() };
        // Counted before, and taken back if it was not to be: so a caller that dies in between has counted too many.
        let evicted = (weight > 0)
            .then(|| (self.counters.at(address.home), self.era.level(algorithm, place.tag, carried, now)));
        if let Some((counters, units)) = evicted {
            counters.evicted(units);
        }
        let seized = place.slot.replace((place.tag, word), (seat.tag, after));
        if let (false, Some((counters, units))) = (seized, evicted) {
            counters.not_evicted(units);
        }
        seized.then_some(seat)
    }

    /// Raises the floor of the home of the candidate's key, before the word is lost: to the instant at which the word
    /// became fresh, or to `now` if it is evicted, for what it holds after that is counted. Returns the word of this home's
    /// header, raised if that home is this one.
    #[inline(always)]
    fn raise_floor<A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address<'_, SLOTS>,
        ground: u64,
        candidate: &Candidate<'_>,
        now: u64,
    ) -> Option<u64> {
        let Candidate { place, carried, weight, .. } = *candidate;
        if carried == 0 || place.tag.is_empty() {
            return Some(ground);
        }
        let fresh_at = if weight > 0 { now } else { self.era.fresh_at(algorithm, place.tag, carried) };
        if fresh_at > now {
            // Fresh by healing alone, which is no time to wait for.
            return Some(ground);
        }
        let bucket = if place.identity.is_alternate() { address.alternate() } else { address.home };
        let home = bucket.home_of(place.tag);
        if home.is(address.home) {
            return Some(self.raised(algorithm, ground, fresh_at, now));
        }
        let header = &home.bucket().header;
        let theirs = self.ground(home, header.version())?;
        let word = self.raised(algorithm, theirs.word, fresh_at, now);
        (word == theirs.word || header.replace(theirs, Ground { word, ..theirs })).then_some(ground)
    }

    /// A header's word with a floor of at least `instant`.
    #[inline(always)]
    fn raised<A: Algorithm>(&self, algorithm: &A, word: u64, instant: u64, now: u64) -> u64 {
        if self.shares() {
            return algorithm.carried(if algorithm.is_healed(word, now) { 0 } else { word }, instant);
        }
        // One that is not believed would hide this one.
        if word < instant || word > self.era.latest_believed(algorithm, now) { instant } else { word }
    }
}

/// Settles the reservation that `version` names: it has been made use of, or never will be. Says no if it has been for
/// this very key, maybe since the search: then another round is needed.
#[inline(always)]
pub(super) fn settle<const SLOTS: usize>(address: &Address<'_, SLOTS>, version: Version) -> bool {
    let Some((bucket, slot)) = named(address, version) else { return true };
    let mut tag = slot.tag();
    if tag.turn() == version.turn() {
        match void_unused(slot, version) {
            Ok(()) => return true,
            Err(found) => tag = found,
        }
    }
    !is_seized_for(address, bucket, tag)
}

/// Whether the key is still without a cell, for which a search after `version` was in vain. All reservations before the
/// named one were settled when it was made, so the search has seen what came of them.
#[cold]
pub(super) fn is_still_absent<const SLOTS: usize>(address: &Address<'_, SLOTS>, version: Version) -> bool {
    named(address, version).is_none_or(|(bucket, slot)| !is_seized_for(address, bucket, slot.tag()))
        && address.home.bucket().header.version() == version
}

/// The slot that `version` names, and its bucket.
#[inline(always)]
fn named<'t, const SLOTS: usize>(
    address: &Address<'t, SLOTS>,
    version: Version,
) -> Option<(Index<'t, SLOTS>, &'t Slot)> {
    let (distance, number) = version.slot()?;
    let bucket = address.home.at_distance(distance);
    Some((bucket, bucket.bucket().slots.get(number - 1)?))
}

/// Whether the slot of that tag is the key's own.
#[inline(always)]
fn is_seized_for<const SLOTS: usize>(
    address: &Address<'_, SLOTS>,
    bucket: Index<'_, SLOTS>,
    tag: Tag,
) -> bool {
    tag.fp() == address.identity.fp() && !tag.is_empty() && bucket.home_of(tag).is(address.home)
}

/// Voids a reservation that has not been made use of. Where it has been meanwhile, says by which tag.
#[cold]
#[inline(never)]
pub(super) fn void_unused(slot: &Slot, version: Version) -> Result<(), Tag> {
    // Its reserver seizes the slot in some ten nanoseconds, if it runs.
    back_off(1);
    let tag = slot.tag();
    // Whatever changes a tag steps its turn.
    if tag.turn() == version.turn() { slot.void(tag) } else { Err(tag) }
}
