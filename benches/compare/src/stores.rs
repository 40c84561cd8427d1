//! What is compared: each store filled with the same keys under the same limit.
//!
//! A store's functions make its cases; each is a row of the tables, by the name that is given here.

use std::cell::Cell;
use std::hash::BuildHasher;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::workload::Key;

pub(crate) mod floor;
pub(crate) mod governor;
pub(crate) mod maps;
pub(crate) mod pingora;
pub(crate) mod ratecell;
pub(crate) mod ratelimit;
pub(crate) mod throttlecrab;

/// The hash that a caller brings: the fastest that any of the stores is commonly given. It is keyed the same in
/// every process, so that each run finds every key where the last one did.
pub(crate) type CallerHasher = foldhash::fast::FixedState;

#[inline]
pub(crate) fn caller_hash(hasher: &CallerHasher, key: &Key) -> u64 {
    hasher.hash_one(key)
}

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// A clock that the caller sets, for peers that read one through a trait. It is a thread's own, so that two
/// threads share nothing by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerClock;

impl CallerClock {
    /// Sets the clock to the nanoseconds since the first call, and says them.
    pub(crate) fn set() -> u64 {
        Self::set_ahead(0)
    }

    /// The same with `ahead` nanoseconds more.
    pub(crate) fn set_ahead(ahead: u64) -> u64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let now = START.elapsed().as_nanos() as u64 + ahead;
        NOW.set(now);
        now
    }

    #[inline]
    pub(crate) fn read() -> u64 {
        NOW.get()
    }
}

/// What is to be measured: requests that all pass, or requests that are all refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Allowed,
    Denied,
}

impl Answer {
    pub(crate) const BOTH: [Self; 2] = [Self::Allowed, Self::Denied];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
        }
    }

    /// The limit by which every key that was charged once gives this answer.
    ///
    /// A unit takes long enough to come back that no key is refilled, or as good as new, while it is
    /// measured. The burst is large enough that the busiest is not exhausted, and in time still an `i64` of
    /// nanoseconds, which some stores need.
    pub(crate) fn of_keys(self) -> Limit {
        match self {
            Self::Allowed => Limit { interval: Duration::from_secs(300), burst: 25_000_000 },
            Self::Denied => Limit { interval: Duration::from_secs(600), burst: 1 },
        }
    }

    /// The same for a limit that all requests share.
    pub(crate) fn of_all(self) -> Limit {
        match self {
            Self::Allowed => Limit { interval: Duration::from_nanos(1), burst: 1_000_000_000 },
            Self::Denied => self.of_keys(),
        }
    }
}

/// One unit each `interval`, at most `burst` at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) interval: Duration,
    pub(crate) burst: u32,
}
