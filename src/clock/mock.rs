//! A clock that stands still until it is advanced, for the tests of programs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Monday, 2024-01-01 00:00 UTC.
const START_NS: u64 = 1_704_067_200 * super::NS_PER_SECOND;

/// A clock for tests: it stands still until it is [advanced](Self::advance) by hand. Clones are one clock, which any number
/// of limiters and threads may share.
///
/// Give it to a builder, as in [`LimiterBuilder::clock`](crate::LimiterBuilder::clock). Everything that the limiter reads off its
/// own clock is then told by this one: checks, guards, statistics, and, with the feature `async`, how long
/// [`Limiter::acquire`](crate::Limiter::acquire) waits. Advancing it wakes the futures that wait.
///
/// ```
/// use ratecell::{Limiter, MockClock, Policy};
/// use std::time::Duration;
///
/// let clock = MockClock::new();
/// let limiter = Limiter::builder("2/m".parse::<Policy>()?).clock(&clock).build()?;
/// assert!(limiter.check_n("user:42", 2).is_allowed());
/// assert_eq!(limiter.check("user:42").retry_after(), Some(Duration::from_secs(30)));
/// clock.advance(Duration::from_secs(30) - Duration::from_nanos(1));
/// assert!(!limiter.check("user:42").is_allowed());
/// clock.advance(Duration::from_nanos(1));
/// assert!(limiter.check("user:42").is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The feature `mock-clock` has it. Enable it for tests alone, in `[dev-dependencies]`: with it each check asks which clock it
/// is of.
#[derive(Clone, Debug)]
pub struct MockClock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Nanoseconds since 1970. It is changed under the lock alone.
    now_ns: AtomicU64,
    /// Of the futures that wait for an advance.
    wakers: Mutex<Vec<Waker>>,
}

/// A clock at 2024-01-01 00:00 UTC.
impl Default for MockClock {
    fn default() -> Self {
        Self::new()
    }
}

impl MockClock {
    /// A clock at 2024-01-01 00:00 UTC, a Monday. So the [`now_ns`](crate::Limiter::now_ns) of a limiter built with it is 0, and
    /// its windows begin there.
    #[must_use]
    pub fn new() -> Self {
        Self::of(START_NS)
    }

    /// A clock at `time`; at 1970 if it is before that, and at most 2^64 ns later.
    #[must_use]
    pub fn starting_at(time: SystemTime) -> Self {
        Self::of(time.duration_since(UNIX_EPOCH).map_or(0, ns))
    }

    fn of(now_ns: u64) -> Self {
        Self(Arc::new(Inner { now_ns: AtomicU64::new(now_ns), wakers: Mutex::default() }))
    }

    /// Advances the clock, for all that share it. It stops at 2^64 ns after 1970, in 2554.
    pub fn advance(&self, by: Duration) {
        let mut wakers = self.wakers();
        let later = self.now_unix_ns().saturating_add(ns(by));
        // Relaxed: whoever is to see the advance learns of it otherwise, as by a waker.
        self.0.now_ns.store(later, Ordering::Relaxed);
        let woken = core::mem::take(&mut *wakers);
        drop(wakers);
        // Outside of the lock: a waker may poll at once.
        woken.into_iter().for_each(Waker::wake);
    }

    /// What the clock tells.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.now_unix_ns())
    }

    pub(super) fn now_unix_ns(&self) -> u64 {
        // Relaxed: one word, by which no other memory is read.
        self.0.now_ns.load(Ordering::Relaxed)
    }

    /// Ready if `is_due`; otherwise the task is woken by the next advance.
    #[cfg_attr(not(feature = "async"), expect(dead_code, reason = "futures wait by it"))]
    pub(super) fn poll(&self, context: &Context<'_>, is_due: impl Fn() -> bool) -> Poll<()> {
        let own = context.waker().clone();
        // Under the lock no advance comes between the look and the waker's place.
        let mut wakers = self.wakers();
        if is_due() {
            return Poll::Ready(());
        }
        if !wakers.iter().any(|waker| waker.will_wake(&own)) {
            wakers.push(own);
        }
        Poll::Pending
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        // What is done under the lock leaves no half of it.
        self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
