//! Reserving, and what is done with a reservation: settle, release, renew.

use arrayvec::ArrayVec;

use super::layers::Inquiry;
use super::regime::Regime;
use super::reservation::{MAX_RESERVED, Reservation, ReserveError};
use super::states::{Layers, States};
use super::tables::LayerTable;
use super::{Inlined, Limiter};
use crate::table::{Holding, Lookup, Secret, Superseded, Unused};
use ratecell_core::{Decision, Outcome, Request};

/// What is held of each layer of a policy, at most [`MAX_RESERVED`].
pub(super) type LayerHoldings = ArrayVec<Option<Holding>, MAX_RESERVED>;

impl Limiter {
    /// Decides and charges `request` as [`decide`](Self::decide) does. If it is allowed, a [`Reservation`] says what was
    /// charged: give it to [`settle`](Self::settle) when the actual cost is known. If the policy has layers `in_flight`,
    /// the reservation is their permit: give it to [`release`](Self::release) when the request has ended. A full table that
    /// allows a new key uncharged gives a reservation of nothing.
    ///
    /// A reservation of cost 0 is a peek that can be settled. To reserve and to settle takes about twice as many instructions
    /// as a check, because both use one hash of the key; two and a half times as many if the hash is given.
    ///
    /// ```
    /// use ratecell::{Limiter, Policy, Request};
    ///
    /// let policy: Policy = "100/m & in_flight 2 hold=60s".parse()?;
    /// let limiter = Limiter::builder(policy).max_keys(1_000).build()?;
    /// let request = Request::new("user:42").cost(1).at(0);
    /// let (first, permit) = limiter.reserve(request)?;
    /// assert!(first.is_allowed() && limiter.decide(request).is_allowed());
    /// assert!(!limiter.decide(request).is_allowed());            // two are in flight
    /// let released = limiter.release_at(permit.expect("it was allowed"), 5_000);
    /// assert_eq!(released.given_back(), 1);
    /// assert!(limiter.decide(request.at(5_000)).is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ReserveError`]: this limiter cannot reserve, or the request is a charge. Nothing was charged.
    #[inline(always)]
    pub fn reserve(&self, request: Request<'_>) -> Result<(Decision, Option<Reservation>), ReserveError> {
        if self.reserving.is_err() || request.is_charge() {
            self.can_reserve()?;
            return Err(ReserveError::Charge);
        }
        let h = self.hash(&request);
        let now = request.now_ns().unwrap_or_else(|| {
            self.prefetch(h);
            self.clock.now()
        });
        // A known key under the commonest policy is reserved in the caller, as it is decided there.
        if let Inlined::Gcra(gcra, table) = &self.inlined
            && request.is_plain()
            && self.regimes.is_first_in_force()
            && let Some((decision, holding)) = table.try_reserve(gcra, h, now, request.units())
            && (decision.is_allowed() || self.names.is_none())
        {
            let made = || self.reservation(h, request.units(), &self.regimes.first, [holding]);
            return Ok((decision, decision.is_allowed().then(made)));
        }
        // A copy, so that the request of the path above needs no memory.
        let apart = request;
        Ok(self.reserve_late(h, now, &apart))
    }

    /// Reserves what the inlined path did not.
    #[inline(never)]
    fn reserve_late(&self, h: u64, now: u64, request: &Request<'_>) -> (Decision, Option<Reservation>) {
        let mut reservation = None;
        let decision = self.in_force(now, request.now_ns(), |regime, now| {
            let mut layers = LayerHoldings::new();
            let decision = regime.reserve(h, now, request, &mut layers);
            reservation = decision.is_allowed().then(|| self.reservation(h, request.units(), regime, layers));
            decision
        });
        self.note(h, request, &decision);
        (decision, reservation)
    }

    /// [`reserve`](Self::reserve) by the policy of that generation; superseded, if another is in force.
    #[cfg(feature = "rules")]
    pub(crate) fn reserve_by(
        &self,
        number: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Option<Reservation>) {
        let regime = match self.regimes.numbered(number) {
            Ok(Some(regime)) => regime,
            Ok(None) => return (Decision::superseded(), None),
            Err(_) => return (Decision::allowed(self.regimes.first.policy.capacity()).never(), None),
        };
        let (h, mut layers) = (self.hash(request), LayerHoldings::new());
        let decision = regime.reserve(h, now, request, &mut layers);
        (decision, decision.is_allowed().then(|| self.reservation(h, request.units(), &regime, layers)))
    }

    /// What was charged to layers, at most [`MAX_RESERVED`], by that regime.
    #[inline(always)]
    pub(super) fn reservation(
        &self,
        hash: u64,
        cost: u32,
        regime: &Regime,
        held: impl IntoIterator<Item = Option<Holding>>,
    ) -> Reservation {
        // Modulo 2^16.
        let generation = regime.number as u16;
        Reservation { hash, cost, generation, digest: self.digest, layers: held.into_iter().collect() }
    }

    /// An error where none of its charges can be held.
    pub(crate) fn can_reserve(&self) -> Result<(), ReserveError> {
        self.reserving.clone()
    }

    /// Settles a reservation: of what was reserved `actual` units were used, so the others are given back, and 0 is a
    /// cancellation. If more were used than were reserved, the difference is charged as by
    /// [`Request::charge`]. Layers `in_flight` stay as they are. The decision is that of a [`peek`](Self::peek) afterwards.
    ///
    /// Each layer gives back as much as it can without forgiving what others were charged. Windows and logs give back all,
    /// as long as their units still count. A rate or a bucket gives back what has not drained yet. A `leaky_queue` gives
    /// back the last place alone. Nothing comes back if the key was forgotten or evicted meanwhile.
    ///
    /// A reservation has no zone. Under a policy with `tz=caller` units come back as ever. But the decision is
    /// [`Never`](ratecell_core::Outcome::Never) and [without a zone](Decision::is_without_zone), and units beyond those
    /// reserved are not charged: charge them by a request with [`charge`](Request::charge) and [`zone`](Request::zone).
    ///
    /// Of a reservation of another table nothing comes back; what was used beyond it is charged all the same. Futures that wait
    /// for the key are not woken: a [`Hold`](super::Hold) wakes them.
    ///
    /// Settle each reservation once: a second time gives back units of other requests of the key.
    #[inline]
    pub fn settle(&self, reservation: Reservation, actual: u32) -> Decision {
        self.settle_by(reservation, actual, || self.clock.latest())
    }

    /// [`settle`](Self::settle) at `now_ns`.
    #[inline]
    pub fn settle_at(&self, reservation: Reservation, actual: u32, now_ns: u64) -> Decision {
        self.settle_by(reservation, actual, move || now_ns)
    }

    #[inline(always)]
    pub(crate) fn settle_by(
        &self,
        reservation: Reservation,
        actual: u32,
        clock: impl Fn() -> u64,
    ) -> Decision {
        let mut in_vain = 0;
        match self.settle_first(&reservation, actual, &mut in_vain, &clock) {
            Some(decision) => decision,
            None => self.settle_late(reservation, actual, in_vain, clock).by_field(),
        }
    }

    /// Settles what the inlined part of [`reserve`](Self::reserve) has charged to a cell of the key, unless the policy was
    /// changed since, or more was used. If another caller is in the way, `in_vain` is what was added to the total.
    #[inline(always)]
    fn settle_first(
        &self,
        reservation: &Reservation,
        actual: u32,
        in_vain: &mut u64,
        clock: impl Fn() -> u64,
    ) -> Option<Decision> {
        let Inlined::Gcra(gcra, table) = &self.inlined else { return None };
        let (holding, cost) = (reservation.layers.get(0)?, reservation.cost);
        let is_of_it = reservation.digest == self.digest && self.regimes.first.age_of(reservation) == 0;
        if !is_of_it || actual >= cost {
            return None;
        }
        let mut unused = Unused { holding, cost, units: cost - actual, in_vain: 0 };
        let settled = table.try_settle(gcra, reservation.hash, &mut unused, clock);
        *in_vain = unused.in_vain;
        settled
    }

    #[inline(never)]
    fn settle_late(
        &self,
        reservation: Reservation,
        actual: u32,
        in_vain: u64,
        clock: impl Fn() -> u64,
    ) -> Decision {
        let Reservation { hash, cost, .. } = reservation;
        if let Some(decision) = self.out_of_range(clock()) {
            return decision;
        }
        if actual > cost {
            let request = Request::default().cost(actual - cost).charge();
            return self.in_force_at(clock, |regime, now| regime.layers.decide_apart(hash, now, &request));
        }
        let mut seen = None;
        if actual < cost {
            for (number, holding) in self.held(&reservation) {
                seen = self.of_layer(number, |regime, layer| {
                    let age = regime.age_of(&reservation);
                    if age > 0 && !regime.can_give_back(number, age) {
                        return Ok(None);
                    }
                    layer.settle(hash, Unused { holding, cost, units: cost - actual, in_vain }, &clock)
                });
            }
        }
        match (&self.regimes.first.layers, seen.flatten()) {
            // The word that it left says it all.
            (Layers::One(_), Some(decision)) => decision,
            _ => self.peek_hash(hash, clock),
        }
    }

    /// Gives back the permit of the layers `in_flight`; all others stay as they are. The decision is that of a
    /// [`peek`](Self::peek) afterwards, and its [`given_back`](Decision::given_back) is how many units came back: of
    /// several such layers the least. Nothing comes back of a permit that has passed by itself, or whose key was forgotten
    /// or evicted meanwhile.
    ///
    /// Release each permit once: a second time may give back the permit of another request of the key.
    pub fn release(&self, reservation: Reservation) -> Decision {
        self.release_by(&reservation, || self.clock.latest())
    }

    /// [`release`](Self::release) at `now_ns`.
    pub fn release_at(&self, reservation: Reservation, now_ns: u64) -> Decision {
        self.release_by(&reservation, || now_ns)
    }

    pub(crate) fn release_by(&self, reservation: &Reservation, clock: impl Fn() -> u64) -> Decision {
        let Reservation { hash, cost, .. } = *reservation;
        if let Some(decision) = self.out_of_range(clock()) {
            return decision;
        }
        let released = self.held(reservation).filter_map(|(number, holding)| {
            let released = self.of_layer(number, |_, layer| match layer.in_flight() {
                Some((in_flight, table)) => table.release(in_flight, hash, &holding, cost, &clock).map(Some),
                None => Ok(None),
            });
            released.flatten()
        });
        let back = released.min().unwrap_or(0);
        self.peek_hash(hash, clock).with_given_back(back)
    }

    /// Renews the permit of the layers `in_flight`, so that it lives on for at least another hold. What was forgotten or
    /// has passed is acquired again. All such layers are renewed, or none; a permit that is renewed at least once each hold
    /// is never refused. The decision is that of a [`peek`](Self::peek) afterwards, or a refusal: then the permit is what
    /// it was, unless another caller came between several such layers: then those before the one that refused are renewed.
    pub fn renew(&self, reservation: &mut Reservation) -> Decision {
        self.renew_at(reservation, self.clock.latest())
    }

    /// [`renew`](Self::renew) at `now_ns`.
    pub fn renew_at(&self, reservation: &mut Reservation, now_ns: u64) -> Decision {
        let Reservation { hash, cost, .. } = *reservation;
        if let Some(decision) = self.out_of_range(now_ns) {
            return decision;
        }
        let decided = self.in_force(now_ns, Some(now_ns), |regime, now| {
            let peeked = self.held(reservation).filter_map(|(number, holding)| {
                let (in_flight, table) = regime.layers.get(number)?.in_flight()?;
                Some(table.peek_renewal(in_flight, hash, &holding, cost, now))
            });
            Decision::combined(peeked).unwrap_or_else(|| Decision::allowed(0))
        });
        let refused = if decided.is_allowed() { self.move_on(reservation, now_ns) } else { None };
        self.peek_hash(hash, || now_ns).refused_by(&refused.unwrap_or(decided))
    }

    /// Renews the layers in flight one after the other, until one refuses.
    fn move_on(&self, reservation: &mut Reservation, now: u64) -> Option<Decision> {
        let Reservation { hash, cost, .. } = *reservation;
        for number in 0..reservation.layers.len() {
            let held = self.held(reservation).find(|(held, _)| *held == number);
            let Some((_, holding)) = held else { continue };
            let renewed = self.of_layer(number, |_, layer| {
                let Some((in_flight, table)) = layer.in_flight() else { return Ok(None) };
                match table.renew(in_flight, hash, &holding, cost, now) {
                    (renewed, _) if renewed.is_superseded() => Err(Superseded),
                    renewed => Ok(Some(renewed)),
                }
            });
            let Some((renewed, moved)) = renewed.flatten() else { continue };
            if let Some(moved) = moved {
                // Also where a later layer refuses, which takes another caller in between: the permit lives on here.
                reservation.layers.replace(number, moved);
            }
            if !renewed.is_allowed() {
                return Some(renewed);
            }
        }
        None
    }

    /// Whether the reservation is of this limiter's words.
    #[inline(always)]
    pub(crate) fn is_ours(&self, reservation: &Reservation) -> bool {
        reservation.digest == self.digest && self.remote.is_none()
    }

    /// The layers of which something is held, by number, with what it is; none where the reservation is of other words.
    fn held<'l>(&self, reservation: &'l Reservation) -> impl Iterator<Item = (usize, Holding)> + 'l {
        let is_ours = self.is_ours(reservation);
        let layers = reservation.layers.iter().enumerate().filter(move |_| is_ours);
        layers.filter_map(|(number, holding)| Some((number, holding?)))
    }

    /// Does something with the layer of that number, in the regime in force: again, if the policy is changed before it was
    /// done. `None` if there is no such layer.
    fn of_layer<R>(
        &self,
        number: usize,
        act: impl Fn(&Regime, &LayerTable) -> Result<R, Superseded>,
    ) -> Option<R> {
        loop {
            let regime = self.regimes.reigning().ok()?;
            if let Ok(done) = act(&regime, regime.layers.get(number)?) {
                return Some(done);
            }
        }
    }

    fn out_of_range(&self, now: u64) -> Option<Decision> {
        let policy = &self.regimes.reigning_or_first().policy;
        (now > policy.max_now_ns()).then(|| Decision::clock_range(policy.capacity()))
    }

    /// Decides by the policy in force, at an instant of that clock.
    fn in_force_at(&self, clock: impl Fn() -> u64, decide: impl Fn(&Regime, u64) -> Decision) -> Decision {
        let now = clock();
        self.in_force(now, Some(now), decide)
    }

    fn peek_hash(&self, h: u64, clock: impl Fn() -> u64) -> Decision {
        let peeked =
            self.in_force_at(clock, |regime, now| regime.layers.decide_cost(h, now, 0, Lookup::NotYet));
        debug_assert!(peeked.outcome() != Outcome::Asked);
        peeked
    }
}

/// An error where not all layers of a limiter of one machine can be held.
pub(super) fn can_reserve(layers: &[LayerTable]) -> Result<(), ReserveError> {
    if layers.len() > MAX_RESERVED {
        return Err(ReserveError::Layers { layers: layers.len() });
    }
    if layers.iter().all(States::can_give_back) { Ok(()) } else { Err(ReserveError::NotCounted) }
}

impl Regime {
    /// Decides and charges a request, and says what is held of each layer.
    fn reserve(&self, h: u64, now: u64, request: &Request<'_>, held: &mut LayerHoldings) -> Decision {
        let inquiry = Inquiry { layers: &self.layers, h, now, request: *request };
        let decision = match &self.layers {
            Layers::One(layer) => {
                let (decision, holding) = layer.reserve_alone(h, now, request);
                // It is empty, and has room.
                let _ = held.try_push(holding);
                decision
            }
            Layers::Several(layers) => {
                for _ in layers {
                    // Of more layers than have room none is reserved.
                    let _ = held.try_push(None);
                }
                inquiry.reserve(held)
            }
        };
        inquiry.with_next(decision)
    }

    /// How often the policy was changed since it was reserved, modulo 2^16.
    #[inline]
    fn age_of(&self, reservation: &Reservation) -> u16 {
        // Modulo 2^16.
        (self.number as u16).wrapping_sub(reservation.generation)
    }
}

/// [`digest`], and of the numbers that the layers have in a table whose limiters have one secret.
#[cfg(all(feature = "rules", not(ratecell_model)))]
pub(super) fn digest_of_numbers(layers: &[LayerTable], numbers: &[usize], secret: &Secret) -> u64 {
    let numbers = numbers.iter().map(|number| *number as u64);
    let words = core::iter::once(digest(layers, secret)).chain(numbers);
    secret.hash(&words.flat_map(u64::to_ne_bytes).collect::<Vec<_>>())
}

/// A digest of what kinds of words the layers have, which stay so whatever the policy, and of whose they are.
pub(super) fn digest(layers: &[LayerTable], secret: &Secret) -> u64 {
    let kinds = layers.iter().flat_map(|layer| match layer {
        States::Words(kernel, _) => kernel.packing().word,
        States::Logs(..) => *b"log     ",
    });
    secret.hash(&kinds.collect::<Vec<_>>())
}
