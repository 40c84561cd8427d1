//! Insertion: how a key gets a cell, in the table's steps *mark, probe, retag, commit*.
//!
//! Nothing here needs repair if its thread stops for ever: what it leaves is a state of the tag that
//! the next caller's ordinary path serves.

use super::find::Place;
use super::geometry::{Address, Index};
use super::layout::{Ledger, Version};
use super::take::Taking;
use super::{MAX_ROUNDS, Table, Verdict, WhenFull, hit, settle};
use crate::cell::Charge;
use ratecell_core::Request;
use ratecell_core::algorithm::Algorithm;

/// A pending slot that this call has charged, and not yet committed.
#[derive(Clone, Copy, Debug)]
struct Candidate<'t> {
    place: Place<'t>,
    charge: Charge,
    /// The floor it was charged under.
    floor: u64,
    /// The word that was decided on: the one before the charge, or later by the floor.
    word: u64,
}

impl<'t> Candidate<'t> {
    fn verdict(self) -> Verdict<'t> {
        Verdict { word: self.word, ..Verdict::charged(&self.place.slot.cell, self.charge) }
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

impl<const SLOTS: usize> Table<SLOTS> {
    /// Decides a key that had no member when it was looked for, and inserts it if it is allowed.
    #[cold]
    #[inline(never)]
    pub(super) fn insert<A: Algorithm>(
        &self,
        algorithm: &A,
        address: &Address,
        now: u64,
        request: &Request<'_>,
    ) -> Verdict<'_> {
        let mut attempt = Attempt::default();
        for _ in 0..MAX_ROUNDS {
            if let Some(answer) = self.round(algorithm, address, now, request, &mut attempt) {
                return answer;
            }
        }
        refund(&mut attempt);
        self.counters.at(address.home).exhausted();
        self.full(address, now)
    }

    /// One round: an answer, or another round.
    fn round<'t, A: Algorithm>(
        &'t self,
        algorithm: &A,
        address: &Address,
        now: u64,
        request: &Request<'_>,
        attempt: &mut Attempt<'t>,
    ) -> Option<Verdict<'t>> {
        let ledger = self.ledger.get(address.home);
        let version = ledger.version.load();
        // Before the scan: a committed slot must be seen as the member it is.
        self.finish(address.home, version);
        let scan = self.scan(address);
        if let Some(member) = scan.member {
            return self.join(algorithm, ledger, member, now, request, attempt);
        }
        if request.units() > 0
            && self.when_full == WhenFull::Share
            && !algorithm.is_fresh(ledger.overflow.load(), now)
        {
            refund(attempt);
            return self.charge_overflow(algorithm, address, version, now, request);
        }
        let kept =
            |candidate: Candidate<'_>| scan.pending.is_some_and(|pending| pending.is(&candidate.place));
        if !attempt.candidate.is_some_and(kept) {
            refund(attempt);
            // After the scan, as below.
            let word = match request.units() {
                // As a peek has it: on the shared cell, if that is live.
                0 => self.newcomer(algorithm, address, now),
                _ => algorithm.above(0, ledger.floor.load(), now),
            };
            if algorithm.decide(word, now, request).charged.is_none() {
                return Some(Verdict::uncharged(word));
            }
        }
        let place = match scan.pending {
            Some(pending) => pending,
            None => match self.take(algorithm, address, now, &mut attempt.took_pending) {
                Taking::Taken(place) => place,
                Taking::Lost => return None,
                Taking::Full(_) if self.when_full == WhenFull::Share => {
                    return self.charge_overflow(algorithm, address, version, now, request);
                }
                Taking::Full(free_at) => return Some(self.full(address, free_at)),
            },
        };
        // After the scan and the take: a word that this key lost before them has raised it.
        let floor = self.floor(algorithm, ledger, now);
        let candidate = match attempt.candidate {
            // Erased since under a later clock: the charge was judged too early.
            Some(candidate) if floor > candidate.floor => {
                refund(attempt);
                return None;
            }
            Some(candidate) => candidate,
            None => match nominate(algorithm, place, floor, now, request) {
                Ok(candidate) => *attempt.candidate.insert(candidate),
                Err(answer) => return answer,
            },
        };
        let distance = self.geometry.distance_of(place.identity);
        let next = version.next(distance, place.index, place.tag.tenure());
        if !ledger.version.commit(version, next) {
            return None;
        }
        self.finish(address.home, next);
        Some(candidate.verdict())
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

    /// Looks for a member of the key, and for the first pending slot, whoever began it.
    fn scan(&self, address: &Address) -> Scan<'_> {
        let mut scan = Scan::default();
        let places = self.places(address);
        for place in places.alike().filter(|place| place.tag.is_key_of(place.identity)) {
            if place.tag.is_member() {
                return Scan { member: Some(place), ..scan };
            }
            scan.pending.get_or_insert(place);
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
        request: &Request<'_>,
        attempt: &mut Attempt<'t>,
    ) -> Option<Verdict<'t>> {
        if let Some(candidate) = attempt.candidate {
            // Another caller of this key has adopted and committed it, this call's charge included.
            if candidate.place.is(&member)
                && self.floor(algorithm, ledger, now) <= candidate.floor
                && settle(member.slot, candidate.place.tag)
            {
                return Some(candidate.verdict());
            }
            refund(attempt);
        }
        let charge = hit(algorithm, member.slot, member.tag, now, request)?;
        Some(Verdict::charged(&member.slot.cell, charge))
    }

    /// The instant before which no newcomer of a home is judged. Each part is believed for itself: one that is not does
    /// not hide the other.
    fn floor<A: Algorithm>(&self, algorithm: &A, ledger: &Ledger, now: u64) -> u64 {
        let floor = algorithm.believed(ledger.floor.load(), now);
        match self.when_full {
            WhenFull::Share => {
                let shared = algorithm.fresh_at(ledger.overflow.load());
                floor.max(algorithm.believed(shared, now))
            }
            WhenFull::Evict | WhenFull::Deny | WhenFull::Allow => floor,
        }
    }
}

/// Charges the pending slot of a key, no earlier than `floor`: the candidate for a commit. Else an answer,
/// or another round.
fn nominate<'t, A: Algorithm>(
    algorithm: &A,
    place: Place<'t>,
    floor: u64,
    now: u64,
    request: &Request<'_>,
) -> Result<Candidate<'t>, Option<Verdict<'t>>> {
    let Place { slot, tag, .. } = place;
    let before = slot.cell.load();
    let (word, charged) = algorithm.newcomer(before, floor, now, request);
    let Some(after) = charged else {
        return Err(slot.tag.load().is_tenure_of(tag).then_some(Verdict::uncharged(word)));
    };
    let charge = Charge { before, after };
    if !slot.cell.replace(before, charge.after) {
        return Err(None);
    }
    let candidate = Candidate { place, charge, floor, word };
    if settle(slot, tag) {
        Ok(candidate)
    } else {
        candidate.verdict().refund();
        Err(None)
    }
}

/// Takes back the charge of a candidate that is not to be.
fn refund(attempt: &mut Attempt<'_>) {
    if let Some(candidate) = attempt.candidate.take() {
        candidate.verdict().refund();
    }
}
