//! A reservation that settles and releases itself when it is dropped.

use core::fmt;

use super::Limiter;

use super::reservation::{Reservation, ReserveError};
use ratecell_core::{Decision, Request};

#[cfg(feature = "async")]
use ratecell_core::Key;

/// How much of a [`Hold`] that is dropped, and that nobody settled, counts as used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsettled {
    /// Nothing: all of it is given back, as far as it can be. For work that uses nothing unless it succeeds.
    Cancel,
    /// All of it, as if it had been checked. For work that may have used everything before it failed.
    Keep,
}

/// Why [`Limiter::hold`] holds nothing. Nothing was charged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HoldError {
    /// The limiter refused the request: the decision says until when.
    Refused(Decision),
    /// The limiter cannot reserve.
    Cannot(ReserveError),
}

impl From<ReserveError> for HoldError {
    fn from(error: ReserveError) -> Self {
        Self::Cannot(error)
    }
}

impl fmt::Display for HoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(decision) => match decision.retry_after() {
                Some(after) => write!(f, "rate limit exceeded: retry after {after:?}"),
                None => f.write_str("rate limit exceeded: the request can never be allowed"),
            },
            Self::Cannot(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for HoldError {}

impl Limiter {
    /// Reserves as [`reserve`](Self::reserve) does, and returns a guard: when it is [settled](Hold::settle) or dropped, also
    /// by a panic or a future that is cancelled, units that were not used come back, and so does the permit of layers
    /// `in_flight`.
    ///
    /// ```
    /// use ratecell::{HoldError, Limiter, Policy, Request, Unsettled};
    ///
    /// let policy: Policy = "100/m & in_flight 1 hold=60s".parse()?;
    /// let limiter = Limiter::builder(policy).max_keys(1_000).build()?;
    /// let request = Request::new("user:42").at(0);
    /// let held = limiter.hold(request, Unsettled::Cancel)?;
    /// let second = limiter.hold(request, Unsettled::Cancel);
    /// assert!(matches!(second, Err(HoldError::Refused(decision)) if decision.layer() == 1));
    /// let ended = held.settle(1);                            // its unit was used, and its permit is back
    /// assert_eq!((ended.given_back(), ended.remaining()), (1, 1));
    /// drop(limiter.hold(request, Unsettled::Cancel)?);       // cancelled: unit and permit are back
    /// assert!(limiter.check_at("user:42", 1, 0).is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`HoldError`]: the request was refused, or this limiter cannot reserve. Nothing was charged.
    pub fn hold(&self, request: Request<'_>, unsettled: Unsettled) -> Result<Hold<'_>, HoldError> {
        let (decision, reservation) = self.reserve(request)?;
        Ok(Hold {
            limiter: self,
            decision,
            reservation: reservation.ok_or(HoldError::Refused(decision))?,
            is_open: true,
            unsettled,
            now_ns: request.now_ns(),
            #[cfg(feature = "async")]
            key: match request.key() {
                Key::Bytes(key) => Some(key.into()),
                Key::Hash(_) => None,
            },
        })
    }
}

/// A [`Reservation`] that is settled and released when it is dropped: what [`Limiter::hold`] returns.
///
/// Where the request gave its time, the guard settles and releases at that time, or at the one that
/// [`set_now_ns`](Self::set_now_ns) gives. Otherwise it does so by the limiter's clock.
///
/// With the feature `async`, futures of [`Limiter::acquire`] that wait for the key are woken by what comes back, unless
/// the request had a hash in place of a key.
#[must_use = "a guard that is dropped gives back what it holds"]
pub struct Hold<'l> {
    limiter: &'l Limiter,
    decision: Decision,
    reservation: Reservation,
    /// Whether it is still to be settled and released.
    is_open: bool,
    unsettled: Unsettled,
    now_ns: Option<u64>,
    #[cfg(feature = "async")]
    key: Option<Box<[u8]>>,
}

impl fmt::Debug for Hold<'_> {
    /// Prints the decision and the cost, and not the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("decision", &self.decision)
            .field("cost", &self.cost())
            .field("unsettled", &self.unsettled)
            .finish_non_exhaustive()
    }
}

impl Hold<'_> {
    /// The decision that allowed the request.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// The units that are reserved.
    #[must_use]
    pub fn cost(&self) -> u32 {
        self.reservation.cost()
    }

    /// From now on the guard renews, settles and releases at `now_ns`, in the time of the requests. For programs that give
    /// the limiter its time.
    pub fn set_now_ns(&mut self, now_ns: u64) {
        self.now_ns = Some(now_ns);
    }

    /// Settles at the `actual` cost, as [`Limiter::settle`] does, and releases the permit. The decision is that of a
    /// [`peek`](Limiter::peek) afterwards; its [`given_back`](Decision::given_back) is how many units of the permit came back.
    pub fn settle(mut self, actual: u32) -> Decision {
        self.end(actual)
    }

    /// Renews the permit of the layers `in_flight`, as [`Limiter::renew`] does.
    pub fn renew(&mut self) -> Decision {
        let now_ns = self.instant();
        self.limiter.renew_at(&mut self.reservation, now_ns)
    }

    /// The reservation, which is neither settled nor released by this guard any more: for another process, or to settle and
    /// release at different times.
    pub fn into_reservation(mut self) -> Reservation {
        self.is_open = false;
        self.reservation.clone()
    }

    fn instant(&self) -> u64 {
        self.now_ns.unwrap_or_else(|| self.limiter.clock.latest())
    }

    /// Settles and releases.
    fn end(&mut self, actual: u32) -> Decision {
        self.is_open = false;
        let _ = self.limiter.settle_by(self.reservation.clone(), actual, || self.instant());
        let released = self.limiter.release_by(&self.reservation, || self.instant());
        #[cfg(feature = "async")]
        if let Some(key) = &self.key
            && (actual < self.cost() || released.given_back() > 0)
        {
            self.limiter.waits.changed(self.limiter, key);
        }
        released
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if self.is_open {
            let _ = self.end(match self.unsettled {
                Unsettled::Cancel => 0,
                Unsettled::Keep => self.cost(),
            });
        }
    }
}

#[cfg(all(test, not(ratecell_model)))]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;

    fn limiter(policy: &str) -> Limiter {
        Limiter::builder(policy.parse().expect(policy)).max_keys(100).build().expect("a limiter")
    }

    fn request(cost: u32) -> Request<'static> {
        Request::new("k").cost(cost).at(MINUTE)
    }

    /// What remains of the rate, and of the permits.
    fn left(rate: &Limiter, permits: &Limiter) -> [u64; 2] {
        [rate, permits].map(|limiter| limiter.check_at("k", 0, MINUTE).remaining())
    }

    #[test]
    fn a_drop_settles_as_the_caller_chose() {
        for (unsettled, remaining) in [(Unsettled::Cancel, 10), (Unsettled::Keep, 6)] {
            let (rate, permits) = (limiter("10/h"), limiter("in_flight 10 hold=1h"));
            let held =
                [&rate, &permits].map(|limiter| limiter.hold(request(4), unsettled).expect("there is room"));
            assert_eq!(held[0].decision().remaining(), 6);
            assert_eq!((held[0].cost(), left(&rate, &permits)), (4, [6, 6]));
            drop(held);
            assert_eq!(left(&rate, &permits), [remaining, 10], "{unsettled:?}");
        }
    }

    #[test]
    fn what_is_settled_is_not_settled_again() {
        let (rate, permits) = (limiter("10/h"), limiter("in_flight 10 hold=1h"));
        for (limiter, back) in [(&rate, 0), (&permits, 4)] {
            assert!(limiter.check_at("k", 4, MINUTE).is_allowed());
            let held = limiter.hold(request(4), Unsettled::Cancel).expect("there is room");
            assert_eq!(held.settle(1).given_back(), back);
        }
        assert_eq!(left(&rate, &permits), [5, 6]);
        // More than was reserved is charged.
        let held = rate.hold(request(1), Unsettled::Cancel).expect("there is room");
        assert_eq!(held.settle(3).remaining(), 2);
    }

    #[test]
    fn a_panic_gives_the_permit_back() {
        let permits = limiter("in_flight 1 hold=1h");
        let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            let _held = permits.hold(request(1), Unsettled::Keep);
            std::panic::resume_unwind(Box::new("the handler fails"));
        }));
        assert!(panicked.is_err());
        assert!(permits.check_at("k", 1, MINUTE).is_allowed());
    }

    #[test]
    fn what_is_handed_over_stays() {
        let both = limiter("10/h & in_flight 10 hold=1h");
        let held = both.hold(request(4), Unsettled::Cancel).expect("there is room");
        let reservation = held.into_reservation();
        assert_eq!(both.check_at("k", 0, MINUTE).remaining(), 6);
        assert_eq!(both.release_at(reservation, MINUTE).given_back(), 4);
    }

    #[test]
    fn a_permit_lives_as_long_as_it_is_renewed() {
        let permits = limiter("in_flight 1 hold=1m");
        let mut held = permits.hold(request(1), Unsettled::Keep).expect("there is room");
        for minute in 2..9 {
            held.set_now_ns(minute * MINUTE);
            assert!(held.renew().is_allowed());
            assert!(!permits.check_at("k", 1, minute * MINUTE).is_allowed());
        }
        drop(held);
        assert!(permits.check_at("k", 1, 8 * MINUTE).is_allowed());
    }

    #[test]
    fn a_refusal_carries_the_decision() {
        let limiter = limiter("1/h");
        let refused = limiter.hold(request(2), Unsettled::Keep).expect_err("above the capacity");
        assert_eq!(refused.to_string(), "rate limit exceeded: the request can never be allowed");
        let kept = limiter.hold(request(1), Unsettled::Keep).expect("there is room");
        let refused = limiter.hold(request(1), Unsettled::Keep).expect_err("it is taken");
        let HoldError::Refused(decision) = &refused else { panic!("{refused:?}") };
        assert_eq!(decision.retry_after_ns(), 60 * MINUTE);
        assert_eq!(refused.to_string(), "rate limit exceeded: retry after 3600s");
        drop(kept);
        assert!(!limiter.check_at("k", 1, MINUTE).is_allowed());
        let cannot = limiter.hold(request(1).charge(), Unsettled::Keep).expect_err("a charge");
        assert_eq!(cannot, HoldError::Cannot(ReserveError::Charge));
        assert_eq!(cannot.to_string(), ReserveError::Charge.to_string());
    }

    #[test]
    fn a_guard_shows_no_key() {
        let limiter = limiter("1/h");
        let held = limiter.hold(Request::new("secret-key"), Unsettled::Keep).expect("there is room");
        let shown = format!("{held:?}");
        assert!(shown.contains("cost: 1") && !shown.contains("secret-key"), "{shown}");
    }
}
