//! How a limiter is asked for.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(feature = "store")]
use super::agent;
use super::differing::Differing;
use super::generations::{Generations, Own};
use super::regime::{Regime, Regimes};
use super::remote::Member;
use super::states::Layers;
use super::tables::LayerTable;
use super::words::WordTable;
use super::{Limiter, OnFailure, OnMiss, events};
use crate::clock::Clock;
#[cfg(feature = "mock-clock")]
use crate::clock::MockClock;
use crate::error::BuildError;
use crate::table::era::{Era, Lineage};
use crate::table::log::LogTable;
use crate::table::{DEFAULT_MAX_KEYS, Secret, WhenFull};
use ratecell_core::{Generation, Policy};

/// A limiter under construction.
#[derive(Clone, Debug)]
#[must_use = "a builder is not a limiter: call `build`"]
pub struct LimiterBuilder {
    /// `None`: the policy of the region.
    pub(super) policy: Option<Policy>,
    pub(super) max_keys: Option<usize>,
    pub(super) when_full: Option<WhenFull>,
    /// In seconds since 1970.
    epoch: Option<i64>,
    #[cfg(feature = "mock-clock")]
    mock: Option<MockClock>,
    pub(super) on_miss: Option<OnMiss>,
    pub(super) on_failure: Option<OnFailure>,
    /// The store whose machines the region is one of, if it is made so.
    pub(super) member: Option<Member>,
    /// Whether a region in memory that the caller gives counts what is given back.
    pub(super) reservations: bool,
    /// Whether a region names denied keys.
    pub(super) names: bool,
    #[cfg(feature = "store")]
    pub(super) store: Option<ratecell_sync::Named>,
    pub(super) policy_version: Option<u64>,
    pub(super) differing: Differing,
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

    /// For memory that the caller gives: makes room for what is given back, 8 bytes for each 5 keys and layer, so that
    /// [`Limiter::reserve`] works with every policy. Without it, it works with windows, logs and `in_flight` alone. The limiter
    /// of this process and the files of [`open`](Self::open) always have that room; a page of it takes memory once something
    /// was given back.
    pub fn reservations(mut self) -> Self {
        self.reservations = true;
        self
    }

    /// For a region: whether it keeps the names of denied keys, and how often they were denied, for
    /// [`Region::denied_keys`](crate::Region::denied_keys) and `ratecell top`; default no. It takes 256 KiB. A denied request then
    /// writes one cache line more, that of its key among those of its thread; an allowed one writes none.
    ///
    /// Whoever may read the region can then read those keys, which may be personal data, such as addresses; and they stay in
    /// the file until others take their places. A key of more than 40 bytes is cut to its first 32, and one that is given by
    /// its hash has no name.
    ///
    /// The maker of a region decides: all its limiters name the keys that they deny, or none does. A limiter that asks for
    /// names attaches to no region without. [`build`](Self::build) refuses them, for nobody could read them.
    pub fn names(mut self, names: bool) -> Self {
        self.names = names;
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

    /// For tests: the limiter's clock, in place of the system's. The limiter's [`epoch`](Limiter::epoch) is the Monday 00:00 UTC
    /// before the clock's time, unless [`epoch`](Self::epoch) sets it. Only [`build`](Self::build) takes a clock: a region has
    /// its own.
    #[cfg(feature = "mock-clock")]
    pub fn clock(mut self, clock: &MockClock) -> Self {
        self.mock = Some(clock.clone());
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
    /// The policy in force is that of the store, if another machine was there first with another rate or capacity, and this
    /// one has no greater [`policy_version`](Self::policy_version); [`Shared::warnings`](crate::Shared::warnings) then says
    /// so. `when_full` cannot be changed: a lease that is evicted loses its units, and
    /// forgives none.
    #[cfg(feature = "store")]
    pub fn shared_by(mut self, store: ratecell_sync::Named) -> Self {
        self.store = Some(store);
        self
    }

    /// For a limiter with a store: the operator's number of this policy; default 0. If it is greater than that of the store's
    /// policy, and the policy is another, the limiter changes the policy for all machines when it is built, as
    /// [`Limiter::change`] does. Otherwise the store's policy is in force, and [`Shared::warnings`](crate::Shared::warnings)
    /// says so. So a machine that restarts with an old configuration changes nothing.
    ///
    /// A limiter without a store refuses to be built with it, and so does one without a policy.
    pub fn policy_version(mut self, version: u64) -> Self {
        self.policy_version = Some(version);
        self
    }

    /// For [`open`](Self::open) and [`attach`](Self::attach): where the region has another policy, that one holds, and this
    /// limiter goes with its changes. The policy of the builder is then for a region that is still to be made.
    pub fn follow(mut self) -> Self {
        self.differing = Differing::Followed;
        self
    }

    /// For [`open`](Self::open) and [`attach`](Self::attach): where the region has another policy, it is changed for all
    /// limiters of the region, as by [`Limiter::change`]. A limiter whose agent talks to a [store](crate::store) has
    /// [`policy_version`](Self::policy_version) for that, and refuses to be built with this.
    pub fn change(mut self) -> Self {
        self.differing = Differing::Changed;
        self
    }

    pub(super) fn of(policy: Policy) -> Self {
        Self { policy: Some(policy), ..Self::nothing() }
    }

    pub(super) fn nothing() -> Self {
        Self {
            policy: None,
            max_keys: None,
            when_full: None,
            epoch: None,
            #[cfg(feature = "mock-clock")]
            mock: None,
            on_miss: None,
            on_failure: None,
            member: None,
            reservations: false,
            names: false,
            #[cfg(feature = "store")]
            store: None,
            policy_version: None,
            differing: Differing::default(),
        }
    }

    /// An error where an epoch or a clock is set, and the limiter has that of its region or store.
    pub(super) fn refuse_time(&self) -> Result<(), BuildError> {
        #[cfg(feature = "mock-clock")]
        if self.mock.is_some() {
            return Err(BuildError::Clock);
        }
        if self.epoch.is_some() { Err(BuildError::Epoch) } else { Ok(()) }
    }

    /// The clock of a limiter of this process alone.
    fn own_clock(&self) -> Clock {
        #[cfg(feature = "mock-clock")]
        if let Some(mock) = &self.mock {
            return Clock::mocked(mock, self.epoch);
        }
        self.epoch.map_or_else(Clock::new, Clock::since)
    }

    /// An error where options are set that only a limiter of many machines has.
    pub(super) fn refuse_sharing(&self) -> Result<(), BuildError> {
        self.refuse_version()?;
        let option = match (self.on_miss, self.on_failure) {
            (Some(_), _) => "on_miss",
            (_, Some(_)) => "on_failure",
            _ => return Ok(()),
        };
        Err(BuildError::NotShared { option })
    }

    /// An error where a limiter without an agent has a number for the store.
    pub(super) fn refuse_version(&self) -> Result<(), BuildError> {
        if self.policy_version.is_none() {
            return Ok(());
        }
        let reason = "policy_version: expected it where the store is: of a file of leases, with its agent";
        Err(BuildError::Shared { reason: reason.to_owned() })
    }

    /// Builds the limiter, with all its memory, for this process alone.
    ///
    /// # Errors
    /// `max_keys` is 0; the memory cannot be allocated; the system has no random bytes for the secret; there is no policy;
    /// or the processor cannot exchange 16 bytes at once ([`BuildError::Processor`]). [`names`](Self::names) are asked for
    /// ([`BuildError::Names`]).
    pub fn build(self) -> Result<Limiter, BuildError> {
        if self.names {
            return Err(BuildError::Names);
        }
        #[cfg(feature = "store")]
        if let Some(store) = self.store.clone() {
            return agent::build(self, &store);
        }
        self.refuse_sharing()?;
        let clock = self.own_clock();
        let (max_keys, when_full) = (self.room(), self.when_full.unwrap_or_default());
        let own = |policy: &Policy| Ok(Own::new(Generation::first(policy.clone()))?);
        let (policy, generations) = self.policy_by(&clock, own)?;
        let lineage = generations.lineage()?;
        let layers = policy.layers().iter().enumerate().map(|(number, layer)| {
            let era = Era::last_of(generations.in_force().clone(), &lineage, number);
            LayerTable::alone(layer.plan(), max_keys, when_full, era)
        });
        let layers = layers.collect::<Result<_, _>>()?;
        Limiter::of_layers(policy, layers, generations, lineage, clock).inspect(events::built)
    }

    /// How many keys have room.
    pub(super) fn room(&self) -> usize {
        self.max_keys.unwrap_or(DEFAULT_MAX_KEYS)
    }

    /// The policy by that clock, which other limiters may have too, and its generations.
    pub(super) fn policy_by(
        self,
        clock: &Clock,
        own: impl FnOnce(&Policy) -> Result<Own, BuildError>,
    ) -> Result<(Policy, Generations), BuildError> {
        let policy = self.policy.ok_or(BuildError::NoPolicy)?.at_epoch(clock.epoch_s())?;
        let generations = Generations::Own(own(&policy)?);
        Ok((policy, generations))
    }
}

impl Limiter {
    /// A limiter by the last generation of `lineage`, of this process alone.
    pub(super) fn of_layers(
        policy: Policy,
        layers: Layers<WordTable, LogTable>,
        generations: Generations,
        lineage: Lineage,
        clock: Clock,
    ) -> Result<Self, BuildError> {
        let secret = Secret::random()?;
        let number = lineage.last().map_or(0, Generation::number);
        let first = Regime { number, policy: Arc::new(policy), layers, lineage };
        Ok(Self::of_regimes(Regimes::new(first, generations), clock, secret))
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
