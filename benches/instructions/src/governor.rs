//! The same asked of the `governor` crate, with its own clock for callers that set the time.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use governor::clock::FakeRelativeClock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::{Answer, CallerHasher, Case, KEYS, Key, Requests, both, each, key};

fn quota(answer: Answer) -> Quota {
    let (interval, burst) = answer.limit();
    let burst = burst.try_into().expect("a burst above 0");
    Quota::with_period(interval).expect("an interval above 0").allow_burst(burst)
}

type Limiter<S> = RateLimiter<Key, DashMapStateStore<Key, S>, FakeRelativeClock, NoOpMiddleware<Nanos>>;

/// Every key charged once; then its clock is told that a second has passed.
fn limiter<S: BuildHasher + Clone + Default>(answer: Answer) -> Limiter<S> {
    let clock = FakeRelativeClock::default();
    let limiter = RateLimiter::dashmap_with_clock_and_hasher(quota(answer), clock.clone(), S::default());
    for key in (0..KEYS).map(key) {
        let _ = limiter.check_key(&key);
    }
    clock.advance(Duration::from_secs(1));
    limiter
}

fn known<S: BuildHasher + Clone + Default>(answer: Answer, requests: &Requests) -> usize {
    let limiter = limiter::<S>(answer);
    each(&requests.known, |key| limiter.check_key(key).is_ok())
}

fn unseen<S: BuildHasher + Clone + Default>(answer: Answer, requests: &Requests) -> usize {
    let limiter = limiter::<S>(answer);
    each(&requests.unseen, |key| limiter.check_key(key).is_ok())
}

fn direct(answer: Answer, requests: &Requests) -> usize {
    let limiter = RateLimiter::direct_with_clock(quota(answer), FakeRelativeClock::default());
    let _ = limiter.check();
    each(&requests.known, |_| limiter.check().is_ok())
}

pub(crate) fn cases() -> Vec<Case> {
    let pairs = [
        both("governor, caller's hash", known::<CallerHasher>),
        both("governor, own hash", known::<RandomState>),
        both("governor, direct", direct),
    ];
    let new_key = Case {
        name: "governor, caller's hash, new key",
        answer: Some(Answer::Allowed),
        run: unseen::<CallerHasher>,
    };
    pairs.into_iter().flatten().chain([new_key]).collect()
}
