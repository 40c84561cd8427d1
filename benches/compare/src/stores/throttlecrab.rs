//! The `throttlecrab` crate: GCRA with every detail of the decision, for one caller at a time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ::throttlecrab::{PeriodicStore, RateLimiter};

use super::{CallerClock, Limit};
use crate::case::Case;
use crate::workload::{Key, key};

pub(crate) const NAME: &str = "throttlecrab in a Mutex, caller's clock";

/// Behind a lock, for it is asked by `&mut self`. Its store, of the three, is the one that it names as the
/// default; told how many keys will come.
pub(crate) struct Keyed {
    limiter: Mutex<RateLimiter<PeriodicStore>>,
    limit: Limit,
}

impl Keyed {
    pub(crate) fn new(limit: Limit, keys: u32) -> Self {
        let limiter = RateLimiter::new(PeriodicStore::with_capacity(keys as usize));
        // With a burst of 1 it keeps a key for no time at all, and allows every request.
        Self { limiter: Mutex::new(limiter), limit: Limit { burst: limit.burst.max(2), ..limit } }
    }

    /// All keys charged, until each gives the answer of the limit.
    pub(crate) fn filled(limit: Limit, keys: u32) -> Self {
        let store = Self::new(limit, keys);
        let now = CallerClock::set();
        for key in (0..keys).map(key) {
            for _ in 0..if limit.burst == 1 { 2 } else { 1 } {
                let _ = store.check(text(&key), now);
            }
        }
        store
    }

    pub(crate) fn check(&self, key: &str, now: u64) -> bool {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30) + Duration::from_nanos(now);
        let (burst, period) = (i64::from(self.limit.burst), self.limit.interval.as_secs() as i64);
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        limiter.rate_limit(key, burst, 1, period, 1, now).is_ok_and(|(allowed, _)| allowed)
    }

    pub(crate) fn case(&self) -> Case<'_> {
        Case::lone(NAME, CallerClock::set, |key, now| self.check(text(key), now))
    }
}

/// The key as the text that it is, unexamined: another caller has it as a text.
#[inline]
fn text(key: &Key) -> &str {
    debug_assert!(key.is_ascii());
    #[expect(unsafe_code, reason = "only this peer would pay for the examination")]
    // SAFETY: every key is made of letters and colons.
    unsafe {
        std::str::from_utf8_unchecked(key)
    }
}
