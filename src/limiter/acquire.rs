//! Waiting in a future, in any runtime.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Limiter;
use super::line::{Line, Turn, WaitEnd};
use super::timer::Timer;
use ratecell_core::Decision;
use ratecell_core::waiting::{Parameters, WaitOutcome};

/// A limiter's line, with the wakers of its futures. It exists from the first wait on.
#[derive(Default)]
pub(super) struct Waits(Mutex<Option<Awaited>>);

struct Awaited {
    line: Line,
    wakers: HashMap<u64, Waker>,
}

impl Waits {
    fn lock(&self) -> MutexGuard<'_, Option<Awaited>> {
        // A panic under the lock would be a bug, and leaves no waiter half registered.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `act` on the line, and then wakes the futures whose turn has come. It wakes them after the lock is released,
    /// because a waker may take the lock.
    fn with<T>(&self, limiter: &Limiter, act: impl FnOnce(&mut Awaited, u64) -> T) -> T {
        let mut guard = self.lock();
        let awaited = guard.get_or_insert_with(|| Awaited {
            line: Line::new(Parameters::of(&limiter.policy())),
            wakers: HashMap::new(),
        });
        awaited.line.follow(limiter);
        let done = act(awaited, limiter.now_ns());
        let mut woken = Vec::new();
        while let Some(id) = awaited.line.woken() {
            // It leaves another when it is polled.
            woken.extend(awaited.wakers.remove(&id));
        }
        drop(guard);
        woken.into_iter().for_each(Waker::wake);
        done
    }

    /// Has the futures ask by the policy in force.
    pub(super) fn policy_changed(&self, limiter: &Limiter) {
        if self.lock().is_some() {
            self.with(limiter, |_, _| ());
        }
    }

    /// Asks again for the first waiter of a key whose units came back.
    pub(super) fn changed(&self, limiter: &Limiter, key: &[u8]) {
        if self.lock().as_ref().is_some_and(|awaited| !awaited.line.is_empty()) {
            self.with(limiter, |awaited, now_ns| awaited.line.changed(now_ns, key));
        }
    }
}

impl Limiter {
    /// Waits until `key` is allowed, and charges it. By default it waits for one unit, as long as it takes;
    /// [`Acquire::cost`] and [`Acquire::within`] change that.
    ///
    /// Futures that wait for one key of one limiter are served in the order in which they were first polled, whatever
    /// their costs and deadlines. Only the first of them asks, and no later one takes its units. A future that cannot go
    /// in time, as long as those before it stay, is refused at once. Nobody else stands in that line: other processes,
    /// limiters made by [`with_policy`](Self::with_policy), and the other calls of this limiter take units as soon as
    /// they find them.
    ///
    /// Under a `leaky_queue` the future takes a place in the queue as soon as there is one from which it goes in time. It
    /// is ready when it leaves the queue, so the decision's [`delay`](Decision::delay) is over then.
    ///
    /// It names no zone: of a limiter whose policy has `tz=caller` the future is refused at once, as one that can never go.
    ///
    /// The future runs in any runtime. It may be dropped at any time, and the next in line goes on. A dropped future was
    /// charged nothing, unless it has its place in a `leaky_queue`: the last place is given back, and one with others behind
    /// it stays charged. A future that is neither polled nor dropped holds up those behind it. Under a policy with `in_flight`
    /// it gives no permit to release: that comes back by itself, after its hold.
    ///
    /// ```
    /// # use ratecell::{Limiter, Policy};
    /// # use std::time::Duration;
    /// # futures::executor::block_on(async {
    /// let limiter = Limiter::builder("100/s burst=1".parse::<Policy>()?).build()?;
    /// for _ in 0..3 {
    ///     limiter.acquire("user:42").within(Duration::from_secs(5)).await?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn acquire<K: AsRef<[u8]>>(&self, key: K) -> Acquire<'_, K> {
        Acquire { limiter: self, key, cost: 1, within: None, state: State::New }
    }
}

/// The future that [`Limiter::acquire`] returns. It stands in line from its first poll on.
///
/// # Errors
/// Its output is the [`Decision`] that allowed it, or an [`AcquireError`]. After an error nothing was charged.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Acquire<'l, K> {
    limiter: &'l Limiter,
    key: K,
    cost: u32,
    within: Option<Duration>,
    state: State,
}

enum State {
    New,
    Waiting { id: u64, timer: Option<Timer> },
    Ended,
}

impl<K> Acquire<'_, K> {
    /// Waits for `cost` units, all at once; default 1. A future with a cost of 0 goes at once, and its decision is that of
    /// a peek.
    pub fn cost(mut self, cost: u32) -> Self {
        self.cost = cost;
        self
    }

    /// Waits for at most `within` from its first poll on; default: as long as it takes. Zero is one try, if nobody stands
    /// in line.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = Some(within);
        self
    }

    fn ended(&self, end: WaitEnd, now_ns: u64) -> Result<Decision, AcquireError>
    where
        K: AsRef<[u8]>,
    {
        match end.outcome {
            WaitOutcome::Go => {
                Ok(end.decision.unwrap_or_else(|| self.limiter.check_at(&self.key, 0, now_ns)))
            }
            outcome => {
                let after = end.at.and_then(|at| at.checked_sub(now_ns)).map(Duration::from_nanos);
                Err(AcquireError { outcome, after, decision: end.decision })
            }
        }
    }
}

impl<K: AsRef<[u8]> + Unpin> Future for Acquire<'_, K> {
    type Output = Result<Decision, AcquireError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let limiter = this.limiter;
        let waits = &limiter.waits;
        loop {
            let id = match &this.state {
                State::Waiting { id, .. } => Some(*id),
                State::New => None,
                State::Ended => {
                    let outcome = WaitOutcome::Cancelled;
                    return Poll::Ready(Err(AcquireError { outcome, after: None, decision: None }));
                }
            };
            // The caller's code runs outside of the lock: `as_ref` of the key, the clone of a waker, and its drop, which
            // may drop the last reference to a task that also waits here.
            let (key, own) = (this.key.as_ref(), context.waker().clone());
            let (id, turn, now_ns, waker) = waits.with(limiter, |awaited, now_ns| {
                let id = id.unwrap_or_else(|| {
                    let within_ns =
                        this.within.map(|within| u64::try_from(within.as_nanos()).unwrap_or(u64::MAX));
                    let deadline = within_ns.map(|within_ns| now_ns.saturating_add(within_ns));
                    awaited.line.arrive(now_ns, key, this.cost, deadline)
                });
                let turn = awaited.line.turn(limiter, now_ns, id);
                let waker = match turn {
                    Turn::Sleep { .. } => [awaited.wakers.insert(id, own), None],
                    Turn::End(_) => [awaited.wakers.remove(&id), Some(own)],
                };
                (id, turn, now_ns, waker)
            });
            drop(waker);
            let until = match turn {
                Turn::End(end) => {
                    this.state = State::Ended;
                    return Poll::Ready(this.ended(end, now_ns));
                }
                Turn::Sleep { until } => until,
            };
            if let State::New = this.state {
                this.state = State::Waiting { id, timer: None };
            }
            let State::Waiting { timer, .. } = &mut this.state else { return Poll::Pending };
            if timer.as_ref().map(Timer::until) != until {
                *timer = until.map(|until| Timer::new(&limiter.clock, now_ns, until));
            }
            let Some(armed) = timer else { return Poll::Pending };
            if armed.poll(&limiter.clock, context).is_pending() {
                return Poll::Pending;
            }
            *timer = None;
        }
    }
}

impl<K> Drop for Acquire<'_, K> {
    fn drop(&mut self) {
        if let State::Waiting { id, .. } = self.state {
            let waker = self.limiter.waits.with(self.limiter, |awaited, now_ns| {
                awaited.line.leave_by(self.limiter, now_ns, id, || self.limiter.clock.latest());
                awaited.wakers.remove(&id)
            });
            drop(waker);
        }
    }
}

impl<K> fmt::Debug for Acquire<'_, K> {
    /// Prints cost and deadline, and not the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire")
            .field("cost", &self.cost)
            .field("within", &self.within)
            .finish_non_exhaustive()
    }
}

/// Why an [`Acquire`] was not allowed. Nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquireError {
    outcome: WaitOutcome,
    after: Option<Duration>,
    decision: Option<Decision>,
}

impl AcquireError {
    /// The reason: not [`WaitOutcome::Go`].
    #[must_use]
    pub fn outcome(&self) -> WaitOutcome {
        self.outcome
    }

    /// For [`WaitOutcome::Late`], the time, counted from the error, before which the future could not have gone, if it is
    /// known; otherwise `None`.
    #[must_use]
    pub fn after(&self) -> Option<Duration> {
        self.after
    }

    /// The limiter's last answer; `None` if the limiter was not asked.
    #[must_use]
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.outcome {
            WaitOutcome::Late => "it cannot go in time",
            WaitOutcome::Never => "the cost exceeds the capacity and can never be allowed",
            WaitOutcome::ClockRange => "the time is past the range of the policy",
            WaitOutcome::Busy => "too many wait already",
            _ => "the wait has ended",
        })?;
        match self.after {
            Some(after) => write!(f, ": not before {after:?} from now"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for AcquireError {}
