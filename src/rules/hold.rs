//! A reservation by rules that settles and releases itself when it is dropped.

use core::fmt;

use ratecell_rules::Attributes;

use super::{RulesDecision, RulesLimiter, RulesReservation};
use crate::limiter::Unsettled;

impl RulesLimiter {
    /// Reserves as [`reserve`](Self::reserve) does, and returns a guard: when it is [settled](RulesHold::settle) or dropped,
    /// also by a panic or a future that is cancelled, units that were not used come back, and so do the permits of layers
    /// `in_flight`.
    ///
    /// ```
    /// use ratecell::Unsettled;
    /// use ratecell::rules::{Rules, RulesLimiter};
    ///
    /// let rules = Rules::parse("
    ///     ratecell_rules = 1
    ///     [[rule]]
    ///     name = 'at-once'
    ///     key = ['client']
    ///     limit = '100/m & in_flight 1 hold=60s'
    /// ")?;
    /// let limiter = RulesLimiter::builder(rules).max_keys(1_000).reserving().build()?;
    /// let request = [("client", "203.0.113.7")];
    /// let held = limiter.hold_at(&request, Unsettled::Keep, 0).expect("nobody else is in flight");
    /// let second = limiter.hold_at(&request, Unsettled::Keep, 0);
    /// assert_eq!(second.unwrap_err().rule_name(), Some("at-once"));
    /// drop(held);                                            // the request has ended
    /// assert!(limiter.hold_at(&request, Unsettled::Keep, 0).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The decision that refused the request. Nothing was charged.
    pub fn hold<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        unsettled: Unsettled,
    ) -> Result<RulesHold<'_>, Box<RulesDecision>> {
        RulesHold::new(self, self.reserve(attributes), unsettled, None)
    }

    /// [`hold`](Self::hold) at `now_ns`. The guard settles and releases at that time, or at the one that
    /// [`set_now_ns`](RulesHold::set_now_ns) gives.
    ///
    /// # Errors
    /// As [`hold`](Self::hold).
    pub fn hold_at<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        unsettled: Unsettled,
        now_ns: u64,
    ) -> Result<RulesHold<'_>, Box<RulesDecision>> {
        RulesHold::new(self, self.reserve_at(attributes, now_ns), unsettled, Some(now_ns))
    }
}

/// A [`RulesReservation`] that is settled and released when it is dropped: what [`RulesLimiter::hold`] returns.
///
/// With [`Unsettled::Cancel`] a guard that nobody settled is [cancelled](RulesLimiter::cancel), with [`Unsettled::Keep`] all
/// claims stay charged. In both cases the permits of layers `in_flight` come back.
#[must_use = "a guard that is dropped gives back what it holds"]
pub struct RulesHold<'l> {
    limiter: &'l RulesLimiter,
    decision: RulesDecision,
    reservation: RulesReservation,
    /// Whether it is still to be settled and released.
    is_open: bool,
    unsettled: Unsettled,
    now_ns: Option<u64>,
}

impl<'l> RulesHold<'l> {
    fn new(
        limiter: &'l RulesLimiter,
        (decision, reservation): (RulesDecision, Option<RulesReservation>),
        unsettled: Unsettled,
        now_ns: Option<u64>,
    ) -> Result<Self, Box<RulesDecision>> {
        match reservation {
            Some(reservation) => {
                Ok(Self { limiter, decision, reservation, is_open: true, unsettled, now_ns })
            }
            None => Err(Box::new(decision)),
        }
    }

    /// The decision that allowed the request.
    pub fn decision(&self) -> &RulesDecision {
        &self.decision
    }

    /// From now on the guard settles and releases at `now_ns`, in the time of the requests. For programs that give the
    /// limiter its time.
    pub fn set_now_ns(&mut self, now_ns: u64) {
        self.now_ns = Some(now_ns);
    }

    /// Settles by attributes that are known afterwards, as [`RulesLimiter::settle`] does, and releases the permits. Returns
    /// how many of their units came back.
    pub fn settle<A: Attributes + ?Sized>(mut self, actual: &A) -> u32 {
        self.is_open = false;
        self.limiter.settle_claims(&self.reservation.claims, actual, self.now_ns);
        self.limiter.release_claims(&self.reservation.claims, self.now_ns)
    }

    /// The reservation, which is neither settled nor released by this guard any more: for another process, or to settle and
    /// release at different times.
    pub fn into_reservation(mut self) -> RulesReservation {
        self.is_open = false;
        core::mem::take(&mut self.reservation)
    }
}

impl Drop for RulesHold<'_> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        if self.unsettled == Unsettled::Cancel {
            self.limiter.cancel_claims(&self.reservation.claims, self.now_ns);
        }
        self.limiter.release_claims(&self.reservation.claims, self.now_ns);
    }
}

impl fmt::Debug for RulesHold<'_> {
    /// Prints the decision, and no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulesHold")
            .field("decision", &self.decision)
            .field("unsettled", &self.unsettled)
            .finish_non_exhaustive()
    }
}
