//! The limiter: policy layers, a table for each, a clock.

use core::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::clock::Clock;
use crate::error::BuildError;
use crate::table::log::LogTable;
use crate::table::{DEFAULT_MAX_KEYS, Extent, Lookup, Secret, Stats, Table, WhenFull, spread};
use ratecell_core::algorithm::Kernel;
use ratecell_core::{Decision, Key, Outcome, Policy, Request};

#[cfg(feature = "async")]
mod acquire;
#[cfg(feature = "store")]
mod agent;
mod batch;
mod direct;
pub(crate) mod joint;
pub(crate) mod layers;
mod leased;
mod line;
#[cfg(not(ratecell_model))]
mod reader;
#[cfg(not(ratecell_model))]
mod regions;
mod remote;
mod states;
mod tables;

#[cfg(feature = "async")]
pub use acquire::{Acquire, AcquireError};
pub use direct::DirectLimiter;
pub use joint::Claim;
pub use line::{Line, Turn, WaitEnd};
#[cfg(not(ratecell_model))]
pub use reader::Region;
use remote::{FORGET, Member, Remote};
pub use remote::{OnFailure, OnMiss, Shared};
use states::Layers;
use tables::LayerTable;

/// A rate limiter for any number of keys: decides whether a request may go now.
///
/// All memory is allocated at construction. A check never allocates, never blocks and never fails, with two exceptions.
/// `sliding_log` allocates its entries and locks briefly. A limiter that shares its units with other machines waits for
/// the store where it holds no lease of the key, for at most [`OnMiss::Wait`]; with [`OnMiss::Deny`], or a request
/// [without waiting](Request::without_waiting), it never does. Any number of threads may share a limiter, by reference or
/// in an `Arc`.
///
/// Keys are bytes and are not stored. A key is identified by its bucket, of which there are `max_keys` / 5, and by 40
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
    policy: Policy,
    layers: Layers<Table, LogTable>,
    clock: Clock,
    /// Whether its region was made with other rules of the zones in its policy.
    has_other_zone_rules: bool,
    secret: Secret,
    /// What the store of many machines is asked by, if the units are those of many machines: then the tables hold leases.
    remote: Option<Box<Remote>>,
    /// The futures that wait for it.
    #[cfg(feature = "async")]
    waits: acquire::Waits,
}

/// A limiter under construction.
#[derive(Clone, Debug)]
#[must_use = "a builder is not a limiter: call `build`"]
pub struct LimiterBuilder {
    /// `None`: the policy of the region.
    policy: Option<Policy>,
    max_keys: Option<usize>,
    when_full: Option<WhenFull>,
    /// In seconds since 1970.
    epoch: Option<i64>,
    on_miss: Option<OnMiss>,
    on_failure: Option<OnFailure>,
    /// The store whose machines the region is one of, if it is made so.
    member: Option<Member>,
    #[cfg(feature = "store")]
    store: Option<ratecell_sync::Named>,
}

impl LimiterBuilder {
    /// The number of keys that have room at the same time, at least 1; default 100,000. With exactly this many keys,
    /// about 6 in 100,000 find no room. Up to two fifths more keys fit, but a larger part of them finds no room.
    ///
    /// The memory is about 26 bytes for each key and layer, allocated at construction. A `sliding_log` needs about 100
    /// bytes, and 8 more for each unit that it has room for, allocated when a key needs them.
    pub fn max_keys(mut self, max_keys: usize) -> Self {
        self.max_keys = Some(max_keys);
        self
    }

    /// How to decide a new key when the table has no room for it; default [`WhenFull::Evict`].
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = Some(when_full);
        self
    }

    /// The zero of the limiter's times, in whole seconds; default the Monday 00:00 UTC before it is built. For those who
    /// give every request its time, such as that of a record in a log, and know the civil time of their zero. A
    /// `calendar_window` is counted from it, and aligned windows are aligned to it.
    ///
    /// Only [`build`](Self::build) takes an epoch: a region has its own.
    pub fn epoch(mut self, epoch: SystemTime) -> Self {
        self.epoch = Some(seconds_since_1970(epoch));
        self
    }

    /// For a limiter that shares its units with other machines: what a check does if no lease of this machine answers it.
    /// Any other limiter refuses to be built with it.
    pub fn on_miss(mut self, on_miss: OnMiss) -> Self {
        self.on_miss = Some(on_miss);
        self
    }

    /// For a limiter that shares its units with other machines: what a check does if no lease answers it, and the store is
    /// away. Any other limiter refuses to be built with it.
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = Some(on_failure);
        self
    }

    /// Shares the limit with all machines that have the same store and name: see [`crate::store`]. The agent that talks to
    /// the store is a thread of this process, which ends with the limiter.
    ///
    /// The policy in force is that of the store, if another machine was there first with another rate or capacity;
    /// [`Shared::warnings`] then says so. `when_full` cannot be changed: a lease that is evicted loses its units, and
    /// forgives none.
    #[cfg(feature = "store")]
    pub fn shared_by(mut self, store: ratecell_sync::Named) -> Self {
        self.store = Some(store);
        self
    }

    fn nothing() -> Self {
        Self {
            policy: None,
            max_keys: None,
            when_full: None,
            epoch: None,
            on_miss: None,
            on_failure: None,
            member: None,
            #[cfg(feature = "store")]
            store: None,
        }
    }

    /// An error where an epoch is set, and the limiter has that of its region or store.
    fn refuse_epoch(&self) -> Result<(), BuildError> {
        if self.epoch.is_some() { Err(BuildError::Epoch) } else { Ok(()) }
    }

    /// An error where options are set that only a limiter of many machines has.
    fn refuse_sharing(&self) -> Result<(), BuildError> {
        let option = match (self.on_miss, self.on_failure) {
            (Some(_), _) => "on_miss",
            (_, Some(_)) => "on_failure",
            _ => return Ok(()),
        };
        Err(BuildError::NotShared { option })
    }

    /// Builds the limiter, with all its memory, for this process alone.
    ///
    /// # Errors
    /// `max_keys` is 0; the memory cannot be allocated; the system has no random bytes for the secret; there is no policy;
    /// or the processor cannot exchange 16 bytes at once ([`BuildError::Processor`]).
    pub fn build(self) -> Result<Limiter, BuildError> {
        #[cfg(feature = "store")]
        if let Some(store) = self.store.clone() {
            return agent::build(self, &store);
        }
        self.refuse_sharing()?;
        let clock = self.epoch.map_or_else(Clock::new, Clock::since);
        self.build_by(clock)
    }

    /// Builds the limiter for this process alone, with that clock, which other limiters may have too.
    pub(crate) fn build_by(self, clock: Clock) -> Result<Limiter, BuildError> {
        let policy = self.policy.ok_or(BuildError::NoPolicy)?.at_epoch(clock.epoch_s())?;
        let max_keys = self.max_keys.unwrap_or(DEFAULT_MAX_KEYS);
        let (when_full, secret) = (self.when_full.unwrap_or_default(), Secret::random()?);
        let layers = policy.layers().iter();
        let layers = layers.map(|layer| LayerTable::alone(layer.plan(), max_keys, when_full));
        let layers = layers.collect::<Result<_, _>>()?;
        Ok(Limiter {
            layers,
            policy,
            clock,
            has_other_zone_rules: false,
            secret,
            remote: None,
            #[cfg(feature = "async")]
            waits: Default::default(),
        })
    }
}

/// Whole seconds from 1970 to `time`, or before it.
pub(crate) fn seconds_since_1970(time: SystemTime) -> i64 {
    let since = |earlier: Duration| i64::try_from(earlier.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => since(after),
        Err(before) => -since(before.duration()),
    }
}

impl fmt::Debug for Limiter {
    /// Prints the policy, and neither keys nor secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Limiter {
    /// Begins a limiter of `policy`.
    pub fn builder(policy: Policy) -> LimiterBuilder {
        LimiterBuilder { policy: Some(policy), ..LimiterBuilder::nothing() }
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
    /// A peek does not find out whether a full table has room for a new key. Under [`WhenFull::Deny`] a peek may report
    /// remaining units for a key that a check then denies.
    #[inline]
    pub fn peek(&self, key: impl AsRef<[u8]>) -> Decision {
        self.check_n(key, 0)
    }

    /// Decides a [`Request`]: one value with the key, the cost, the time and the options.
    ///
    /// If a full table has no room for a new key, a [charge](Request::charge) of it does nothing under
    /// [`WhenFull::Deny`] and [`WhenFull::Allow`]. Under `Deny` its decision is a denial; that of a peek, or of a charge
    /// of 0, is not.
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

    /// Asks for the cache lines that a check of `h` will need.
    #[inline(always)]
    fn prefetch(&self, h: u64) {
        match &self.layers {
            Layers::One(layer) => layer.prefetch(h),
            Layers::Several(layers) => layers.iter().for_each(|layer| layer.prefetch(h)),
        }
    }

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
        let known = if let Layers::One(LayerTable::Words(Kernel::Gcra(gcra), table)) = &self.layers {
            table.try_hit(gcra, h, now, cost)
        } else if let Layers::One(LayerTable::Words(Kernel::Lease(lease), table)) = &self.layers
            && request.now_ns().is_none()
        {
            table.try_hit(lease, h, now, cost).and_then(|decision| match decision.outcome() {
                Outcome::Asked => Err(Lookup::NotYet),
                _ => Ok(decision),
            })
        } else {
            Err(Lookup::NotYet)
        };
        match known {
            Ok(decision) => decision,
            Err(lookup) if self.remote.is_none() => self.layers.decide_cost(h, now, cost, lookup).by_field(),
            Err(_) => {
                let (is_try, is_given) = (request.is_without_waiting(), request.now_ns().is_some());
                self.decide_leased(h, now, cost, is_try, is_given).by_field()
            }
        }
    }

    /// Decides a request that is not plain.
    #[cold]
    #[inline(never)]
    fn decide_apart(&self, h: u64, now: u64, request: &Request<'_>) -> Decision {
        match &self.remote {
            None => self.layers.decide_apart(h, now, request),
            Some(remote) if request.is_charge() => self.charge_leased(remote, h, request),
            Some(remote) => match self.layers.decide_apart(h, self.clock.now(), request) {
                asked if asked.outcome() == Outcome::Asked => self.ask(remote, h, request),
                decision => decision,
            },
        }
    }

    /// Resets `key` to the state of a key never seen. Returns whether there was anything to forget. Charges of the key on
    /// a cell shared under [`WhenFull::Share`] stay.
    ///
    /// A limiter that shares its units with other machines forgets what it holds, and has the agent delete the key at the
    /// store, some milliseconds later; without an agent the store does not forget. What other machines hold of it stays with them.
    pub fn forget(&self, key: impl AsRef<[u8]>) -> bool {
        let h = self.hash(&Request::new(&key));
        let held = self.layers.forget(h);
        if let Some(remote) = &self.remote
            && remote.is_connected(self.clock.now())
        {
            remote.board.post(h, FORGET);
        }
        #[cfg(feature = "async")]
        self.waits.changed(self, key.as_ref());
        held
    }

    /// Returns the number of live keys, the memory, and the counts of events.
    ///
    /// Above 163,840 keys, the number of live keys is an estimate, from the same 4 MiB of each layer each time, and
    /// [`Stats::live_error`] bounds its error. No other memory is read. A `sliding_log` is always counted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats_at(self.clock.now())
    }

    /// [`stats`](Self::stats) at `now_ns`.
    #[must_use]
    pub fn stats_at(&self, now_ns: u64) -> Stats {
        self.survey(now_ns, Extent::Sample)
    }

    /// [`stats`](Self::stats) with every key counted. This reads the whole table: it takes tens of milliseconds for ten
    /// million keys, and makes all memory of a region resident.
    #[must_use]
    pub fn stats_exact(&self) -> Stats {
        self.stats_exact_at(self.clock.now())
    }

    /// [`stats_exact`](Self::stats_exact) at `now_ns`.
    #[must_use]
    pub fn stats_exact_at(&self, now_ns: u64) -> Stats {
        self.survey(now_ns, Extent::All)
    }

    fn survey(&self, now_ns: u64, extent: Extent) -> Stats {
        self.layers.iter().fold(Stats::default(), |sum, layer| sum.with(layer.stats(now_ns, extent)))
    }

    /// The limiter's policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
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

    /// Nanoseconds since the [`epoch`](Self::epoch), by the limiter's clock: CLOCK_MONOTONIC.
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
