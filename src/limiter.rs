//! The limiter: policy layers, a table for each, a clock.

use core::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::clock::Clock;
use crate::names::Names;
use crate::table::{Lookup, Secret, spread};
use ratecell_core::{Decision, Key, Outcome, Policy, PolicyError, Request, Zone};

#[cfg(feature = "async")]
mod acquire;
#[cfg(feature = "store")]
mod agent;
mod batch;
#[cfg(not(ratecell_model))]
mod beside;
mod builder;
mod change;
pub(crate) mod differing;
mod direct;
mod events;
mod generations;
mod guard;
mod hold;
mod inlined;
pub(crate) mod joint;
pub(crate) mod layers;
mod leased;
mod line;
#[cfg(feature = "rules")]
pub(crate) mod mixed;
mod naming;
#[cfg(not(ratecell_model))]
mod reader;
mod regime;
#[cfg(all(feature = "rules", not(ratecell_model)))]
pub(crate) mod register;
#[cfg(not(ratecell_model))]
mod regions;
mod remote;
mod reservation;
mod states;
mod stats;
mod tables;
#[cfg(feature = "async")]
mod timer;
#[cfg(not(ratecell_model))]
mod watch;
mod words;

#[cfg(feature = "async")]
pub use acquire::{Acquire, AcquireError};
pub use builder::LimiterBuilder;
#[cfg(feature = "rules")]
pub(crate) use builder::seconds_since_1970;
pub use direct::DirectLimiter;
#[cfg(feature = "rules")]
pub(crate) use generations::Family;
pub use guard::{Hold, HoldError, Unsettled};
use inlined::Inlined;
pub use joint::Claim;
pub use line::{Line, Turn, WaitEnd};
use naming::Late;
#[cfg(not(ratecell_model))]
pub use reader::{DeniedKey, Region};
use regime::{Regime, Regimes};
#[cfg(all(feature = "rules", not(ratecell_model)))]
pub(crate) use regions::of_file;
use remote::{FORGET, Remote};
pub use remote::{OnFailure, OnMiss, Shared};
pub use reservation::{Reservation, ReservationError, ReserveError};
#[cfg(feature = "async")]
pub use timer::Sleep;
#[cfg(not(ratecell_model))]
pub use watch::{Admitted, KeyOrder, KeyUse, Look, Watch};

/// A rate limiter for any number of keys: decides whether a request may go now.
///
/// All memory is allocated at construction. A check never allocates, never blocks and never fails, with two exceptions.
/// `sliding_log` allocates its entries and locks briefly. A limiter that shares its units with other machines waits for
/// the store where it holds no lease of the key, for at most [`OnMiss::Wait`]; with [`OnMiss::Deny`], or a request
/// [without waiting](Request::without_waiting), it never does. Any number of threads may share a limiter, by reference or
/// in an `Arc`.
///
/// Keys are bytes and are not stored, except those that are denied in a region with
/// [names](LimiterBuilder::names). A key is identified by its bucket, of which there are `max_keys` / 5, and by 40
/// bits of its keyed hash. Keys that agree in both are limited together. Among n keys, any two agree with a probability
/// of about n^2 / (2 * buckets * 2^40). For n = `max_keys` this is 2.5 n / 2^40: 2 in a million, for a million keys.
///
/// Every call that decides reads the limiter's own clock once, unless its request gives the time. A given time is in
/// nanoseconds since any epoch, as long as all users of the limiter use the same one; with a `calendar_window`, since the
/// limiter's own, which is [`epoch`](Self::epoch). Aligned windows are aligned to the epoch. A limiter that shares its units with other machines
/// decides by its own clock alone, and ignores a given time: that is the clock by which its leases end.
///
/// ```
/// use ratecell::{Limiter, Policy};
/// use std::time::Duration;
///
/// let policy: Policy = "3/s".parse()?;
/// let limiter = Limiter::builder(policy).max_keys(1_000).build()?;
/// for left in [2, 1, 0] {
///     assert_eq!(limiter.check_at("user:42", 1, 0).remaining(), left);
/// }
/// let denied = limiter.check_at("user:42", 1, 0);
/// assert!(!denied.is_allowed());
/// assert_eq!(denied.retry_after(), Some(Duration::from_nanos(333_333_334)));
/// assert!(limiter.check_at("user:43", 1, 0).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Limiter {
    inlined: Inlined,
    regimes: Regimes,
    clock: Clock,
    /// Whether its region was made with other rules of the zones in its policy.
    has_other_zone_rules: bool,
    secret: Secret,
    /// Of what the words mean, and of the secret: what a reservation is of.
    digest: u64,
    /// Whether its layers can be reserved.
    reserving: Result<(), ReserveError>,
    /// What the store of many machines is asked by, if the units are those of many machines: then the tables hold leases.
    remote: Option<Box<Remote>>,
    /// Where the keys are named that it denies, if they are.
    names: Option<Box<Names>>,
    late: Late,
    /// The futures that wait for it.
    #[cfg(feature = "async")]
    waits: acquire::Waits,
}

impl fmt::Debug for Limiter {
    /// Prints the policy, and neither keys nor secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("policy", &self.policy()).finish_non_exhaustive()
    }
}

impl Limiter {
    /// A limiter of one machine.
    fn of_regimes(regimes: Regimes, clock: Clock, secret: Secret) -> Self {
        Self {
            clock,
            has_other_zone_rules: false,
            digest: hold::digest(&regimes.first.layers, &secret),
            reserving: hold::can_reserve(&regimes.first.layers),
            inlined: Inlined::of(&regimes.first.layers),
            secret,
            regimes,
            remote: None,
            names: None,
            late: Late::Here,
            #[cfg(feature = "async")]
            waits: Default::default(),
        }
    }

    /// Begins a limiter of `policy`.
    pub fn builder(policy: Policy) -> LimiterBuilder {
        LimiterBuilder::of(policy)
    }

    /// Begins a limiter with the policy of an existing region, which it [attaches](LimiterBuilder::attach) to or
    /// [opens](LimiterBuilder::open). Without a region the call returns an error.
    pub fn following() -> LimiterBuilder {
        LimiterBuilder::nothing()
    }

    /// Decides one unit of `key` now.
    #[inline(always)]
    pub fn check(&self, key: impl AsRef<[u8]>) -> Decision {
        self.decide(Request::new(&key))
    }

    /// Decides `cost` units of `key` now: all of them or none. A cost of 0 is a [`peek`](Self::peek).
    #[inline(always)]
    pub fn check_n(&self, key: impl AsRef<[u8]>, cost: u32) -> Decision {
        self.decide(Request::new(&key).cost(cost))
    }

    /// Decides `cost` units of `key` at `now_ns`.
    #[inline(always)]
    pub fn check_at(&self, key: impl AsRef<[u8]>, cost: u32, now_ns: u64) -> Decision {
        self.decide(Request::new(&key).cost(cost).at(now_ns))
    }

    /// Returns what a check of `key` would see now, without charging it: a check of cost 0.
    ///
    /// A peek does not find out whether a full table has room for a new key. Under
    /// [`WhenFull::Deny`](crate::WhenFull::Deny) a peek may report remaining units for a key that a check then denies.
    #[inline]
    pub fn peek(&self, key: impl AsRef<[u8]>) -> Decision {
        self.check_n(key, 0)
    }

    /// Decides a [`Request`]: one value with the key, the cost, the time and the options.
    ///
    /// If a full table has no room for a new key, a [charge](Request::charge) of it does nothing under
    /// [`WhenFull::Deny`](crate::WhenFull::Deny) and [`WhenFull::Allow`](crate::WhenFull::Allow). Under `Deny` its decision
    /// is a denial; that of a peek, or of a charge of 0, is not.
    ///
    /// ```
    /// use ratecell::{Limiter, Policy, Request};
    /// use std::time::Duration;
    ///
    /// let policy: Policy = "leaky_queue 1/s queue=9".parse()?;
    /// let limiter = Limiter::builder(policy).max_keys(1_000).build()?;
    /// let request = Request::new("user:42").at(0).within(Duration::from_millis(1_500));
    /// assert_eq!(limiter.decide(request).delay(), Duration::ZERO);
    /// assert_eq!(limiter.decide(request).delay(), Duration::from_secs(1));
    /// let refused = limiter.decide(request);
    /// assert_eq!(refused.retry_after(), Some(Duration::from_millis(500)));
    /// assert_eq!(refused.delay(), Duration::from_secs(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn decide(&self, request: Request<'_>) -> Decision {
        let h = self.hash(&request);
        let now = match request.now_ns() {
            Some(now) => now,
            None => {
                // Under way while the clock is read, which would hold it up.
                self.prefetch(h);
                self.clock.now()
            }
        };
        self.decide_at(h, now, &request)
    }

    /// The hash that identifies a key.
    #[inline(always)]
    pub(crate) fn hash(&self, request: &Request<'_>) -> u64 {
        match request.key() {
            Key::Bytes(key) => self.secret.hash(key),
            Key::Hash(hash) => spread(hash),
        }
    }

    /// Asks for the cache lines that a check of `h` will need, which are the same in all regimes.
    #[inline(always)]
    fn prefetch(&self, h: u64) {
        match &self.inlined {
            Inlined::Gcra(_, table) | Inlined::Lease(_, table) => table.prefetch(h),
            Inlined::None => self.prefetch_layers(h),
        }
    }

    #[inline(never)]
    fn prefetch_layers(&self, h: u64) {
        self.regimes.first.layers.iter().for_each(|layer| layer.prefetch(h));
    }

    /// Decides at `now`, which is the request's own instant or was read from the clock before.
    #[inline(always)]
    fn decide_at(&self, h: u64, now: u64, request: &Request<'_>) -> Decision {
        if !request.is_plain() {
            // A copy, so that the request of the path below needs no memory.
            let apart = *request;
            return self.decide_apart(h, now, &apart);
        }
        // A known key under the commonest policy by far is decided in the caller, and so is one whose lease is there.
        // There is one call beside each: of two, the compiler would have both write to the memory of the answer.
        let cost = request.units();
        let known = self.inlined.try_hit(h, now, cost, request.now_ns().is_some());
        match known {
            Ok(decision) => decision,
            Err(lookup) if self.late == Late::Here => {
                self.decide_late(h, now, cost, lookup, request.now_ns()).by_field()
            }
            Err(lookup) => {
                // The hash is not needed any more: so nobody keeps it until here.
                let apart = request.without_hash();
                self.decide_aside(h, now, lookup, &apart).by_field()
            }
        }
    }

    /// Decides a plain request that the inlined path did not.
    #[inline(never)]
    fn decide_late(&self, h: u64, now: u64, cost: u32, lookup: Lookup, given: Option<u64>) -> Decision {
        if self.regimes.is_first_in_force() {
            let decision = self.regimes.first.layers.decide_cost(h, now, cost, lookup);
            if !decision.is_superseded() {
                return decision;
            }
        }
        let request = Request::default().cost(cost);
        self.in_force(now, given, |regime, now| regime.decide(h, now, &request))
    }

    /// Decides a request that is not plain.
    #[cold]
    #[inline(never)]
    fn decide_apart(&self, h: u64, now: u64, request: &Request<'_>) -> Decision {
        let decision = match &self.remote {
            None => self.decide_changed(h, now, request),
            Some(remote) if request.is_charge() => self.charge_leased(remote, h, request),
            Some(remote) => match self.decide_held_apart(h, request) {
                asked if asked.outcome() == Outcome::Asked => self.ask(remote, h, request),
                decision => decision,
            },
        };
        self.note(h, request, &decision);
        decision
    }

    /// Decides by whatever policy is in force.
    #[cold]
    #[inline(never)]
    fn decide_changed(&self, h: u64, now: u64, request: &Request<'_>) -> Decision {
        self.in_force(now, request.now_ns(), |regime, now| regime.decide(h, now, request))
    }

    /// Decides by the policy in force at `now`, the request's own instant or one that was read before. If the policy is changed
    /// meanwhile, the next one decides, by the clock anew.
    ///
    /// Where a region's record of its policy cannot be read, nobody knows what its words mean, and nothing is allowed.
    fn in_force(
        &self,
        mut now: u64,
        given: Option<u64>,
        mut decide: impl FnMut(&Regime, u64) -> Decision,
    ) -> Decision {
        loop {
            let Ok(regime) = self.regimes.reigning() else {
                return Decision::allowed(self.regimes.first.policy.capacity()).never();
            };
            let decision = decide(&regime, now);
            if !decision.is_superseded() {
                return decision;
            }
            now = given.unwrap_or_else(|| self.clock.now());
        }
    }

    /// Resets `key` to the state of a key never seen. Returns whether there was anything to forget. Charges of the key on
    /// a cell shared under [`WhenFull::Share`](crate::WhenFull::Share) stay.
    ///
    /// A limiter that shares its units with other machines forgets what it holds, and has the agent delete the key at the
    /// store, some milliseconds later; without an agent the store does not forget. What other machines hold of it stays with them.
    pub fn forget(&self, key: impl AsRef<[u8]>) -> bool {
        let h = self.hash(&Request::new(&key));
        let held = self.regimes.first.layers.forget(h);
        if let Some(remote) = &self.remote
            && remote.is_connected(self.clock.now())
        {
            remote.board.post(h, FORGET);
        }
        #[cfg(feature = "async")]
        self.waits.changed(self, key.as_ref());
        held
    }

    /// The policy in force: the limiter's own, or what a [change](Self::change) made of it.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.regimes.reigning_or_first().policy)
    }

    /// The time zone of this name, for [requests](Request::zone) to this limiter, whose policy has `tz=caller`: a name of
    /// the time zone database such as `Asia/Tokyo`, `UTC`, or an offset such as `+05:30`. This takes up to a millisecond:
    /// make each zone once.
    ///
    /// # Errors
    /// [`BadZone`](ratecell_core::PolicyErrorKind::BadZone): there is no such zone, or the policy names its zone itself.
    ///
    /// ```
    /// use ratecell::{Limiter, Outcome, Policy, Request};
    ///
    /// let policy: Policy = "calendar_window 3/day tz=caller".parse()?;
    /// let limiter = Limiter::builder(policy).max_keys(1_000).build()?;
    /// let tokyo = limiter.zone("Asia/Tokyo")?;
    /// assert!(limiter.decide(Request::new("user:42").zone(&tokyo)).is_allowed());
    /// let forgotten = limiter.check("user:42");
    /// assert!(forgotten.outcome() == Outcome::Never && forgotten.is_without_zone());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn zone(&self, name: &str) -> Result<Zone, PolicyError> {
        self.policy().zone(name)
    }

    /// What is not as it should be, though the limiter works: its region was made by a version of ratecell with other rules
    /// of the time zones in its policy. Processes with different rules disagree about when some window begins. No unit is
    /// forgotten: a key stays in its window to the end.
    #[must_use]
    pub fn warning(&self) -> Option<&'static str> {
        self.has_other_zone_rules.then_some(
            "the region was made with other rules of the time zones in its policy, so that some windows begin at other times: \
             expected the same version of ratecell in all processes",
        )
    }

    /// Nanoseconds since the [`epoch`](Self::epoch), by the limiter's clock: CLOCK_MONOTONIC, unless it was built with a mock.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now()
    }

    /// The zero of the limiter's own clock: the Monday 00:00 UTC before it was built.
    #[must_use]
    pub fn epoch(&self) -> SystemTime {
        self.clock.epoch()
    }
}
