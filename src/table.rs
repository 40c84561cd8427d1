//! The table: from a key's hash to its cell, lock-free, in memory fixed at construction.
//!
//! Buckets of 8 slots; a key is in its home bucket or in its alternate. The protocol is *mark, probe,
//! retag, commit*; `docs/DESIGN.md` has its proofs. A hit is here and in
//! [`find`], an insertion in [`insert`].

use crate::cell::{Cell, Charge, back_off};
use crate::error::BuildError;
use crate::memory::Memory;
use ratecell_core::algorithm::{Algorithm, Step};
use ratecell_core::{Decision, Request};

mod buckets;
mod counters;
mod entries;
mod find;
mod full;
mod geometry;
pub(crate) mod group;
mod hash;
mod insert;
#[cfg(test)]
mod inspect;
pub(crate) mod layout;
pub(crate) mod log;
#[cfg(not(ratecell_model))]
#[expect(unsafe_code, reason = "it says of types what they are in memory")]
mod plain;
mod survey;
mod take;

pub use counters::Stats;
pub(crate) use counters::{COUNTER_LINE, COUNTER_LINES, Counters};
pub(crate) use hash::{Secret, spread};
pub(crate) use survey::Extent;

use buckets::{Address, Buckets};
use layout::{Bucket, Slot, Tag};

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

/// Keys per bucket at the advertised capacity: there 2 keys in 100,000 find no room.
const KEYS_PER_BUCKET: usize = 6;
const SLOTS_PER_BUCKET: usize = 8;

/// A call looks this often before it answers as a full table does. Each round is lost only to another
/// caller's success; the models need a few.
const MAX_ROUNDS: usize = 32;

/// The lock-free table. The models run with fewer slots.
#[derive(Clone, Debug)]
pub(crate) struct Table<const SLOTS: usize = SLOTS_PER_BUCKET> {
    buckets: Buckets<SLOTS>,
    when_full: WhenFull,
    counters: Counters,
    /// Whether asking for lines ahead can pay: a smaller table stays in any second-level cache.
    outgrows_cache: bool,
}

/// Why [`Table::try_hit`] decided nothing, and so how to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The key has not been looked for, or was found and then another was in the way.
    NotYet,
    /// It has no member.
    InVain,
}

/// What came of a request, in words: from it the decision is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict<'t> {
    /// The word that was decided on.
    word: u64,
    /// The charge, where there is one that can be taken back.
    charge: Option<(&'t Cell, Charge)>,
    /// There was no room: when there may be.
    full_until: Option<u64>,
}

impl<'t> Verdict<'t> {
    fn uncharged(word: u64) -> Self {
        Self { word, charge: None, full_until: None }
    }

    /// The word that was decided on.
    pub(crate) fn word(&self) -> u64 {
        self.word
    }

    pub(crate) fn charged(cell: &'t Cell, charge: Charge) -> Self {
        Self { word: charge.before, charge: Some((cell, charge)), full_until: None }
    }

    /// Takes the charge back, unless the word has changed since: then it stays.
    ///
    /// Exact: words grow with each charge and pass from key to key without reset, so a value is on top
    /// of the word only while nothing came after it.
    pub(crate) fn refund(self) {
        if let Some((cell, charge)) = self.charge {
            cell.replace(charge.after, charge.before);
        }
    }
}

/// Keys that have room where nobody says how many.
pub(crate) const DEFAULT_MAX_KEYS: usize = 100_000;

/// The buckets that have room for `max_keys` keys.
pub(crate) fn buckets_for(max_keys: usize) -> Result<usize, BuildError> {
    if max_keys == 0 { Err(BuildError::ZeroKeys) } else { Ok(max_keys.div_ceil(KEYS_PER_BUCKET)) }
}

/// The keys that have room in `buckets`.
pub(crate) fn keys_in(buckets: usize) -> usize {
    buckets.saturating_mul(KEYS_PER_BUCKET)
}

/// The parts of a table begin at multiples of this: two cache lines, which are fetched together.
pub(crate) const PART_ALIGNMENT: usize = 128;

/// Where the parts of a table stand in a memory: bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The buckets, with the ledger behind them.
    pub(crate) buckets_at: usize,
    pub(crate) buckets: usize,
    pub(crate) counters_at: usize,
    /// Of [`COUNTER_LINE`] bytes.
    pub(crate) counter_lines: usize,
}

impl<const SLOTS: usize> Table<SLOTS> {
    /// The bytes of a bucket and its ledger entry.
    pub(crate) const BUCKET_BYTES: usize = Buckets::<SLOTS>::BUCKET_BYTES;

    /// The parts of a table of that many buckets, one behind the other from `offset` on, and where they end; `None`
    /// where no memory is so large.
    pub(crate) fn parts(offset: usize, buckets: usize) -> Option<(Parts, usize)> {
        let end = buckets.checked_mul(Self::BUCKET_BYTES)?.checked_add(offset)?;
        let counters_at = end.checked_next_multiple_of(PART_ALIGNMENT)?;
        let parts = Parts { buckets_at: offset, buckets, counters_at, counter_lines: COUNTER_LINES };
        Some((parts, counters_at.checked_add(COUNTER_LINES * COUNTER_LINE)?))
    }

    /// The bytes of a table of that many buckets; `None` where no memory is so large.
    pub(crate) fn bytes(buckets: usize) -> Option<usize> {
        Self::parts(0, buckets).map(|(_, end)| end)
    }

    /// The table whose parts stand there in `memory`; zeros are an empty one. `None` where one does not fit.
    pub(crate) fn in_memory(memory: &Memory, parts: Parts, when_full: WhenFull) -> Option<Self> {
        let Parts { buckets_at, buckets, counters_at, counter_lines } = parts;
        Some(Self {
            buckets: Buckets::in_memory(memory, buckets_at, buckets)?,
            counters: Counters::in_memory(memory, counters_at, counter_lines)?,
            when_full,
            outgrows_cache: buckets * size_of::<Bucket<SLOTS>>() > 512 << 10,
        })
    }

    /// A table in a memory of its own.
    pub(crate) fn private(buckets: usize, when_full: WhenFull) -> Result<Self, BuildError> {
        let (parts, end) = Self::parts(0, buckets).ok_or_else(BuildError::too_large)?;
        Self::in_memory(&Memory::private(end)?, parts, when_full).ok_or_else(BuildError::too_large)
    }

    #[cfg(test)]
    pub(crate) fn alone(buckets: usize, when_full: WhenFull) -> Self {
        Self::private(buckets, when_full).expect("a table")
    }

    /// Decides `request` at `now` on the key of hash `h`, and charges it if it is allowed.
    #[inline]
    pub(crate) fn charge<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
        lookup: Lookup,
    ) -> Verdict<'_> {
        let address = self.buckets.address(h);
        if lookup == Lookup::NotYet
            && let Some((cell, charge)) = self.hit(algorithm, &address, now, request)
        {
            return Verdict::charged(cell, charge);
        }
        self.insert(algorithm, &address, now, request)
    }

    /// The decision on a known key, where nobody is in the way. Inlined, so that only what the caller looks
    /// at is computed; otherwise it takes a [`charge`](Self::charge).
    #[inline(always)]
    pub(crate) fn try_hit<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        cost: u32,
    ) -> Result<Decision, Lookup> {
        let (slot, tag) = self.find(&self.buckets.address(h)).ok_or(Lookup::InVain)?;
        let word = slot.cell.load();
        let Step { charged, decision } = algorithm.step(word, now, cost);
        let written = charged.is_none_or(|after| slot.cell.replace(word, after));
        if !written {
            back_off(1);
        }
        if written && is_of_tenure(slot, tag, charged.is_some()) { Ok(decision) } else { Err(Lookup::NotYet) }
    }

    /// Decides and charges on the key's member, if it has one that does not change hands meanwhile.
    #[inline]
    fn hit<'t, A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address<'t, SLOTS>,
        now: u64,
        request: &Request<'_>,
    ) -> Option<(&'t Cell, Charge)> {
        let (slot, tag) = self.find(address)?;
        Some((&slot.cell, hit(algorithm, slot, tag, now, request)?))
    }

    /// The decision of a request that had this verdict.
    #[inline]
    pub(crate) fn report<A: Algorithm>(
        &self,
        algorithm: &A,
        verdict: &Verdict<'_>,
        now: u64,
        request: &Request<'_>,
    ) -> Decision {
        match verdict.full_until {
            None => algorithm.decide(verdict.word, now, request).decision,
            Some(free_at) => self.report_full(algorithm, free_at, now, request),
        }
    }

    /// Decides `request` at `now` on the key of hash `h`, and writes nothing.
    pub(crate) fn peek<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> Decision {
        let address = self.buckets.address(h);
        for _ in 0..MAX_ROUNDS {
            let Some((slot, tag)) = self.find(&address) else { break };
            let word = slot.cell.load();
            if slot.tag.load().is_tenure_of(tag) {
                return algorithm.decide(word, now, request).decision;
            }
        }
        algorithm.decide(self.newcomer(algorithm, &address, now), now, request).decision
    }

    /// Makes the key of hash `h` as if never seen. Says whether there was anything to forget.
    ///
    /// The erased word is the key's own unless the slot changed hands in between; then what it held is
    /// counted as forgiven.
    pub(crate) fn forget<A: Algorithm>(&self, algorithm: &A, h: u64, now: u64) -> bool {
        let address = self.buckets.address(h);
        let mut failed = 0;
        loop {
            let Some((slot, tag)) = self.find(&address) else { return false };
            let word = slot.cell.load();
            if word == 0 {
                return false;
            }
            if slot.cell.replace(word, 0) {
                if !settle(slot, tag) {
                    self.counters.at(address.home).forgiven(algorithm.level(word, now));
                }
                return true;
            }
            // Only another's charge is in the way, and it has been made.
            failed += 1;
            back_off(failed);
        }
    }

    /// The word on which a key without a cell is decided.
    fn newcomer<A: Algorithm>(&self, algorithm: &A, address: &Address<'_, SLOTS>, now: u64) -> u64 {
        let ledger = address.home.ledger();
        let word = match self.when_full {
            WhenFull::Share => ledger.overflow.load(),
            WhenFull::Evict | WhenFull::Deny | WhenFull::Allow => 0,
        };
        algorithm.above(word, ledger.floor.load(), now)
    }
}

/// Decides and charges on a member found with `tag`; `None` if the slot changed hands meanwhile. Then a
/// charge already made stays with a stranger, who is denied the more for it.
#[inline]
fn hit<A: Algorithm>(
    algorithm: &A,
    slot: &Slot,
    tag: Tag,
    now: u64,
    request: &Request<'_>,
) -> Option<Charge> {
    let charge = slot.cell.charge(algorithm, now, request, || slot.tag.load().is_tenure_of(tag))?;
    is_of_tenure(slot, tag, charge.after != charge.before).then_some(charge)
}

/// Whether what was decided on a slot was decided in the tenure of `tag`.
#[inline(always)]
fn is_of_tenure(slot: &Slot, tag: Tag, charged: bool) -> bool {
    if charged { settle(slot, tag) } else { slot.tag.load().is_tenure_of(tag) }
}

/// Whether a charge just made belongs to the tenure of `tag`. If a reclaimer may have judged the word
/// without it, removing the mark makes its retag fail:
///
/// - if the charge came before the probe, the probe judged a word that includes it;
/// - if the probe came first, the charge acquired it, so the mark before it is seen here.
#[inline]
fn settle(slot: &Slot, tag: Tag) -> bool {
    loop {
        let seen = slot.tag.load();
        if !seen.is_tenure_of(tag) {
            return false;
        }
        if !seen.is_marked() || slot.tag.change(seen, seen.next_mark()) {
            return true;
        }
    }
}
