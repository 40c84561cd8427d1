//! Insertion: how a key gets a cell, in the table's steps *mark, probe, retag, commit*.
//!
//! Nothing here needs repair if its thread stops for ever: what it leaves is a state of the tag that
//! the next caller's ordinary path serves.

use super::layout::{Address, Index, Ledger, Slot, Tag, Version};
use super::{Charged, MAX_ROUNDS, Table, WhenFull, hit, settle};
use crate::algorithm::Algorithm;
use crate::cell::Charge;
use crate::decision::{Decision, Outcome};

/// A slot, where it is, and the tag it was seen with.
#[derive(Clone, Copy, Debug)]
struct Place<'t> {
    slot: &'t Slot,
    index: usize,
    /// The tag that the key has in this bucket.
    identity: Tag,
    tag: Tag,
}

impl Place<'_> {
    fn is(&self, other: &Self) -> bool {
        core::ptr::eq(self.slot, other.slot) && self.tag.is_tenure_of(other.tag)
    }
}

/// A pending slot that this call has charged, and not yet committed.
#[derive(Clone, Copy, Debug)]
struct Candidate<'t> {
    place: Place<'t>,
    charge: Charge,
    /// The floor it was charged under.
    floor: u64,
}

impl<'t> Candidate<'t> {
    fn charged(self) -> Charged<'t> {
        Charged::to(&self.place.slot.cell, self.charge)
    }
}

/// What one call carries from round to round.
#[derive(Debug, Default)]
struct Attempt<'t> {
    candidate: Option<Candidate<'t>>,
    /// A pending slot of another key is taken once a call, so that newborn cells are not taken in turn.
    took_pending: bool,
}

/// What a walk over both buckets found of a key.
#[derive(Debug, Default)]
struct Scan<'t> {
    member: Option<Place<'t>>,
    pending: Option<Place<'t>>,
}

/// How willingly a slot is taken, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Empty,
    FreshMember,
    FreshPending,
    /// By eviction, the least level first.
    Live(u64),
}

/// The best slot of one bucket, and how full the bucket is.
#[derive(Debug)]
struct Survey<'t> {
    best: Option<(Rank, Place<'t>)>,
    live: usize,
    /// When the first of its live slots will be fresh.
    free_at: u64,
}

/// What came of looking for a slot to take.
#[derive(Debug)]
enum Taking<'t> {
    Taken(Place<'t>),
    /// Another was there first.
    Lost,
    /// Nothing may be taken before that instant.
    Full(u64),
}

impl<const SLOTS: usize> Table<SLOTS> {
    /// Decides a key that had no member when it was looked for, and inserts it if it is allowed.
    #[cold]
    #[inline(never)]
    pub(super) fn insert<A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address,
        now: u64,
        cost: u32,
    ) -> Charged<'_> {
        let mut attempt = Attempt::default();
        for _ in 0..MAX_ROUNDS {
            if let Some(answer) = self.round(algorithm, address, now, cost, &mut attempt) {
                return answer;
            }
        }
        refund(&mut attempt);
        self.counters.at(address.home).exhausted();
        self.full(algorithm, address, now, cost, now)
    }

    /// One round: an answer, or another round.
    fn round<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        address: &Address,
        now: u64,
        cost: u32,
        attempt: &mut Attempt<'t>,
    ) -> Option<Charged<'t>> {
        let ledger = self.ledger.get(address.home);
        let version = ledger.version.load();
        // Before the scan: a committed slot must be seen as the member it is.
        self.finish(address.home, version);
        let scan = self.scan(address);
        if let Some(member) = scan.member {
            return self.join(algorithm, ledger, member, now, cost, attempt);
        }
        let kept =
            |candidate: &Candidate<'_>| scan.pending.is_some_and(|pending| pending.is(&candidate.place));
        if !attempt.candidate.as_ref().is_some_and(kept) {
            refund(attempt);
            let word = self.newcomer(algorithm, address, now);
            let step = algorithm.step(word, now, cost);
            if step.word == word {
                // Denied or a peek. A key inserted meanwhile may have more than the shared cell.
                let current = self.when_full != WhenFull::Share || ledger.version.load() == version;
                return current.then_some(Charged::uncharged(step.decision));
            }
        }
        if self.when_full == WhenFull::Share && !algorithm.is_fresh(ledger.overflow.load(), now) {
            refund(attempt);
            return self.charge_overflow(algorithm, address, version, now, cost);
        }
        let place = match scan.pending {
            Some(pending) => pending,
            None => match self.take(algorithm, address, now, attempt) {
                Taking::Taken(place) => place,
                Taking::Lost => return None,
                Taking::Full(_) if self.when_full == WhenFull::Share => {
                    return self.charge_overflow(algorithm, address, version, now, cost);
                }
                Taking::Full(free_at) => return Some(self.full(algorithm, address, now, cost, free_at)),
            },
        };
        // After the scan and the take: a word that this key lost before them has raised it.
        let floor = self.floor(algorithm, ledger);
        let candidate = match attempt.candidate {
            // Erased since under a later clock: the charge was judged too early.
            Some(candidate) if floor > candidate.floor => {
                refund(attempt);
                return None;
            }
            Some(candidate) => candidate,
            None => {
                let before = place.slot.cell.load();
                let step = algorithm.step(algorithm.above(before, floor, now), now, cost);
                if !step.decision.is_allowed() {
                    let same = place.slot.tag.load().is_tenure_of(place.tag);
                    return same.then_some(Charged::uncharged(step.decision));
                }
                let charge = Charge { before, after: step.word, decision: step.decision };
                if !place.slot.cell.replace(before, charge.after) {
                    return None;
                }
                let candidate = Candidate { place, charge, floor };
                if !settle(place.slot, place.tag) {
                    candidate.charged().refund();
                    return None;
                }
                *attempt.candidate.insert(candidate)
            }
        };
        let distance = self.geometry.distance_of(place.identity);
        let next = version.next(distance, place.index, place.tag.tenure());
        if !ledger.version.commit(version, next) {
            return None;
        }
        self.finish(address.home, next);
        Some(candidate.charged())
    }

    /// Makes a member of the slot that `version` committed, if it is still the pending one.
    ///
    /// Only a tenure that a commit named becomes a member, and whoever commits next has finished it
    /// before the scan: so a key never has two members.
    fn finish(&self, home: Index, version: Version) {
        let Some(distance) = version.distance() else { return };
        let bucket = self.geometry.bucket_at(home, distance);
        let Some(slot) = self.buckets.get(bucket).slots.get(version.index()) else { return };
        loop {
            let tag = slot.tag.load();
            let named = tag.tenure() == version.tenure() && self.geometry.home_of(bucket, tag) == home;
            if !named || tag.is_empty() || tag.is_member() || slot.tag.change(tag, tag.finished()) {
                return;
            }
        }
    }

    /// The buckets of a key, each with the tag that the key has there.
    fn candidates(&self, address: &Address) -> impl Iterator<Item = (Index, Tag)> {
        let home = (address.home, Tag::identity(address.fp, false));
        let fp = address.fp;
        core::iter::once(home).chain(address.alternate.map(|index| (index, Tag::identity(fp, true))))
    }

    fn places(&self, index: Index, identity: Tag) -> impl Iterator<Item = Place<'_>> {
        self.buckets.get(index).slots.iter().enumerate().map(move |(index, slot)| Place {
            slot,
            index,
            identity,
            tag: slot.tag.load(),
        })
    }

    /// Looks for a member of the key, and for the first pending slot, whoever began it.
    fn scan(&self, address: &Address) -> Scan<'_> {
        let mut scan = Scan::default();
        for (index, identity) in self.candidates(address) {
            for place in self.places(index, identity).filter(|place| place.tag.is_key_of(identity)) {
                if place.tag.is_member() {
                    return Scan { member: Some(place), ..scan };
                }
                scan.pending.get_or_insert(place);
            }
        }
        scan
    }

    /// Goes on as a hit of a member that an insertion found.
    fn join<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        ledger: &Ledger,
        member: Place<'t>,
        now: u64,
        cost: u32,
        attempt: &mut Attempt<'t>,
    ) -> Option<Charged<'t>> {
        if let Some(candidate) = attempt.candidate {
            // Another caller of this key has adopted and committed it, this call's charge included.
            if candidate.place.is(&member)
                && self.floor(algorithm, ledger) <= candidate.floor
                && settle(member.slot, candidate.place.tag)
            {
                return Some(candidate.charged());
            }
            refund(attempt);
        }
        let charge = hit(algorithm, member.slot, member.tag, now, cost)?;
        Some(Charged::to(&member.slot.cell, charge))
    }

    /// The instant before which no newcomer of a home is judged.
    fn floor<A: Algorithm>(&self, algorithm: &A, ledger: &Ledger) -> u64 {
        let floor = ledger.floor.load();
        match self.when_full {
            WhenFull::Share => floor.max(algorithm.fresh_at(ledger.overflow.load())),
            WhenFull::Evict | WhenFull::Deny | WhenFull::Allow => floor,
        }
    }

    /// Takes the best slot of the key's two buckets for it.
    fn take<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        address: &Address,
        now: u64,
        attempt: &mut Attempt<'_>,
    ) -> Taking<'t> {
        let mut chosen: Option<Survey<'t>> = None;
        for (index, identity) in self.candidates(address) {
            let survey = self.survey(algorithm, index, identity, now, attempt.took_pending);
            chosen = Some(match chosen {
                Some(home) => prefer(home, survey, SLOTS),
                None => survey,
            });
        }
        let (best, free_at) = chosen.map_or((None, now), |survey| (survey.best, survey.free_at));
        let Some((rank, place)) = best else { return Taking::Full(free_at) };
        attempt.took_pending |= !place.tag.is_empty() && !place.tag.is_member();
        let evict = matches!(rank, Rank::Live(_));
        match self.reclaim(algorithm, address, &place, evict, now) {
            Some(tag) => Taking::Taken(Place { tag, ..place }),
            None => Taking::Lost,
        }
    }

    fn survey<A: Algorithm>(
        &self,
        algorithm: &A,
        index: Index,
        identity: Tag,
        now: u64,
        took_pending: bool,
    ) -> Survey<'_> {
        let mut survey = Survey { best: None, live: 0, free_at: u64::MAX };
        for place in self.places(index, identity) {
            let word = place.slot.cell.load();
            let rank = if place.tag.is_empty() {
                Rank::Empty
            } else if !algorithm.is_fresh(word, now) {
                survey.live += 1;
                survey.free_at = survey.free_at.min(algorithm.fresh_at(word));
                if self.when_full != WhenFull::Evict {
                    continue;
                }
                Rank::Live(algorithm.level(word, now))
            } else if place.tag.is_member() {
                Rank::FreshMember
            } else if took_pending {
                continue;
            } else {
                Rank::FreshPending
            };
            let own = place.tag.is_key_of(identity);
            if !own && survey.best.is_none_or(|(best, _)| rank < best) {
                survey.best = Some((rank, place));
            }
        }
        survey
    }

    /// Takes a slot from whoever has it, and returns its tag: pending, for the new key.
    fn reclaim<A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address,
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
                    if fresh_at <= now {
                        let bucket = if identity.is_alternate() { address.alternate? } else { address.home };
                        self.ledger.get(self.geometry.home_of(bucket, tag)).floor.raise(fresh_at);
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

    /// Charges the cell that newcomers without room share.
    ///
    /// The version's CAS orders the charge among the insertions of the home: while the cell is not
    /// fresh none is inserted, and later ones are judged no earlier than it is fresh. So no key has
    /// both a share and a cell of its own.
    fn charge_overflow<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        address: &Address,
        version: Version,
        now: u64,
        cost: u32,
    ) -> Option<Charged<'t>> {
        let ledger = self.ledger.get(address.home);
        let before = ledger.overflow.load();
        let step = algorithm.step(algorithm.above(before, ledger.floor.load(), now), now, cost);
        let counters = self.counters.at(address.home);
        if !step.decision.is_allowed() {
            let current = ledger.version.load() == version;
            return current.then(|| {
                counters.shared();
                Charged::uncharged(step.decision)
            });
        }
        // Without the commit the charge stays on the shared cell, which over-denies.
        if !ledger.overflow.replace(before, step.word)
            || !ledger.version.commit(version, version.next_without_slot())
        {
            return None;
        }
        counters.shared();
        Some(Charged::uncharged(step.decision))
    }

    /// The answer where no place may be taken before `free_at`.
    fn full<A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address,
        now: u64,
        cost: u32,
        free_at: u64,
    ) -> Charged<'_> {
        let counters = self.counters.at(address.home);
        let mut decision = algorithm.step(0, now, cost).decision;
        if self.when_full == WhenFull::Allow {
            counters.allowed();
        } else {
            counters.denied();
            decision.outcome = Outcome::Denied;
            decision.remaining = 0;
            decision.retry_after_ns = free_at.saturating_sub(now).clamp(1, Decision::NEVER - 1);
            decision.reset_after_ns = decision.retry_after_ns;
            decision.delay_ns = 0;
        }
        Charged::uncharged(decision)
    }
}

/// Of two surveyed buckets the one with the better slot; among equals home while fewer than half of its
/// slots are live, else the emptier.
fn prefer<'t>(home: Survey<'t>, alternate: Survey<'t>, slots: usize) -> Survey<'t> {
    let free_at = home.free_at.min(alternate.free_at);
    let home_first = 2 * home.live < slots || home.live <= alternate.live;
    let rank = |survey: &Survey<'_>| survey.best.map(|(rank, _)| rank);
    let take_home = match (rank(&home), rank(&alternate)) {
        (Some(_), None) => true,
        (None, _) => false,
        (Some(home), Some(alternate)) => home < alternate || (home == alternate && home_first),
    };
    Survey { free_at, ..if take_home { home } else { alternate } }
}

/// Takes back the charge of a candidate that is not to be.
fn refund(attempt: &mut Attempt<'_>) {
    if let Some(candidate) = attempt.candidate.take() {
        candidate.charged().refund();
    }
}
