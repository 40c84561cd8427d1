//! Holding: charges that are given back later, in part or whole, by whoever has the reservation.
//!
//! A charge that strays costs a stranger a unit, which only denies more. What is given back to a stranger admits more: so
//! whatever lowers a word exchanges it together with its tag, from exactly what was seen, in the tenure of the charge. The
//! void is stepped: a word that went up by one charge and down by another's giving back is the same number, and not the
//! same word.

use super::buckets::{Address, Index};
use super::find::Search;
use super::insert::{is_seized_for, is_still_absent, settle};
use super::layout::{Ground, Seat, Slot};
use super::tag::{SeatNumber, Tag};
use super::{Table, Verdict, WhenFull, hit};
use crate::cell::back_off;
use ratecell_core::algorithm::{Held, InFlight, Reserve};
use ratecell_core::{Decision, Request};

/// A charge that is held: where it stands, and what its algorithm remembers of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) seat: SeatNumber,
    pub(crate) held: Held,
}

/// What a loop of exchanges does with the word that it found.
enum Lowering {
    To(u64),
    /// Nothing can be given back.
    Nothing,
}

/// A word, and what it is exchanged together with.
enum Found<'t, const SLOTS: usize> {
    Slot(&'t Slot, Tag, u64),
    /// The cell that the newcomers of its home share.
    Shared(Ground),
}

impl<const SLOTS: usize> Table<SLOTS> {
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
    ) -> (Verdict<Seat<'_>>, Option<Holding>) {
        let address = self.buckets.address(h);
        // Each total is read before the exchange that charges: what is given back afterwards is not in it.
        let found = self.find(&address);
        if let Search::Found(seat, _) = found {
            let total = self.given.total(bucket_of(&address, seat.tag));
            if let Some(charge) = hit(algorithm, seat, now, request) {
                let verdict = Verdict::charged(seat, charge);
                let holding = self.holding(algorithm, &address, &verdict, now, request, total);
                return (verdict, holding);
            }
        }
        let totals = [address.home, address.alternate()].map(|bucket| self.given.total(bucket));
        let verdict = match found {
            Search::InVain(version) => self.insert(algorithm, h, version, now, request),
            Search::Found(..) => self.decide_again(algorithm, h, now, request),
        };
        let in_alternate = verdict.cell().is_some_and(|seat| seat.tag.is_alternate());
        let total = totals[usize::from(in_alternate)];
        let holding = self.holding(algorithm, &address, &verdict, now, request, total);
        (verdict, holding)
    }

    /// What is held of the charge of that verdict.
    fn holding<A: Reserve>(
        &self,
        algorithm: &A,
        address: &Address<'_, SLOTS>,
        verdict: &Verdict<Seat<'_>>,
        now: u64,
        request: &Request<'_>,
        total: Option<u64>,
    ) -> Option<Holding> {
        if verdict.full_until().is_some() {
            return None;
        }
        // A decision is a function of the word: what it has charged is found again by it.
        let after = algorithm.decide(verdict.word(), now, request).charged?;
        let seat = match verdict.cell() {
            Some(seat) => number_of(address, seat)?,
            None => SeatNumber::SHARED,
        };
        let given = total.unwrap_or(0);
        let held = algorithm.held(verdict.word(), after, now, request.units(), given);
        Some(Holding { seat, held })
    }

    /// Gives back as much as can be of `units`, a part of the `cost` that is held, at the instant of `clock`. The clock is
    /// read after the word, so it is no earlier than any instant in it. Returns what a peek sees of the word that it left, if
    /// it lowered one of the key's own.
    #[inline]
    pub(crate) fn settle<A: Reserve>(
        &self,
        algorithm: &A,
        h: u64,
        holding: &Holding,
        cost: u32,
        units: u32,
        clock: impl Fn() -> u64,
    ) -> Option<Decision> {
        // Added for attempts that failed: no word shows it.
        let mut in_vain = 0_u64;
        let mut left = (0, 0);
        let is_lowered = self.lower(h, holding.seat, |bucket, word| {
            let total = self.given.total(bucket).map(|total| total.wrapping_sub(in_vain));
            let now = clock();
            let (lower, back) = algorithm.give_back(word, now, &holding.held, cost, units, total);
            if lower == word {
                return Lowering::Nothing;
            }
            self.given.add(bucket, back);
            in_vain = in_vain.wrapping_add(back);
            left = (lower, now);
            Lowering::To(lower)
        });
        // A newcomer is judged by more than the shared word.
        (is_lowered && !holding.seat.is_shared()).then(|| algorithm.report(left.0, left.1, 0))
    }

    /// Takes back what still stands of a permit of `cost` units, and returns how many units that were.
    pub(crate) fn release(
        &self,
        in_flight: &InFlight,
        h: u64,
        holding: &Holding,
        cost: u32,
        clock: impl Fn() -> u64,
    ) -> u32 {
        let mut back = 0;
        let is_lowered = self.lower(h, holding.seat, |_, word| {
            let (lower, units) = in_flight.release(word, clock(), holding.held.made, cost);
            back = units;
            if units > 0 { Lowering::To(lower) } else { Lowering::Nothing }
        });
        if is_lowered { back } else { 0 }
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
        let address = self.buckets.address(h);
        let mut failed = 0;
        while let Some(found) = self.permit(in_flight, &address, holding, cost, now) {
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
        let (verdict, holding) = self.reserve(in_flight, h, now, &request);
        (self.report(in_flight, &verdict, now, &request), holding)
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
        let address = self.buckets.address(h);
        if let Some(found) = self.permit(in_flight, &address, holding, cost, now) {
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
    ) -> Option<Found<'t, SLOTS>> {
        let (_, found) = self.held_word(address, permit.seat)?;
        let Found::Shared(_) = found else { return Some(found) };
        let Search::InVain(version) = self.find(address) else { return None };
        let ground = Ground { version, word: address.home.bucket().header.word() };
        in_flight.stands(ground.word, now, permit.held.made, cost).then_some(Found::Shared(ground))
    }

    /// Lowers the word at that seat to what `lower` makes of it, or leaves it; says whether it was lowered. Lock-free: an
    /// attempt fails only because another exchange succeeded.
    fn lower(
        &self,
        h: u64,
        seat: SeatNumber,
        mut lower: impl FnMut(Index<'_, SLOTS>, u64) -> Lowering,
    ) -> bool {
        let address = self.buckets.address(h);
        let mut failed = 0;
        while let Some((bucket, found)) = self.held_word(&address, seat) {
            match lower(bucket, found.word()) {
                Lowering::Nothing => return false,
                Lowering::To(word) if found.replace(&address, word) => return true,
                Lowering::To(_) => {
                    failed += 1;
                    back_off(failed);
                }
            }
        }
        false
    }

    /// The word at that seat and its bucket, whatever number the caller's memory held; `None` if the charge's life is over:
    /// the slot is another key's, or the key was forgotten.
    fn held_word<'t>(
        &self,
        address: &Address<'t, SLOTS>,
        seat: SeatNumber,
    ) -> Option<(Index<'t, SLOTS>, Found<'t, SLOTS>)> {
        if seat.is_shared() {
            let ground = address.home.bucket().header.ground();
            return (self.when_full == WhenFull::Share).then_some((address.home, Found::Shared(ground)));
        }
        let (distance, number) = seat.slot()?;
        let bucket = address.home.at_distance(distance);
        let slot = bucket.bucket().slots.get(number - 1)?;
        let tag = slot.tag();
        let is_held = is_seized_for(address, bucket, tag) && seat.is_of_tenure(tag);
        is_held.then(|| (bucket, Found::Slot(slot, tag, slot.word())))
    }
}

impl<const SLOTS: usize> Found<'_, SLOTS> {
    fn word(&self) -> u64 {
        match self {
            Self::Slot(_, _, word) => *word,
            Self::Shared(ground) => ground.word,
        }
    }

    /// Whether the word may still be the key's.
    fn is_still_held(&self, address: &Address<'_, SLOTS>) -> bool {
        match *self {
            Self::Slot(slot, tag, _) => slot.tag().is_tenure_of(tag),
            Self::Shared(ground) => is_still_absent(address, ground.version),
        }
    }

    /// [`replace`](Self::replace), by a word that holds no less: in the shared cell only while the key has none of its own.
    fn move_on(&self, address: &Address<'_, SLOTS>, word: u64) -> bool {
        let may_be = match self {
            Self::Slot(..) => true,
            Self::Shared(ground) => settle(address, ground.version),
        };
        may_be && self.replace(address, word)
    }

    /// Changes the word to `lower`, if neither it nor what stands beside it has changed.
    fn replace(&self, address: &Address<'_, SLOTS>, lower: u64) -> bool {
        match *self {
            Self::Slot(slot, tag, word) => slot.replace((tag, word), (tag.next_void(), lower)),
            // The next seq, as after a charge: whoever has seen another word begins anew.
            Self::Shared(ground) => {
                let lowered = Ground { version: ground.version.next(), word: lower };
                address.home.bucket().header.replace(ground, lowered)
            }
        }
    }
}

/// The bucket of the key whose tag this is.
fn bucket_of<'t, const SLOTS: usize>(address: &Address<'t, SLOTS>, tag: Tag) -> Index<'t, SLOTS> {
    if tag.is_alternate() { address.alternate() } else { address.home }
}

/// The number of a seat of the key.
fn number_of<const SLOTS: usize>(address: &Address<'_, SLOTS>, seat: Seat<'_>) -> Option<SeatNumber> {
    let slots = &bucket_of(address, seat.tag).bucket().slots;
    let number = slots.iter().position(|slot| core::ptr::eq(slot, seat.slot))? + 1;
    Some(SeatNumber::new(address.home.distance_of(seat.tag), number, seat.tag))
}
