//! The `ratelimit` crate: one lock-free token bucket, without keys.

use std::time::Duration;

use ::ratelimit::{Clock, Ratelimiter, StdClock};

use super::{CallerClock, Limit};
use crate::case::Case;

pub(crate) const OWN_CLOCK: &str = "ratelimit, own clock";
pub(crate) const CALLER_CLOCK: &str = "ratelimit, caller's clock";

impl Clock for CallerClock {
    #[inline]
    fn elapsed(&self) -> Duration {
        Duration::from_nanos(Self::read())
    }
}

/// The limiters of everything, charged once. It tells the wait, and nothing when it allows.
pub(crate) struct Direct {
    own_clock: Ratelimiter<StdClock>,
    caller_clock: Ratelimiter<CallerClock>,
}

fn limiter<C: Clock>(limit: Limit, clock: C) -> Ratelimiter<C> {
    // Full, as the others begin.
    let burst = u64::from(limit.burst);
    let builder = ::ratelimit::Builder::with_clock(1, clock).period(limit.interval);
    builder.max_tokens(burst).initial_available(burst).build().expect("a burst above 0")
}

impl Direct {
    pub(crate) fn charged(limit: Limit) -> Self {
        CallerClock::set();
        let limiters =
            Self { own_clock: limiter(limit, StdClock::new()), caller_clock: limiter(limit, CallerClock) };
        let _ = (limiters.own_clock.try_wait(), limiters.caller_clock.try_wait());
        limiters
    }

    pub(crate) fn own_clock(&self) -> Case<'_> {
        Case::lone(OWN_CLOCK, || 0, |_, _| self.own_clock.try_wait().is_ok())
    }

    pub(crate) fn caller_clock(&self) -> Case<'_> {
        Case::lone(CALLER_CLOCK, CallerClock::set, |_, _| self.caller_clock.try_wait().is_ok())
    }
}
