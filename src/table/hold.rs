//! Holding: charges that are given back later, in part or whole, by any caller that has the reservation.
//!
//! A charge that strays costs a stranger a unit, which only denies more. What is given back to a stranger admits more: so
//! whatever lowers a word exchanges it together with its tag, from exactly what was seen, in the tenure of the charge. The
//! void is stepped: a word that went up by one charge and down by another's giving back is the same number, and not the
//! same word.

use super::buckets::Address;
use super::find::Search;
use super::given::Total;
use super::judge::Judge;
use super::layout::Seat;
use super::seated::{Found, Seated};
use super::tag::{SeatNumber, Tag};
use super::{Table, Verdict};
use crate::cell::{Cell as _, Charge, back_off};
use ratecell_core::algorithm::{Held, InFlight, Reserve, Step};
use ratecell_core::{Decision, Request};

/// A charge that is held: where it stands, and what its algorithm remembers of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) seat: SeatNumber,
    pub(crate) held: Held,
}

/// Units of a charge that is held, to be given back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unused {
    pub(crate) holding: Holding,
    /// Of the charge.
    pub(crate) cost: u32,
    /// A part of the cost.
    pub(crate) units: u32,
    /// What attempts that failed have added to the total: no word shows it.
    pub(crate) in_vain: u64,
}

/// What came of an attempt to give back.
enum Lowering {
    /// At that instant, to that word.
    Done { now: u64, word: u64 },
    /// There is nothing to give back.
    Nothing,
    /// Another exchange succeeded, and so much has been added to the total in vain.
    Failed { back: u64 },
}

/// The policy was changed: another handle is to go on with what a caller has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superseded;

/// The decision on a request, what takes its charge back at once, and what is held of it.
type Reserved<'t, W> = (Decision, Verdict<Seat<'t, W>>, Option<Holding>);

/// A request that was decided on a cell of its key.
struct Attempt<'t, W> {
    seat: Seat<'t, W>,
    before: u64,
    /// The word after it, if it was charged.
    charged: Option<u64>,
    decision: Decision,
    number: SeatNumber,
    /// What had been given back before.
    total: Option<u64>,
}

impl<W> Attempt<'_, W> {
    /// What is held of it; nothing where nothing was charged.
    #[inline(always)]
    fn holding<A: Reserve>(&self, algorithm: &A, now: u64, cost: u32) -> Option<Holding> {
        let held = algorithm.held(self.charged?, now, cost, self.total.unwrap_or(0));
        Some(Holding { seat: self.number, held })
    }
}

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// Whether what is given back is counted, as the charges of some algorithms need.
    pub(crate) fn counts_what_is_given_back(&self) -> bool {
        self.given.is_kept()
    }

    /// Decides `request` at `now` on the key of hash `h`, charges it if it is allowed, and remembers the charge. Nothing is
    /// held where nothing was charged.
    pub(crate) fn reserve<A: Reserve>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> Reserved<'_, J::Watch<'_>> {
        // The caller has read its clock before.
        if !self.era.is_in_force() {
            return (Decision::superseded(), Verdict::superseded(), None);
        }
        let address = self.address(h);
        let found = match self.attempt(algorithm, &address, now, request) {
            Ok(attempt) => {
                let Attempt { seat, before, charged, decision, .. } = attempt;
                let verdict = Verdict::charged(seat, Charge { before, after: charged.unwrap_or(before) });
                return (decision, verdict, attempt.holding(algorithm, now, request.units()));
            }
            Err(found) => found,
        };
        // Before the exchange that charges, as in an attempt.
        let totals =
            [address.home, address.alternate()].map(|bucket| self.given.of(bucket.number()).map(Total::now));
        let verdict = match found {
            Search::InVain(version) => self.insert(algorithm, h, version, now, request),
            Search::Found(..) | Search::Lost => self.decide_again(algorithm, h, now, request),
        };
        let in_alternate = verdict.cell().is_some_and(|seat| seat.tag.is_alternate());
        let total = totals[usize::from(in_alternate)];
        let holding = self.holding(algorithm, &address, &verdict, now, request, total);
        (self.report(algorithm, &verdict, now, request), verdict, holding)
    }

    /// [`reserve`](Self::reserve) of a plain request for a known key, where nobody is in the way. Inlined, so that what is
    /// held is written where the caller wants it.
    #[inline(always)]
    pub(crate) fn try_reserve<A: Reserve>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        cost: u32,
    ) -> Option<(Decision, Option<Holding>)> {
        let (address, request) = (self.address(h), Request::default().cost(cost));
        let attempt = self.attempt(algorithm, &address, now, &request).ok()?;
        Some((attempt.decision, attempt.holding(algorithm, now, cost)))
    }

    /// One attempt on a known key. Where it fails, the request is to be decided anew, on what the search has found.
    #[inline(always)]
    fn attempt<'t, A: Reserve>(
        &'t self,
        algorithm: &A,
        address: &Address<'t, SLOTS>,
        now: u64,
        request: &Request<'_>,
    ) -> Result<Attempt<'t, J::Watch<'t>>, Search<'t, J::Watch<'t>>> {
        let found = self.find(address);
        let Search::Found(seat, before) = found else { return Err(found) };
        let (bucket, place) = address.home.place_of(seat.slot);
        // Before the exchange that charges: what is given back afterwards is not in it.
        let total = self.given.of(bucket).map(Total::now);
        let Step { charged, decision } = algorithm.decide(before, now, request);
        if let Some(after) = charged
            && !seat.replace(before, after)
        {
            back_off(1);
            return Err(found);
        }
        let is_done = if charged.is_none() { self.is_done(seat) } else { self.is_charged(seat) };
        if !is_done {
            return Err(found);
        }
        let number = number_of(address, (bucket, place), seat.tag);
        Ok(Attempt { seat, before, charged, decision, number, total })
    }

    /// What is held of the charge of that verdict.
    fn holding<A: Reserve>(
        &self,
        algorithm: &A,
        address: &Address<'_, SLOTS>,
        verdict: &Verdict<Seat<'_, J::Watch<'_>>>,
        now: u64,
        request: &Request<'_>,
        total: Option<u64>,
    ) -> Option<Holding> {
        if verdict.full_until().is_some() || verdict.is_superseded() {
            return None;
        }
        let (seat, after) = match verdict.charge() {
            Some((_, Charge { before, after })) if after == before => return None,
            Some((seat, Charge { after, .. })) => {
                (number_of(address, address.home.place_of(seat.slot), seat.tag), after)
            }
            // A decision is a function of the word: what it has charged to the shared cell is found again by it.
            None => (SeatNumber::SHARED, algorithm.decide(verdict.word(), now, request).charged?),
        };
        let held = algorithm.held(after, now, request.units(), total.unwrap_or(0));
        Some(Holding { seat, held })
    }

    /// Gives back as much of the `unused` units as can be, at the instant of `clock`. The clock is read after the word, so it is
    /// no earlier than any instant in it. Returns what a peek sees of the word that it left, if it lowered one of the key's
    /// own; an error if nothing was done. Lock-free: an attempt fails only because another exchange succeeded.
    pub(crate) fn settle<A: Reserve>(
        &self,
        algorithm: &A,
        h: u64,
        mut unused: Unused,
        clock: impl Fn() -> u64,
    ) -> Result<Option<Decision>, Superseded> {
        let (address, seat) = (self.address(h), unused.holding.seat);
        let mut failed = 0;
        while let Some(seated) = self.held_word(&address, seat)? {
            match self.lower(algorithm, &address, &seated, &unused, &clock) {
                // A newcomer is judged by more than the shared word.
                Lowering::Done { .. } if seat.is_shared() => break,
                Lowering::Done { now, word } => return Ok(Some(algorithm.report(word, now, 0))),
                Lowering::Nothing => break,
                Lowering::Failed { back } => unused.in_vain = unused.in_vain.wrapping_add(back),
            }
            failed += 1;
            back_off(failed);
        }
        Ok(None)
    }

    /// [`settle`](Self::settle) of a charge to a cell of the key, where nobody is in the way. Inlined, so that only what the caller
    /// looks at is computed; otherwise it takes a [`settle`](Self::settle).
    #[inline(always)]
    pub(crate) fn try_settle<A: Reserve>(
        &self,
        algorithm: &A,
        h: u64,
        unused: &mut Unused,
        clock: impl Fn() -> u64,
    ) -> Option<Decision> {
        let address = self.address(h);
        let seated = self.slot_of(&address, unused.holding.seat)?;
        if self.is_of_this_era(&seated) != Ok(true) {
            return None;
        }
        match self.lower(algorithm, &address, &seated, unused, clock) {
            Lowering::Done { now, word } => Some(algorithm.report(word, now, 0)),
            Lowering::Nothing => None,
            Lowering::Failed { back } => {
                unused.in_vain = back;
                None
            }
        }
    }

    /// One attempt to give back.
    #[inline(always)]
    fn lower<A: Reserve>(
        &self,
        algorithm: &A,
        address: &Address<'_, SLOTS>,
        (bucket, found): &Seated<'_, SLOTS>,
        Unused { holding, cost, units, in_vain }: &Unused,
        clock: impl Fn() -> u64,
    ) -> Lowering {
        let total = self.given.of(bucket.number());
        let given = total.map(|total| total.now().wrapping_sub(*in_vain));
        let (word, now) = (found.word(), clock());
        let (lower, back) = algorithm.give_back(word, now, &holding.held, *cost, *units, given);
        if lower == word {
            return Lowering::Nothing;
        }
        if let Some(total) = total {
            total.add(back);
        }
        if found.replace(address, lower) {
            Lowering::Done { now, word: lower }
        } else {
            Lowering::Failed { back }
        }
    }

    /// Takes back what still stands of a permit of `cost` units, and returns how many units that were; an error if nothing
    /// was done.
    pub(crate) fn release(
        &self,
        in_flight: &InFlight,
        h: u64,
        holding: &Holding,
        cost: u32,
        clock: impl Fn() -> u64,
    ) -> Result<u32, Superseded> {
        let address = self.address(h);
        let mut failed = 0;
        while let Some((_, found)) = self.held_word(&address, holding.seat)? {
            let (lower, units) = in_flight.release(found.word(), clock(), holding.held.made, cost);
            if units == 0 {
                break;
            }
            if found.replace(&address, lower) {
                return Ok(units);
            }
            failed += 1;
            back_off(failed);
        }
        Ok(0)
    }

    /// Moves a permit of `cost` units to the window of `now`. Where nothing of it stands it is acquired again. The decision
    /// is a refusal, or says that the permit is the one that is returned.
    pub(crate) fn renew(
        &self,
        in_flight: &InFlight,
        h: u64,
        holding: &Holding,
        cost: u32,
        now: u64,
    ) -> (Decision, Option<Holding>) {
        let address = self.address(h);
        let mut failed = 0;
        loop {
            let found = match self.permit(in_flight, &address, holding, cost, now) {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(Superseded) => return (Decision::superseded(), None),
            };
            let word = found.word();
            let renewed = in_flight.renew(word, now, Some(holding.held.made), cost);
            let moved = Holding { held: Held { made: renewed.window, ..holding.held }, ..*holding };
            if !renewed.decision.is_allowed() {
                // As a denial, it is that of the permit's key only if the slot is still that key's.
                if found.is_still_held(&address) {
                    return (renewed.decision, None);
                }
            } else if renewed.word == word || found.move_on(&address, renewed.word) {
                return (renewed.decision, Some(moved));
            }
            failed += 1;
            back_off(failed);
        }
        let request = Request::default().cost(cost);
        let (decision, _, holding) = self.reserve(in_flight, h, now, &request);
        (decision, holding)
    }

    /// What [`renew`](Self::renew) would say; writes nothing.
    pub(crate) fn peek_renewal(
        &self,
        in_flight: &InFlight,
        h: u64,
        holding: &Holding,
        cost: u32,
        now: u64,
    ) -> Decision {
        let address = self.address(h);
        let permit = self.permit(in_flight, &address, holding, cost, now);
        if permit.is_err() {
            return Decision::superseded();
        }
        if let Ok(Some(found)) = permit {
            let decision = in_flight.renew(found.word(), now, Some(holding.held.made), cost).decision;
            if decision.is_allowed() || found.is_still_held(&address) {
                return decision;
            }
        }
        self.peek(in_flight, h, now, &Request::default().cost(cost))
    }

    /// The word in which a permit is renewed. In the cell that newcomers share only a permit that stands is, of a key that has
    /// no cell of its own: after a search, and in the order of the home's insertions, as a charge of that cell is. Any other
    /// is acquired where its key stands by now.
    fn permit<'t>(
        &self,
        in_flight: &InFlight,
        address: &Address<'t, SLOTS>,
        permit: &Holding,
        cost: u32,
        now: u64,
    ) -> Result<Option<Found<'t, SLOTS>>, Superseded> {
        let Some((_, found)) = self.held_word(address, permit.seat)? else { return Ok(None) };
        let Found::Shared(_) = found else { return Ok(Some(found)) };
        let Search::InVain(version) = self.find(address) else { return Ok(None) };
        // A shared word that has just become another era's is a permit that stands no more, as far as anybody can tell: it
        // is acquired where the key stands.
        let Some(ground) = self.ground(address.home, version) else { return Ok(None) };
        let stands = in_flight.stands(ground.word, now, permit.held.made, cost);
        Ok(stands.then_some(Found::Shared(ground)))
    }
}

/// The number of a seat of the key, by its bucket's number and its place there.
#[inline(always)]
fn number_of<const SLOTS: usize>(
    address: &Address<'_, SLOTS>,
    (bucket, place): (usize, usize),
    tag: Tag,
) -> SeatNumber {
    SeatNumber::new(address.home.distance_to(bucket), place, tag)
}
