//! One limit for everything: the same policies without keys, and without a table.

use core::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crossbeam_utils::CachePadded;

use super::layers::{self, Layer};
use crate::cell::{Cell, Charge, back_off};
use crate::clock::Clock;
use crate::error::BuildError;
use ratecell_core::Decision;
use ratecell_core::Policy;
use ratecell_core::algorithm::{Algorithm, Kernel, Plan};
use ratecell_core::algorithm::{Asked, Filling, Within};
use ratecell_core::algorithm::{Log, SlidingLog};
use ratecell_core::with_kernel;

/// Decides whether a request may go now, one limit for everything.
///
/// The decisions are those of a [`Limiter`](super::Limiter) with one key; so are the clock and the
/// times. May be shared by any number of threads.
///
/// ```
/// use ratecell::{DirectLimiter, Policy};
///
/// let limiter = DirectLimiter::new("2/s".parse::<Policy>()?)?;
/// assert!(limiter.check_at(2, 0).is_allowed());
/// assert!(!limiter.check_at(1, 499_999_999).is_allowed());
/// assert!(limiter.check_at(1, 500_000_000).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DirectLimiter {
    policy: Policy,
    layers: Box<[DirectLayer]>,
    clock: Clock,
}

/// A layer and its one state, on a line of its own.
#[derive(Debug)]
enum DirectLayer {
    Word(Kernel, CachePadded<Cell>),
    Log(SlidingLog, Mutex<Log>),
}

impl DirectLayer {
    fn new(plan: Plan) -> Self {
        match plan {
            Plan::Word(kernel) => Self::Word(kernel, CachePadded::default()),
            Plan::Log(log) => Self::Log(log, Mutex::default()),
        }
    }

    fn step_log(log: &SlidingLog, entries: &Mutex<Log>, now: u64, cost: u32, charge: bool) -> Decision {
        let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
        log.step(&mut entries, 0, now, cost, charge)
    }

    fn check(&self, now: u64, cost: u32) -> Decision {
        match self {
            Self::Word(kernel, cell) => with_kernel!(kernel, algorithm => decide(algorithm, cell, now, cost)),
            Self::Log(log, entries) => Self::step_log(log, entries, now, cost, true),
        }
    }

    fn own_delay_ns(&self, now: u64, cost: u32) -> u64 {
        match self {
            Self::Word(kernel, _) => kernel.own_delay_ns(now, cost),
            Self::Log(..) => 0,
        }
    }

    fn check_within(&self, now: u64, cost: u32, max_delay_ns: u64) -> Decision {
        match self {
            Self::Word(Kernel::Gcra(gcra), cell) => {
                decide(&Asked(*gcra, Within(max_delay_ns)), cell, now, cost)
            }
            // No other delays a request.
            Self::Word(..) | Self::Log(..) => self.check(now, cost),
        }
    }

    fn fill(&self, now: u64, cost: u32) -> Decision {
        match self {
            Self::Word(kernel, cell) => {
                with_kernel!(kernel, algorithm => decide(&Asked(*algorithm, Filling), cell, now, cost))
            }
            Self::Log(log, entries) => {
                let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
                SlidingLog::fill(cost, |cost, charge| log.step(&mut entries, 0, now, cost, charge))
            }
        }
    }

    fn forget(&self) {
        match self {
            Self::Word(_, cell) => {
                let mut word = cell.load();
                while !cell.replace(word, 0) {
                    word = cell.load();
                }
            }
            Self::Log(_, entries) => *entries.lock().unwrap_or_else(PoisonError::into_inner) = Log::new(),
        }
    }
}

/// Charges a cell that belongs to one key for ever.
#[inline(always)]
fn charge<A: Algorithm>(algorithm: &A, cell: &Cell, now: u64, cost: u32) -> Charge {
    loop {
        if let Some(charge) = cell.charge(algorithm, now, cost, || true) {
            return charge;
        }
    }
}

/// What takes a charge back.
#[derive(Debug)]
enum Receipt {
    Word(Charge),
    /// When it was charged, by the log's own clock.
    Log(Option<u64>),
}

/// [`charge`], and the decision.
#[inline(always)]
fn decide<A: Algorithm>(algorithm: &A, cell: &Cell, now: u64, cost: u32) -> Decision {
    let Charge { before, .. } = charge(algorithm, cell, now, cost);
    algorithm.report(before, now, cost)
}

impl Layer for DirectLayer {
    type Receipt<'l> = Receipt;

    fn peek(&self, _: u64, now: u64, cost: u32) -> Decision {
        match self {
            Self::Word(kernel, cell) => {
                with_kernel!(kernel, algorithm => algorithm.report(cell.load(), now, cost))
            }
            Self::Log(log, entries) => Self::step_log(log, entries, now, cost, false),
        }
    }

    fn charge(&self, _: u64, now: u64, cost: u32) -> (Decision, Self::Receipt<'_>) {
        match self {
            Self::Word(kernel, cell) => {
                with_kernel!(kernel, algorithm => {
                    let charge = charge(algorithm, cell, now, cost);
                    (algorithm.report(charge.before, now, cost), Receipt::Word(charge))
                })
            }
            Self::Log(log, entries) => {
                let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
                (log.step(&mut entries, 0, now, cost, true), Receipt::Log(entries.newest()))
            }
        }
    }

    fn refund(&self, receipt: Self::Receipt<'_>, _: u64, cost: u32) {
        match (self, receipt) {
            (Self::Word(_, cell), Receipt::Word(charge)) => {
                cell.replace(charge.after, charge.before);
            }
            (Self::Log(_, entries), Receipt::Log(Some(clock))) => {
                let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
                SlidingLog::refund(&mut entries, clock, cost);
            }
            (Self::Word(..) | Self::Log(..), Receipt::Word(_) | Receipt::Log(_)) => {}
        }
    }
}

impl fmt::Debug for DirectLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectLimiter").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl DirectLimiter {
    /// A limiter of `policy`.
    ///
    /// # Errors
    /// None of today's policies fails here; one that needed memory could.
    pub fn new(policy: Policy) -> Result<Self, BuildError> {
        let layers = policy.layers().iter().map(|layer| DirectLayer::new(layer.plan())).collect();
        Ok(Self { policy, layers, clock: Clock::new() })
    }

    /// Decides one unit now.
    #[inline(always)]
    pub fn check(&self) -> Decision {
        self.check_n(1)
    }

    /// Decides `cost` units now: all of them or none. A cost of 0 is a peek.
    #[inline(always)]
    pub fn check_n(&self, cost: u32) -> Decision {
        self.check_at(cost, self.clock.now())
    }

    /// Decides `cost` units at `now_ns`.
    #[inline(always)]
    pub fn check_at(&self, cost: u32, now_ns: u64) -> Decision {
        // As in a limiter of keys.
        if let [DirectLayer::Word(Kernel::Gcra(gcra), cell)] = &*self.layers {
            if let Some((_, decision)) = cell.try_charge(gcra, now_ns, cost) {
                return decision;
            }
            back_off(1);
        }
        self.decide_by_call(cost, now_ns).by_field()
    }

    /// [`check_n`](Self::check_n), but what would be allowed with a [`delay`](Decision::delay) of more than
    /// `max_delay` is denied, and charges nothing: its `retry_after` is when the delay is no longer. Where its own units
    /// alone are delayed for longer, it can never go.
    #[inline]
    pub fn check_within(&self, cost: u32, max_delay: Duration) -> Decision {
        self.check_within_at(cost, max_delay, self.clock.now())
    }

    /// [`check_within`](Self::check_within) at `now_ns`.
    pub fn check_within_at(&self, cost: u32, max_delay: Duration, now_ns: u64) -> Decision {
        // Longer than any delay, if it does not fit.
        let max_delay_ns = u64::try_from(max_delay.as_nanos()).unwrap_or(u64::MAX);
        if self.layers.iter().any(|layer| layer.own_delay_ns(now_ns, cost) > max_delay_ns) {
            return self.peek_at(now_ns).never();
        }
        match &*self.layers {
            [layer] => layer.check_within(now_ns, cost, max_delay_ns),
            layers => layers::check_within(layers, 0, now_ns, cost, max_delay_ns),
        }
    }

    /// Charges `cost` units now that have been spent already, whether or not they would be allowed: as many as there
    /// is room for; of several layers, in each by itself. The decision is what a [`peek`](Self::peek) sees afterwards.
    #[inline]
    pub fn charge(&self, cost: u32) -> Decision {
        self.charge_at(cost, self.clock.now())
    }

    /// [`charge`](Self::charge) at `now_ns`.
    pub fn charge_at(&self, cost: u32, now_ns: u64) -> Decision {
        Decision::combined(self.layers.iter().map(|layer| layer.fill(now_ns, cost))).unwrap_or_default()
    }

    #[inline(never)]
    fn decide_by_call(&self, cost: u32, now_ns: u64) -> Decision {
        match &*self.layers {
            [layer] => layer.check(now_ns, cost),
            layers => layers::check(layers, 0, now_ns, cost),
        }
    }

    /// What a check would see now, without charging it: a check of cost 0.
    #[inline]
    pub fn peek(&self) -> Decision {
        self.check_n(0)
    }

    /// [`peek`](Self::peek) at `now_ns`.
    #[inline]
    pub fn peek_at(&self, now_ns: u64) -> Decision {
        self.check_at(0, now_ns)
    }

    /// Makes the limiter as if never used.
    pub fn forget(&self) {
        self.layers.iter().for_each(DirectLayer::forget);
    }

    /// The limiter's policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
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
