//! Token buckets. A bucket refilled evenly is GCRA; one refilled all at once, at every multiple of its
//! interval or at intervals from the request that found it full, counts the tokens taken out.
//!
//! | word | bits |
//! | --- | --- |
//! | index of the interval, or the start in quanta | the rest |
//! | tokens out | `bits(capacity)` |

use super::divide::Divider;
use super::fixed_window::{Count, MIN_QUANTA, count_step, is_start_healed, until};
use super::gcra::Gcra;
use super::packing::{Pack, Packing};
use super::params::{Key, Mode, Params};
use super::{Algorithm, Form, Kernel, Plan, Resolved, Step};
use crate::decision::{Decision, Outcome};
use crate::error::{PolicyError, PolicyErrorKind as Kind};

pub(crate) static TOKEN_BUCKET: Form = Form {
    name: "token_bucket",
    options: &[Key::Capacity, Key::Mode],
    resolve: |params, pack| {
        let refill = params.limit("refill")?;
        let interval = params.period("interval")?;
        let capacity = params.capacity()?;
        match params.mode.unwrap_or_default() {
            Mode::Continuous => Gcra::resolve(params, pack, refill, interval, capacity, capacity),
            Mode::Interval => BucketInterval::resolve(params, pack, refill, interval, capacity),
            Mode::IntervalFirst => BucketIntervalFirst::resolve(params, pack, refill, interval, capacity),
        }
    },
};

/// The tokens, and how they come back.
#[derive(Clone, Copy, Debug)]
struct Refill {
    refill: u32,
    interval: u64,
    by_refill: Divider,
    by_interval: Divider,
}

impl Refill {
    fn new(refill: u32, interval: u64) -> Self {
        Self {
            refill,
            interval,
            by_refill: Divider::new(u64::from(refill)),
            by_interval: Divider::new(interval),
        }
    }

    /// Tokens still out after that many refills.
    fn drained(&self, used: u64, intervals: u64) -> u64 {
        used.saturating_sub(intervals.saturating_mul(u64::from(self.refill)))
    }

    /// When that many tokens have come back, counted from `start`.
    fn back(&self, start: u128, tokens: u64) -> u128 {
        start + u128::from(self.by_refill.ceil(tokens)) * u128::from(self.interval)
    }

    /// Decides `cost` beside `used` of a bucket whose refills are counted from `start`.
    fn step(&self, capacity: u32, used: u64, cost: u32, start: u128, now: u64) -> (Decision, u64) {
        let wanted = used + u64::from(cost);
        let (mut decision, used) = count_step(capacity, used, cost);
        if decision.outcome == Outcome::Denied {
            decision.retry_after_ns = until(self.back(start, wanted - u64::from(capacity)), now);
        }
        if used > 0 {
            decision.reset_after_ns = until(self.back(start, used), now);
        }
        (decision, used)
    }
}

/// Refilled at every multiple of the interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketInterval {
    refill: Refill,
    capacity: u32,
    count: Count,
    max_now: u64,
    heal: Option<u64>,
}

impl BucketInterval {
    fn resolve(
        params: &Params,
        pack: Pack,
        refill: u32,
        interval: u64,
        capacity: u32,
    ) -> Result<(Plan, Resolved), PolicyError> {
        let last_beside =
            |bits: u32| (Count { bits }.top() + 1).checked_mul(interval).map_or(u64::MAX, |end| end - 1);
        let count = Count { bits: pack.count_bits(capacity, u32::BITS, params, last_beside)? };
        let max_now = last_beside(count.bits);
        params.reaches_horizon(max_now, "the interval's index beside a count of this capacity")?;
        let kernel =
            Self { refill: Refill::new(refill, interval), capacity, count, max_now, heal: params.heal_ns };
        Ok((Plan::Word(Kernel::BucketInterval(kernel)), count.resolved(capacity, max_now, None, None)))
    }

    fn start(&self, index: u64) -> u128 {
        u128::from(index) * u128::from(self.refill.interval)
    }

    fn used_at(&self, index: u64, used: u64, now: u64) -> (u64, u64) {
        let at = self.refill.by_interval.floor(now);
        match at.checked_sub(index) {
            Some(intervals) => (at, self.refill.drained(used, intervals)),
            None => (index, used),
        }
    }
}

impl Algorithm for BucketInterval {
    #[inline]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        if now > self.max_now {
            return Step::out_of_range(u64::from(self.capacity));
        }
        let (index, used) = self.count.unpack(if self.is_healed(word, now) { 0 } else { word });
        let (index, used) = self.used_at(index, used, now);
        let (decision, used) = self.refill.step(self.capacity, used, cost, self.start(index), now);
        let charged = (cost > 0 && decision.is_allowed()).then(|| self.count.pack(index, used));
        Step { charged, decision }
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        let (index, used) = self.count.unpack(word);
        until(self.refill.back(self.start(index), used), 0)
    }

    #[inline]
    fn grounded(&self, instant: u64) -> u64 {
        self.count.empty_from(self.refill.by_interval.floor(instant))
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        let (index, used) = self.count.unpack(word);
        self.used_at(index, used, now).1
    }

    #[inline]
    fn is_healed(&self, word: u64, now: u64) -> bool {
        let Some(heal) = self.heal else { return false };
        let (index, _) = self.count.unpack(word);
        self.start(index) > u128::from(now) + u128::from(heal)
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        self.heal
    }

    fn packing(&self) -> Packing {
        Packing { word: *b"bucket  ", unit: self.refill.interval, grain: 0, count_bits: self.count.bits }
    }
}

/// Refilled at intervals from the request that found it full. The start is rounded up to a quantum
/// that divides the interval, so the refills keep their phase exactly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketIntervalFirst {
    refill: Refill,
    quantum: u64,
    quanta_per_interval: u64,
    capacity: u32,
    count: Count,
    max_now: u64,
    heal: Option<u64>,
    by_quantum: Divider,
}

impl BucketIntervalFirst {
    fn resolve(
        params: &Params,
        pack: Pack,
        refill: u32,
        interval: u64,
        capacity: u32,
    ) -> Result<(Plan, Resolved), PolicyError> {
        let count = Count { bits: pack.count_bits_of_start(capacity)? };
        let span = u128::from(params.horizon()?) + u128::from(interval);
        let least = span.div_ceil(u128::from(count.top()));
        let quantum = match pack {
            Pack::Tight | Pack::Wide => smooth_divisor(interval, least),
            Pack::As(packing) => {
                Some(packing.grain).filter(|grain| *grain > 0 && interval.is_multiple_of(*grain))
            }
        };
        let Some(quantum) = quantum.filter(|quantum| *quantum <= interval / MIN_QUANTA) else {
            return Err(PolicyError::new(
                Kind::Range,
                format!(
                    "no quantum of at least {least}ns divides the interval of {interval}ns a thousand times: expected a smaller capacity, a rounder interval or a shorter horizon"
                ),
            ));
        };
        let max_now = count.top().saturating_mul(quantum);
        params.reaches_horizon(max_now, "the start beside a count of this capacity")?;
        let kernel = Self {
            refill: Refill::new(refill, interval),
            quantum,
            quanta_per_interval: interval / quantum,
            capacity,
            count,
            max_now,
            heal: params.heal_ns,
            by_quantum: Divider::new(quantum),
        };
        let resolved = count.resolved(capacity, max_now, Some(count.bits), Some(quantum));
        Ok((Plan::Word(Kernel::BucketIntervalFirst(kernel)), resolved))
    }

    fn start(&self, quanta: u64) -> u128 {
        u128::from(quanta) * u128::from(self.quantum)
    }

    /// The start moved on by the whole intervals that have passed, and what is still out then.
    fn used_at(&self, mut start: u64, mut used: u64, now: u64) -> (u64, u64) {
        // A start past u64 nanoseconds is in no clock's past.
        let passed = u64::try_from(self.start(start)).ok().and_then(|start| now.checked_sub(start));
        if let Some(passed) = passed {
            let intervals = self.refill.by_interval.floor(passed);
            used = self.refill.drained(used, intervals);
            start += intervals * self.quanta_per_interval;
        }
        if used == 0 {
            // A start without tokens out is ground: no refill is counted from before it.
            start = start.max(self.by_quantum.ceil(now));
        }
        (start, used)
    }
}

/// The least divisor of `n` of the form 2^a 3^b 5^c that is at least `least`.
fn smooth_divisor(n: u64, least: u128) -> Option<u64> {
    let powers = |prime: u64, from: u64| {
        core::iter::successors(Some(from), move |power| power.checked_mul(prime))
            .take_while(move |power| n.is_multiple_of(*power))
    };
    powers(2, 1)
        .flat_map(|twos| powers(3, twos))
        .flat_map(|threes| powers(5, threes))
        .filter(|divisor| u128::from(*divisor) >= least)
        .min()
}

impl Algorithm for BucketIntervalFirst {
    #[inline]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        if now > self.max_now {
            return Step::out_of_range(u64::from(self.capacity));
        }
        let (start, used) = self.count.unpack(if self.is_healed(word, now) { 0 } else { word });
        let (start, used) = self.used_at(start, used, now);
        let (decision, used) = self.refill.step(self.capacity, used, cost, self.start(start), now);
        let charged = (cost > 0 && decision.is_allowed()).then(|| self.count.pack(start, used));
        Step { charged, decision }
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        let (start, used) = self.count.unpack(word);
        until(self.refill.back(self.start(start), used), 0)
    }

    #[inline]
    fn grounded(&self, instant: u64) -> u64 {
        self.count.empty_from(self.by_quantum.ceil(instant))
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        let (start, used) = self.count.unpack(word);
        self.used_at(start, used, now).1
    }

    #[inline]
    fn is_healed(&self, word: u64, now: u64) -> bool {
        is_start_healed(self.count, word, self.quantum, self.heal, now)
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        self.heal
    }

    fn packing(&self) -> Packing {
        Packing {
            word: *b"bucket1s",
            unit: self.refill.interval,
            grain: self.quantum,
            count_bits: self.count.bits,
        }
    }
}
