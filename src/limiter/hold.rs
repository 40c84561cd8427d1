//! Reserving, and what is done with a reservation: settle, release, renew.

use core::fmt;

use arrayvec::ArrayVec;

use super::Limiter;
use super::layers::{Inquiry, Layer};
use super::reservation::{MAX_RESERVED, Reservation};
use super::states::{Layers, States};
use super::tables::LayerTable;
use crate::table::{Holding, Lookup, Secret, Table};
use ratecell_core::algorithm::{InFlight, Kernel, WordLayout};
use ratecell_core::{Decision, Outcome, Request, with_kernel};

/// Why a limiter cannot reserve. It is found before anything is charged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReserveError {
    /// The policy has more layers than a reservation.
    #[non_exhaustive]
    Layers {
        /// How many the policy has.
        layers: usize,
    },
    /// The limiter is in a region that was made without room for what is given back, which its policy needs.
    NotCounted,
    /// The limiter shares its units with other machines: units that are given back to a lease would be given back twice.
    Shared,
    /// The request is a [charge](Request::charge): of units that have been spent there is nothing to reserve.
    Charge,
}

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layers { layers } => {
                write!(f, "a reservation of {layers} layers: expected a policy of at most {MAX_RESERVED}")
            }
            Self::NotCounted => f.write_str(
                "the region was made without room for what is given back: expected one made with reservations",
            ),
            Self::Shared => f.write_str(
                "a limiter that shares its units with other machines reserves none: expected a limiter of one machine",
            ),
            Self::Charge => f.write_str("a charge reserves nothing: expected a request that may be refused"),
        }
    }
}

impl core::error::Error for ReserveError {}

impl Limiter {
    /// Decides and charges `request` as [`decide`](Self::decide) does. If it is allowed, a [`Reservation`] says what was
    /// charged: give it to [`settle`](Self::settle) when the actual cost is known. If the policy has layers `in_flight`,
    /// the reservation is their permit: give it to [`release`](Self::release) when the request has ended. A full table that
    /// allows a new key uncharged gives a reservation of nothing.
    ///
    /// A reservation of cost 0 is a peek that can be settled. It takes about as long as a check.
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
    pub fn reserve(&self, request: Request<'_>) -> Result<(Decision, Option<Reservation>), ReserveError> {
        self.can_reserve()?;
        if request.is_charge() {
            return Err(ReserveError::Charge);
        }
        let h = self.hash(&request);
        let now = request.now_ns().unwrap_or_else(|| {
            self.prefetch(h);
            self.clock.now()
        });
        let inquiry = Inquiry { layers: &self.layers, h, now, request };
        let mut holdings = [None; MAX_RESERVED];
        let decision = match &self.layers {
            Layers::One(layer) => {
                let (decision, _, holding) = layer.reserve(h, now, &request);
                let [place, ..] = &mut holdings;
                *place = holding;
                decision
            }
            Layers::Several(_) => inquiry.reserve(&mut holdings),
        };
        let decision = inquiry.with_next(decision);
        let reservation = decision.is_allowed().then(|| {
            let mut layers = ArrayVec::from(holdings);
            layers.truncate(self.layers.len());
            Reservation { hash: h, cost: request.units(), generation: 0, digest: self.digest, layers }
        });
        Ok((decision, reservation))
    }

    /// An error where none of its charges can be held.
    pub(crate) fn can_reserve(&self) -> Result<(), ReserveError> {
        let layers = self.layers.len();
        if layers > MAX_RESERVED {
            return Err(ReserveError::Layers { layers });
        }
        if self.remote.is_some() {
            return Err(ReserveError::Shared);
        }
        if self.layers.iter().all(States::can_give_back) { Ok(()) } else { Err(ReserveError::NotCounted) }
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
    pub fn settle(&self, reservation: Reservation, actual: u32) -> Decision {
        self.settle_now(&reservation, actual)
    }

    /// [`settle`](Self::settle) of what the caller keeps.
    pub(crate) fn settle_now(&self, reservation: &Reservation, actual: u32) -> Decision {
        self.settle_by(reservation, actual, || self.clock.latest())
    }

    /// [`settle`](Self::settle) at `now_ns`.
    pub fn settle_at(&self, reservation: Reservation, actual: u32, now_ns: u64) -> Decision {
        self.settle_by(&reservation, actual, || now_ns)
    }

    pub(crate) fn settle_by(
        &self,
        reservation: &Reservation,
        actual: u32,
        clock: impl Fn() -> u64,
    ) -> Decision {
        let Reservation { hash, cost, .. } = *reservation;
        if let Some(decision) = self.out_of_range(clock()) {
            return decision;
        }
        if actual > cost {
            let request = Request::default().cost(actual - cost).charge();
            return self.layers.decide_apart(hash, clock(), &request);
        }
        let mut seen = None;
        if actual < cost {
            for (layer, holding) in self.held(reservation) {
                seen = layer.settle(hash, holding, cost, cost - actual, &clock);
            }
        }
        match (&self.layers, seen) {
            // The word that it left says it all.
            (Layers::One(_), Some(decision)) => decision,
            _ => self.peek_hash(hash, clock()),
        }
    }

    /// Gives back the permit of the layers `in_flight`; all others stay as they are. The decision is that of a
    /// [`peek`](Self::peek) afterwards, and its [`given_back`](Decision::given_back) is how many units came back: of
    /// several such layers the least. Nothing comes back of a permit that has passed by itself, or whose key was forgotten
    /// or evicted meanwhile.
    ///
    /// Release each permit once: a second time may give back the permit of another request of the key.
    pub fn release(&self, reservation: Reservation) -> Decision {
        self.release_now(&reservation)
    }

    /// [`release`](Self::release) of what the caller keeps.
    pub(crate) fn release_now(&self, reservation: &Reservation) -> Decision {
        self.release_by(reservation, || self.clock.latest())
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
        let released = self.held(reservation).filter_map(|(layer, holding)| {
            let (in_flight, table) = layer.in_flight()?;
            Some(table.release(in_flight, hash, holding, cost, &clock))
        });
        let back = released.min().unwrap_or(0);
        self.peek_hash(hash, clock()).with_given_back(back)
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
        let peeked = self.held(reservation).filter_map(|(layer, holding)| {
            let (in_flight, table) = layer.in_flight()?;
            Some(table.peek_renewal(in_flight, hash, holding, cost, now_ns))
        });
        let mut decided = Decision::combined(peeked).unwrap_or_else(|| Decision::allowed(0));
        if decided.is_allowed() && reservation.digest == self.digest {
            for (layer, place) in self.layers.iter().zip(&mut reservation.layers) {
                let (Some((in_flight, table)), Some(holding)) = (layer.in_flight(), place.as_mut()) else {
                    continue;
                };
                let (renewed, moved) = table.renew(in_flight, hash, holding, cost, now_ns);
                if let Some(moved) = moved {
                    // Also where a later layer refuses, which takes another caller in between: the permit lives on here.
                    *holding = moved;
                }
                if !renewed.is_allowed() {
                    decided = renewed;
                    break;
                }
            }
        }
        self.peek_hash(hash, now_ns).refused_by(&decided)
    }

    /// The layers of which something is held, with what it is; none where the reservation is of other words.
    fn held<'l>(
        &'l self,
        reservation: &'l Reservation,
    ) -> impl Iterator<Item = (&'l LayerTable, &'l Holding)> {
        let is_ours = reservation.digest == self.digest && self.remote.is_none();
        let layers = self.layers.iter().zip(&reservation.layers);
        layers.filter(move |_| is_ours).filter_map(|(layer, holding)| Some((layer, holding.as_ref()?)))
    }

    fn out_of_range(&self, now: u64) -> Option<Decision> {
        let is_past = now > self.policy.max_now_ns();
        is_past.then(|| Decision::clock_range(self.policy.capacity()))
    }

    fn peek_hash(&self, h: u64, now: u64) -> Decision {
        let peeked = self.layers.decide_cost(h, now, 0, Lookup::NotYet);
        debug_assert!(peeked.outcome() != Outcome::Asked);
        peeked
    }
}

/// A digest of what the words of the layers mean, and of whose they are.
pub(super) fn digest(layers: &[LayerTable], secret: &Secret) -> u64 {
    let mut bytes = Vec::new();
    for layer in layers {
        let (kind, numbers) = match layer {
            States::Words(kernel, _) => {
                let WordLayout { word, unit, grain, count_bits } = kernel.packing();
                (word, [unit, grain, count_bits.into()])
            }
            States::Logs(log, _) => (*b"log     ", [log.window(), 0, 0]),
        };
        bytes.extend(kind);
        numbers.map(u64::to_ne_bytes).iter().for_each(|number| bytes.extend(number));
    }
    secret.hash(&bytes)
}

impl LayerTable {
    /// Whether what is charged here can be given back.
    fn can_give_back(&self) -> bool {
        match self {
            Self::Words(kernel, table) => {
                !kernel.packing().counts_what_is_given_back() || table.counts_what_is_given_back()
            }
            Self::Logs(..) => true,
        }
    }

    fn in_flight(&self) -> Option<(&InFlight, &Table)> {
        match self {
            Self::Words(Kernel::InFlight(in_flight), table) => Some((in_flight, table)),
            _ => None,
        }
    }

    /// What a peek sees afterwards, where that is known.
    fn settle(
        &self,
        h: u64,
        holding: &Holding,
        cost: u32,
        units: u32,
        clock: impl Fn() -> u64,
    ) -> Option<Decision> {
        match self {
            Self::Words(kernel, table) => with_kernel!(kernel, algorithm => {
                table.settle(algorithm, h, holding, cost, units, clock)
            }),
            Self::Logs(log, table) => {
                table.settle(log, h, holding, units, clock);
                None
            }
        }
    }
}
