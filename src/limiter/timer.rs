//! What a future sleeps by: a timer of the system or, where the limiter's clock is a mock, that clock.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::time::Duration;

use futures_timer::Delay;

use super::Limiter;
use crate::clock::Clock;

/// A timer until an instant of a limiter's clock.
pub(super) struct Timer {
    until: u64,
    /// `None` where the clock is a mock, which wakes by itself.
    delay: Option<Delay>,
}

impl Timer {
    pub(super) fn new(clock: &Clock, now_ns: u64, until: u64) -> Self {
        let delay = || Delay::new(Duration::from_nanos(until.saturating_sub(now_ns)));
        Self { until, delay: (!clock.is_mock()).then(delay) }
    }

    /// The instant, in nanoseconds.
    pub(super) fn until(&self) -> u64 {
        self.until
    }

    /// Whether it has run out. The system's timer has another clock: by the limiter's the instant may then be some nanoseconds
    /// later.
    pub(super) fn poll(&mut self, clock: &Clock, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.delay {
            Some(delay) => Pin::new(delay).poll(context),
            None => clock.poll_mock(context, self.until),
        }
    }
}

impl Limiter {
    /// Sleeps for so long by the limiter's clock, in any runtime: for a request that is allowed with a
    /// [`delay`](ratecell_core::Decision::delay).
    ///
    /// ```
    /// # use ratecell::{Limiter, Policy};
    /// # futures::executor::block_on(async {
    /// let limiter = Limiter::builder("leaky_queue 1000/s queue=9".parse::<Policy>()?).build()?;
    /// for _ in 0..3 {
    ///     let decision = limiter.check("user:42");
    ///     assert!(decision.is_allowed());
    ///     limiter.sleep(decision.delay()).await;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn sleep(&self, delay: Duration) -> Sleep {
        Sleep::new(&self.clock, delay)
    }
}

/// The future that [`Limiter::sleep`] returns.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    clock: Clock,
    timer: Timer,
}

impl Sleep {
    pub(crate) fn new(clock: &Clock, delay: Duration) -> Self {
        let now_ns = clock.now();
        let until = now_ns.saturating_add(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX));
        Self { clock: clock.clone(), timer: Timer::new(clock, now_ns, until) }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { clock, timer } = self.get_mut();
        timer.poll(clock, context)
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").finish_non_exhaustive()
    }
}
