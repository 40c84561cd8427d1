//! The table: from a key's hash to its cell, lock-free, in memory fixed at construction.
//!
//! Buckets of 7 slots behind a header; a key is in its home bucket or in its alternate. A hit is here and in [`find`]. An
//! insertion is in [`insert`], by two compare-and-swaps of 16 bytes: *search, reserve, seize*; `docs/DESIGN.md` has its
//! proofs.

use crate::cell::{Cell, Charge, Verdict, back_off};
use crate::error::BuildError;
use crate::memory::{Memory, MemoryError};
use crate::sync::Pair;
use ratecell_core::algorithm::{Algorithm, Step};
use ratecell_core::{Decision, Request};

mod buckets;
mod choose;
mod counters;
mod entries;
pub(crate) mod era;
mod find;
mod full;
mod geometry;
mod given;
#[cfg(not(ratecell_model))]
pub(crate) mod glance;
pub(crate) mod group;
mod hash;
mod hold;
mod insert;
#[cfg(test)]
mod inspect;
pub(crate) mod judge;
pub(crate) mod layout;
#[cfg_attr(
    not(any(feature = "store", all(ratecell_model, test))),
    expect(dead_code, reason = "an agent alone lends")
)]
mod lend;
pub(crate) mod log;
#[cfg_attr(
    not(any(feature = "rules", test)),
    expect(dead_code, reason = "rules alone have a table of several policies")
)]
pub(crate) mod numbers;
pub(crate) mod parts;
#[cfg(not(ratecell_model))]
#[expect(unsafe_code, reason = "it says of types what they are in memory")]
mod plain;
mod seated;
mod survey;
mod sweep;
pub(crate) mod tag;

pub use counters::Stats;
pub(crate) use counters::{COUNTER_LINE, COUNTER_LINES, Counters};
pub(crate) use hash::{Secret, spread};
pub(crate) use hold::{Holding, Superseded, Unused};
pub(crate) use parts::Parts;
pub(crate) use survey::Extent;
#[cfg(not(ratecell_model))]
pub(crate) use survey::{Count, count};

pub(crate) use layout::Seat;
pub(crate) use tag::SeatNumber;

use buckets::{Address, Buckets};
use era::Era;
use find::Search;
use given::Given;
use insert::is_still_absent;
use judge::{Judge, Watch};
use parts::TOTAL_BYTES;
use tag::Version;

/// How a full table answers a new key when all its places are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// Evicts the key that holds the fewest used units. These units are forgiven, and counted in [`Stats::forgiven`]. More
    /// may pass than the policy allows, but no more than that count.
    #[default]
    Evict,
    /// Charges the newcomer to a cell that all newcomers of its bucket share, until the cell has drained. It may deny too
    /// much, and never allows too much.
    Share,
    /// Denies the newcomer; `retry_after` is the time until a place may come free. With several layers, the first one
    /// without a place denies. If the policy itself denies (after a clock step back), `retry_after` is the policy's.
    Deny,
    /// Allows the newcomer without a charge, and counts it in [`Stats::allowed_full`].
    Allow,
}

/// Keys per bucket at the advertised capacity: there 6 keys in 100,000 find no room.
const KEYS_PER_BUCKET: usize = 5;
const SLOTS_PER_BUCKET: usize = 7;

/// A call looks this often before it answers as a full table does. Each round is lost only to another
/// caller's exchange; the models need a few.
const MAX_ROUNDS: usize = 32;

/// The lock-free table. The models run with fewer slots.
#[derive(Clone, Debug)]
pub(crate) struct Table<const SLOTS: usize = SLOTS_PER_BUCKET, J = Era> {
    buckets: Buckets<SLOTS>,
    when_full: WhenFull,
    counters: Counters,
    given: Given,
    /// What a handle decides by, and who judges the words of others.
    era: J,
    /// Whether asking for lines ahead can pay: a smaller table stays in any second-level cache.
    outgrows_cache: bool,
    /// Whether a [`try_hit`](Self::try_hit) that denies leaves the decision to another call.
    hands_denials_on: bool,
}

/// Why [`Table::try_hit`] decided nothing, and so how to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The key has not been looked for, or was found and then another was in the way, or its word was carried; or it was denied,
    /// which another call is to decide.
    NotYet,
    /// It has no slot. The version of its home was loaded before the search.
    InVain(Version),
}

/// Keys that have room where nobody says how many.
pub(crate) const DEFAULT_MAX_KEYS: usize = 100_000;

/// The buckets that have room for `max_keys` keys.
pub(crate) fn buckets_for(max_keys: usize) -> Result<usize, BuildError> {
    if max_keys == 0 { Err(BuildError::ZeroKeys) } else { Ok(max_keys.div_ceil(KEYS_PER_BUCKET)) }
}

/// The keys that have room in `buckets`.
pub(crate) const fn keys_in(buckets: usize) -> usize {
    buckets.saturating_mul(KEYS_PER_BUCKET)
}

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// The table whose parts stand there in `memory`; zeros are an empty one. `None` where one does not fit.
    ///
    /// # Errors
    /// [`BuildError::Processor`]; [`BuildError::SharedCell`].
    pub(crate) fn in_memory(
        memory: &Memory,
        parts: Parts,
        when_full: WhenFull,
        era: J,
    ) -> Result<Option<Self>, BuildError> {
        if !Pair::is_supported() {
            return Err(BuildError::Processor);
        }
        if when_full == WhenFull::Share && !J::MAY_SHARE {
            return Err(BuildError::SharedCell);
        }
        let Parts { buckets_at, buckets, counters_at, counter_lines, given_at } = parts;
        let buckets_there = Buckets::in_memory(memory, buckets_at, buckets);
        let counters = Counters::in_memory(memory, counters_at, counter_lines);
        let given = match given_at {
            Some(given_at) => Given::in_memory(memory, given_at, buckets),
            None => Some(Given::NOT_KEPT),
        };
        let outgrows_cache = buckets.saturating_mul(Self::BUCKET_BYTES) > 512 << 10;
        let parts = buckets_there.zip(counters).zip(given);
        Ok(parts.map(|((buckets, counters), given)| Self {
            buckets,
            when_full,
            counters,
            given,
            era,
            outgrows_cache,
            hands_denials_on: false,
        }))
    }

    /// The same table, for a handle that decides by another generation of the policy.
    pub(crate) fn in_era(&self, era: J) -> Self {
        Self { era, ..self.clone() }
    }

    /// The same table, whose denials are decided anew by another call: one that has more to do about them.
    pub(crate) fn handing_denials_on(self) -> Self {
        Self { hands_denials_on: true, ..self }
    }

    /// A table in a memory of its own, of so many zeroed bytes.
    pub(crate) fn made_in(
        buckets: usize,
        when_full: WhenFull,
        memory: fn(usize) -> Result<Memory, MemoryError>,
        era: J,
    ) -> Result<Self, BuildError> {
        let (parts, end) = Self::parts(0, buckets, false).ok_or_else(BuildError::too_large)?;
        Self::in_memory(&memory(end)?, parts, when_full, era)?.ok_or_else(BuildError::too_large)
    }

    /// The same table, which counts what is given back: in another memory of so many zeroed bytes.
    pub(crate) fn with_totals(
        self,
        memory: fn(usize) -> Result<Memory, MemoryError>,
    ) -> Result<Self, BuildError> {
        let buckets = self.buckets.count();
        let bytes = buckets.checked_mul(TOTAL_BYTES).ok_or_else(BuildError::too_large)?;
        let given = Given::in_memory(&memory(bytes)?, 0, buckets);
        Ok(Self { given: given.ok_or_else(BuildError::too_large)?, ..self })
    }

    /// Where the key of hash `h` may be, with a word of this era.
    #[inline(always)]
    fn address(&self, h: u64) -> Address<'_, SLOTS> {
        let address = self.buckets.address(self.era.placed(h));
        Address { identity: address.identity.of_generation(self.era.in_tag()), ..address }
    }

    /// Decides `request` at `now` on the key of hash `h`, and charges it if it is allowed.
    pub(crate) fn charge<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> Verdict<Seat<'_, J::Watch<'_>>> {
        // A caller whose first attempt met a change has charged a cost that stays: not another one.
        if !self.era.is_in_force() {
            return Verdict::superseded();
        }
        match self.find(&self.address(h)) {
            Search::InVain(version) => self.insert(algorithm, h, version, now, request),
            Search::Found(seat, _) => match self.hit(algorithm, seat, now, request) {
                Some(charge) => Verdict::charged(seat, charge),
                None => self.decide_again(algorithm, h, now, request),
            },
            Search::Lost => self.decide_again(algorithm, h, now, request),
        }
    }

    /// Decides a plain request of `cost`, after a [`try_hit`](Self::try_hit) that did not.
    #[inline]
    pub(crate) fn decide_cost<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        cost: u32,
        lookup: Lookup,
    ) -> Decision {
        match lookup {
            Lookup::InVain(version) => self.decide_new(algorithm, h, version, now, cost),
            Lookup::NotYet => {
                let request = Request::default().cost(cost);
                self.report(algorithm, &self.charge(algorithm, h, now, &request), now, &request)
            }
        }
    }

    /// The decision on a known key, where nobody is in the way, and this era is in force. Inlined, so that only what the caller looks
    /// at is computed; otherwise it takes a
    /// [`decide_cost`](Self::decide_cost).
    #[inline(always)]
    pub(crate) fn try_hit<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        cost: u32,
    ) -> Result<Decision, Lookup> {
        if !self.era.is_in_force() {
            return Err(Lookup::NotYet);
        }
        let (seat, word) = match self.find(&self.address(h)) {
            Search::Found(seat, word) => (seat, word),
            Search::InVain(version) => return Err(Lookup::InVain(version)),
            Search::Lost => return Err(Lookup::NotYet),
        };
        let Step { charged, decision } = algorithm.step(word, now, cost);
        let Some(after) = charged else {
            if self.hands_denials_on {
                return Err(Lookup::NotYet);
            }
            return if self.is_done(seat) { Ok(decision) } else { Err(Lookup::NotYet) };
        };
        let written = seat.replace(word, after);
        if !written {
            back_off(1);
        }
        if written && self.is_charged(seat) { Ok(decision) } else { Err(Lookup::NotYet) }
    }

    /// Whether a decision was on the key's own word, and by the policy that it spoke. If the word has been carried to another
    /// generation since, it cannot be told whether a charge was carried with it, or came after, in other units. The number
    /// in force says that the tag's bits mean this era still.
    #[inline(always)]
    fn is_done(&self, seat: Seat<'_, J::Watch<'_>>) -> bool {
        seat.is_held() && self.era.is_near()
    }

    /// Whether a charge was made on the key's own word, as far as that is to be looked at afterwards.
    #[inline(always)]
    fn is_charged(&self, seat: Seat<'_, J::Watch<'_>>) -> bool {
        J::Watch::IS_EXACT || self.is_done(seat)
    }

    /// The decision of a request that had this verdict.
    #[inline]
    pub(crate) fn report<A: Algorithm, C>(
        &self,
        algorithm: &A,
        verdict: &Verdict<C>,
        now: u64,
        request: &Request<'_>,
    ) -> Decision {
        match verdict.full_until() {
            _ if verdict.is_superseded() => Decision::superseded(),
            None => algorithm.decide(verdict.word(), now, request).decision,
            Some(free_at) => self.report_full(algorithm, free_at, now, request),
        }
    }

    /// Decides `request` at `now` on the key of hash `h`, and charges nothing. Words of another era are carried to this one.
    pub(crate) fn peek<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> Decision {
        let address = self.address(h);
        let on = |word| algorithm.decide(word, now, request).decision;
        for _ in 0..MAX_ROUNDS {
            match self.find(&address) {
                Search::Found(seat, word) if self.is_done(seat) => return on(word),
                Search::InVain(version) => {
                    let Some(word) = self.newcomer(algorithm, &address, version, now, request) else {
                        continue;
                    };
                    let decision = on(word);
                    if decision.is_allowed() || is_still_absent(&address, version) {
                        return decision;
                    }
                }
                Search::Found(..) | Search::Lost if self.era.is_in_force() => {}
                Search::Found(..) | Search::Lost => return Decision::superseded(),
            }
        }
        let version = address.home.bucket().header.version();
        self.newcomer(algorithm, &address, version, now, request).map_or(Decision::superseded(), on)
    }

    /// Makes the key of hash `h` as if never seen. Says whether there was anything to forget.
    ///
    /// The key stays in its slot, in another tenure. A charge that comes at the same time is forgotten and begins anew,
    /// or comes after.
    pub(crate) fn forget(&self, h: u64) -> bool {
        let address = self.address(h);
        let mut failed = 0;
        // Of whichever generation: what is not used is 0 in each.
        while let Some((slot, tag)) = Self::find_any(&address) {
            let word = slot.word();
            if word == 0 {
                return false;
            }
            if slot.replace((tag, word), (tag.forgotten(), 0)) {
                return true;
            }
            // Another's success is in the way.
            failed += 1;
            back_off(failed);
        }
        false
    }

    /// Whether the newcomers of a home share a cell when there is no room: the word of its header.
    fn shares(&self) -> bool {
        self.when_full == WhenFull::Share
    }

    /// The word on which a key without a cell is decided, by a search after `version`; `None` if the policy was changed.
    fn newcomer<A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address<'_, SLOTS>,
        version: Version,
        now: u64,
        request: &Request<'_>,
    ) -> Option<u64> {
        let ground = self.ground(address.home, version)?;
        let (word, floor) = match self.when_full {
            WhenFull::Share => (ground.word, 0),
            WhenFull::Evict | WhenFull::Deny | WhenFull::Allow => (0, ground.word),
        };
        Some(algorithm.above_in(word, floor, now, request.named_zone()))
    }

    /// Decides and charges on a cell; `None` if the slot changed hands meanwhile, or its word another generation. Then a
    /// charge already made stays, and the slot's key is over-denied for it.
    #[inline]
    fn hit<A: Algorithm>(
        &self,
        algorithm: &A,
        seat: Seat<'_, J::Watch<'_>>,
        now: u64,
        request: &Request<'_>,
    ) -> Option<Charge> {
        let charge = seat.charge(algorithm, now, request, || J::Watch::may_go_on(seat))?;
        let is_done = if charge.after == charge.before { self.is_done(seat) } else { self.is_charged(seat) };
        is_done.then_some(charge)
    }
}

#[cfg(test)]
impl<const SLOTS: usize> Table<SLOTS> {
    pub(crate) fn alone(buckets: usize, when_full: WhenFull) -> Self {
        Self::made_in(buckets, when_full, Memory::private, Era::alone()).expect("a table")
    }
}
