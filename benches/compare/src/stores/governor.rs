//! The `governor` crate, with its default store and with what its interface lets a caller replace.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::Instant;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::{DashMapStateStore, DefaultHasher};
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use super::{CallerHasher, Limit};
use crate::case::Case;
use crate::workload::{Key, key};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// A clock that the caller sets. It is a thread's own, so that two threads share nothing by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerClock;

impl CallerClock {
    /// Sets the clock `ahead` nanoseconds before the time since the first call.
    fn set(ahead: u64) -> u64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let now = START.elapsed().as_nanos() as u64 + ahead;
        NOW.set(now);
        now
    }
}

impl Clock for CallerClock {
    type Instant = Nanos;

    #[inline]
    fn now(&self) -> Nanos {
        Nanos::new(NOW.get())
    }
}

type ByKey<S, C> = RateLimiter<Key, DashMapStateStore<Key, S>, C, NoOpMiddleware<<C as Clock>::Instant>>;
type ForAll<C> = RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<<C as Clock>::Instant>>;

fn quota(limit: Limit) -> Quota {
    let burst = limit.burst.try_into().expect("a burst above 0");
    Quota::with_period(limit.interval).expect("an interval above 0").allow_burst(burst)
}

/// A limiter with everything as it is by default.
pub(crate) fn limiter(limit: Limit) -> ByKey<DefaultHasher, DefaultClock> {
    RateLimiter::dashmap(quota(limit))
}

/// The keys' limiters, all keys charged once.
#[derive(Debug)]
pub(crate) struct Keyed {
    own_clock: ByKey<DefaultHasher, DefaultClock>,
    caller_clock: ByKey<DefaultHasher, CallerClock>,
    caller_hash: ByKey<CallerHasher, CallerClock>,
}

impl Keyed {
    pub(crate) fn filled(limit: Limit, keys: u32) -> Self {
        CallerClock::set(0);
        let stores = Self {
            own_clock: limiter(limit),
            caller_clock: RateLimiter::dashmap_with_clock(quota(limit), CallerClock),
            caller_hash: RateLimiter::dashmap_with_clock_and_hasher(
                quota(limit),
                CallerClock,
                CallerHasher::default(),
            ),
        };
        for key in (0..keys).map(key) {
            let _ = stores.own_clock.check_key(&key);
            let _ = stores.caller_clock.check_key(&key);
            let _ = stores.caller_hash.check_key(&key);
        }
        stores
    }

    pub(crate) fn own_clock(&self) -> Case<'_> {
        Case::lone(|| 0, |key, _| self.own_clock.check_key(key).is_ok())
    }

    pub(crate) fn caller_clock(&self) -> Case<'_> {
        self.ahead(0)
    }

    /// By a clock that runs `ahead` nanoseconds before the one that the store was filled by.
    pub(crate) fn ahead(&self, ahead: u64) -> Case<'_> {
        Case::lone(move || CallerClock::set(ahead), |key, _| self.caller_clock.check_key(key).is_ok())
    }

    pub(crate) fn caller_hash(&self) -> Case<'_> {
        Case::lone(|| CallerClock::set(0), |key, _| self.caller_hash.check_key(key).is_ok())
    }
}

/// The limiters of everything, charged once.
#[derive(Debug)]
pub(crate) struct Direct {
    own_clock: ForAll<DefaultClock>,
    caller_clock: ForAll<CallerClock>,
}

impl Direct {
    pub(crate) fn charged(limit: Limit) -> Self {
        CallerClock::set(0);
        let limiters = Self {
            own_clock: RateLimiter::direct(quota(limit)),
            caller_clock: RateLimiter::direct_with_clock(quota(limit), CallerClock),
        };
        let _ = limiters.own_clock.check();
        let _ = limiters.caller_clock.check();
        limiters
    }

    pub(crate) fn own_clock(&self) -> Case<'_> {
        Case::lone(|| 0, |_, _| self.own_clock.check().is_ok())
    }

    pub(crate) fn caller_clock(&self) -> Case<'_> {
        Case::lone(|| CallerClock::set(0), |_, _| self.caller_clock.check().is_ok())
    }
}
