//! One limit for everything: the same policies without keys, and without a table.

use core::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crossbeam_utils::CachePadded;

use super::states::{Layers, Logs, States, Words};
use crate::cell::{Cell, Verdict, Word, back_off};
use crate::clock::Clock;
#[cfg(feature = "mock-clock")]
use crate::clock::MockClock;
use crate::table::{Holding, Lookup, SeatNumber};
use ratecell_core::algorithm::{
    Algorithm, Entries, Held, InFlight, Kernel, Log, Plan, Reserve, SlidingLog, Step,
};
use ratecell_core::{Decision, Policy, PolicyError, Request, Zone};

/// A rate limiter without keys: one limit for everything.
///
/// Decisions, clock and times are those of a [`Limiter`](super::Limiter) with one key. Any number of threads may share
/// it.
///
/// ```
/// use ratecell::{DirectLimiter, Policy};
///
/// let limiter = DirectLimiter::new("2/s".parse::<Policy>()?);
/// assert!(limiter.check_at(2, 0).is_allowed());
/// assert!(!limiter.check_at(1, 499_999_999).is_allowed());
/// assert!(limiter.check_at(1, 500_000_000).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DirectLimiter {
    policy: Policy,
    layers: Layers<OneWord, OneLog>,
    clock: Clock,
}

/// The one word of a layer, on a line of its own.
type OneWord = CachePadded<Word>;

impl Words for OneWord {
    type Cell<'c> = &'c Word;

    fn charge<A: Algorithm>(&self, algorithm: &A, _: u64, now: u64, request: &Request<'_>) -> Verdict<&Word> {
        loop {
            // The cell belongs to one key for ever, so no charge is of another.
            if let Some(charge) = Cell::charge(&**self, algorithm, now, request, || true) {
                return Verdict::charged(self, charge);
            }
        }
    }

    /// Held within one call alone, for a layer that a later one refuses: the word has no tenure by which a permit could be
    /// told from one of before it was forgotten.
    fn reserve<A: Reserve>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Verdict<&Word>, Option<Holding>) {
        let verdict = Words::charge(self, algorithm, h, now, request);
        let Step { charged, decision } = algorithm.decide(verdict.word(), now, request);
        let holding = charged.map(|after| {
            let held = algorithm.held(after, now, request.units(), 0);
            Holding { seat: SeatNumber::SHARED, held }
        });
        (decision, verdict, holding)
    }

    fn release(&self, in_flight: &InFlight, _: u64, permit: &Holding, cost: u32, now: u64) {
        let Held { made, .. } = permit.held;
        loop {
            let word = self.load();
            let (lower, back) = in_flight.release(word, now, made, cost);
            if back == 0 || self.replace(word, lower) {
                return;
            }
        }
    }

    fn decide_cost<A: Algorithm>(&self, algorithm: &A, h: u64, now: u64, cost: u32, _: Lookup) -> Decision {
        let request = Request::default().cost(cost);
        self.report(algorithm, &Words::charge(self, algorithm, h, now, &request), now, &request)
    }

    fn report<A: Algorithm>(
        &self,
        algorithm: &A,
        verdict: &Verdict<&Word>,
        now: u64,
        request: &Request<'_>,
    ) -> Decision {
        algorithm.decide(verdict.word(), now, request).decision
    }

    fn peek<A: Algorithm>(&self, algorithm: &A, _: u64, now: u64, request: &Request<'_>) -> Decision {
        algorithm.decide(self.load(), now, request).decision
    }

    fn forget(&self, _: u64) -> bool {
        loop {
            let word = self.load();
            if self.replace(word, 0) {
                return word != 0;
            }
        }
    }
}

/// The one log of a layer.
type OneLog = Mutex<Log>;

fn locked(log: &OneLog) -> MutexGuard<'_, Log> {
    // Nothing within the lock panics.
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Logs for OneLog {
    fn charge(
        &self,
        log: &SlidingLog,
        _: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Option<Entries>) {
        let mut entries = locked(self);
        let (decision, count) =
            SlidingLog::decide(request, |cost, charge| log.step(&mut entries, 0, now, cost, charge));
        (decision, entries.newest().map(|clock| Entries { clock, count }))
    }

    fn reserve(
        &self,
        log: &SlidingLog,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Option<Entries>, Option<Holding>) {
        let (decision, entries) = Logs::charge(self, log, h, now, request);
        (decision, entries, None)
    }

    fn peek(&self, log: &SlidingLog, _: u64, now: u64, cost: u32) -> Decision {
        log.step(&mut locked(self), 0, now, cost, false)
    }

    fn refund(&self, _: u64, entries: Entries) {
        SlidingLog::refund(&mut locked(self), entries);
    }

    fn forget(&self, _: u64) -> bool {
        !core::mem::take(&mut *locked(self)).is_empty()
    }
}

impl fmt::Debug for DirectLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectLimiter").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl DirectLimiter {
    /// A limiter of `policy`.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self::of_clock(policy, Clock::new(), Clock::since)
    }

    /// For tests: a limiter of `policy` whose clock is `clock`, in place of the system's.
    #[cfg(feature = "mock-clock")]
    #[must_use]
    pub fn with_clock(policy: Policy, clock: &MockClock) -> Self {
        Self::of_clock(policy, Clock::mocked(clock, None), |epoch_s| Clock::mocked(clock, Some(epoch_s)))
    }

    fn of_clock(policy: Policy, clock: Clock, since: impl Fn(i64) -> Clock) -> Self {
        // Where the windows of a calendar do not fit from this week on, which takes a horizon of 135 years, the clock begins
        // where the policy does.
        let (policy, clock) = match policy.at_epoch(clock.epoch_s()) {
            Ok(policy) => (policy, clock),
            Err(_) => {
                let clock = since(policy.epoch());
                (policy, clock)
            }
        };
        let layers = policy.layers().iter().map(|layer| match layer.plan() {
            Plan::Word(kernel) => States::Words(kernel, OneWord::default()),
            Plan::Log(log) => States::Logs(log, OneLog::default()),
        });
        Self { layers: layers.collect(), policy, clock }
    }

    /// Decides one unit now.
    #[inline(always)]
    pub fn check(&self) -> Decision {
        self.decide(Request::default())
    }

    /// Decides `cost` units now: all of them or none. A cost of 0 is a [`peek`](Self::peek).
    #[inline(always)]
    pub fn check_n(&self, cost: u32) -> Decision {
        self.decide(Request::default().cost(cost))
    }

    /// Decides `cost` units at `now_ns`.
    #[inline(always)]
    pub fn check_at(&self, cost: u32, now_ns: u64) -> Decision {
        self.decide(Request::default().cost(cost).at(now_ns))
    }

    /// Returns what a check would see now, without charging it: a check of cost 0.
    #[inline]
    pub fn peek(&self) -> Decision {
        self.check_n(0)
    }

    /// Decides a request, as [`Limiter::decide`](super::Limiter::decide) does. Its key is ignored.
    #[inline(always)]
    pub fn decide(&self, request: Request<'_>) -> Decision {
        let now = request.now_ns().unwrap_or_else(|| self.clock.now());
        if !request.is_plain() {
            return self.layers.decide_apart(0, now, &request);
        }
        // As in a limiter of keys.
        let cost = request.units();
        if let Layers::One(States::Words(Kernel::Gcra(gcra), cell)) = &self.layers {
            if let Some((_, decision)) = cell.try_charge(gcra, now, &Request::default().cost(cost)) {
                return decision;
            }
            back_off(1);
        }
        self.layers.decide_cost(0, now, cost, Lookup::NotYet).by_field()
    }

    /// Resets the limiter to the state of one never used. With several layers, a request that is refused at the same time
    /// may take back what a later one charged to one of them.
    pub fn forget(&self) {
        self.layers.forget(0);
    }

    /// The limiter's policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The time zone of this name, for requests to this limiter: see [`Limiter::zone`](super::Limiter::zone).
    ///
    /// # Errors
    /// [`BadZone`](ratecell_core::PolicyErrorKind::BadZone): there is no such zone, or the policy names its zone itself.
    pub fn zone(&self, name: &str) -> Result<Zone, PolicyError> {
        self.policy.zone(name)
    }

    /// Nanoseconds since the [`epoch`](Self::epoch), by the limiter's clock: CLOCK_MONOTONIC.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now()
    }

    /// The zero of the limiter's own clock: the Monday 00:00 UTC before it was made.
    #[must_use]
    pub fn epoch(&self) -> SystemTime {
        self.clock.epoch()
    }
}
