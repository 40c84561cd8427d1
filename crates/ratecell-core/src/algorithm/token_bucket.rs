//! Token buckets. A bucket refilled evenly is GCRA; one refilled all at once, at every multiple of its
//! interval or at intervals from the request that found it full, counts the tokens taken out.
//!
//! | word | bits |
//! | --- | --- |
//! | index of the interval, or the start in quanta | the rest |
//! | tokens out | `bits(capacity)` |

use super::change::ceil;
use super::counting::{Charge, Count, Counter, Counting, MIN_QUANTA};
use super::divide::Divider;
use super::gcra::Gcra;
use super::lease::Drain;
use super::packing::{LayoutChoice, WordLayout};
use super::params::{Key, Mode, Params};
use super::quota::{self, Quota};
use super::reserve::ahead;
use super::{Held, Kernel, Plan, Resolved, Spec};
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use alloc::format;

pub(crate) static TOKEN_BUCKET: Spec = Spec {
    name: "token_bucket",
    quota: Quota { is_rate: |params| params.mode.unwrap_or_default() == Mode::Continuous, ..quota::RATE },
    options: &[Key::Capacity, Key::Mode],
    resolve: |params, pack, _| {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// How a lease of tokens drains. They are slots on an axis whose clock goes on by `refill` at each refill; where that is
    /// above 1, a lease's word does not hold which part of a refill its last slots are, so all pass when the first does.
    fn drain(&self) -> Drain {
        match self.refill {
            1 => Drain::InSteps { by_interval: self.by_interval },
            _ => Drain::AtOnce,
        }
    }

    /// The end of the last `units` of `used` tokens.
    fn lasts_until(&self, start: u128, used: u64, units: u64) -> u128 {
        match self.refill {
            1 => self.back(start, used),
            // The refill that takes the first of them.
            _ => self.back(start, used.saturating_sub(units) + 1),
        }
    }

    /// What of a charge on the axis of refills can be given back. There a word of `used` tokens out after `refills` refills
    /// reaches to `refill * refills + used`.
    fn given_back(&self, word: (u64, u64), now: u64, made: u64, before: u64, charge: Charge) -> u64 {
        let (refills, used) = word;
        // From the earlier of the two on, so that what leaves a u64 is beyond all that is compared with it.
        let origin = made.min(refills);
        let at = |refills: u64, units: u64| {
            let since = (refills - origin).saturating_mul(u64::from(self.refill));
            since.saturating_add(units)
        };
        let (start, length) = (at(made, before), u64::from(charge.cost));
        let ahead =
            ahead(at(refills, used), at(refills.max(now), 0), at(made, 0), start, length, charge.since);
        ahead.min(u64::from(charge.units))
    }

    /// When that many tokens have come back, counted from `start`.
    fn back(&self, start: u128, tokens: u64) -> u128 {
        start + u128::from(self.by_refill.ceil(tokens)) * u128::from(self.interval)
    }
}

/// Refilled at every multiple of the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketInterval {
    counter: Counter,
    refill: Refill,
}

impl BucketInterval {
    fn resolve(
        params: &Params,
        pack: LayoutChoice,
        refill: u32,
        interval: u64,
        capacity: u32,
    ) -> Result<(Plan, Resolved), PolicyError> {
        let last_beside =
            |bits: u32| (Count { bits }.top() + 1).checked_mul(interval).map_or(u64::MAX, |end| end - 1);
        let count = Count { bits: pack.count_bits(capacity, u32::BITS, params, last_beside)? };
        let max_now = last_beside(count.bits);
        params.reaches_horizon(max_now, "the interval's index beside a count of this capacity")?;
        let counter = Counter { capacity, count, max_now, heal: params.heal_ns };
        let kernel = Self::new(counter, refill, interval);
        Ok((Plan::Word(Kernel::BucketInterval(kernel)), counter.resolved(None, None)))
    }

    pub(super) fn new(counter: Counter, refill: u32, interval: u64) -> Self {
        let kernel = Self { counter, refill: Refill::new(refill, interval) };
        debug_assert!(counter.holds(kernel.time_at(counter.max_now)));
        kernel
    }
}

impl Counting for BucketInterval {
    #[inline]
    fn counter(&self) -> &Counter {
        &self.counter
    }

    #[inline]
    fn time_at(&self, instant: u64) -> u64 {
        self.refill.by_interval.floor(instant)
    }

    #[inline]
    fn passed(&self, index: u64, used: u64, now: u64) -> (u64, u64) {
        let at = self.time_at(now);
        match at.checked_sub(index) {
            Some(intervals) => (at, self.refill.drained(used, intervals)),
            None => (index, used),
        }
    }

    #[inline]
    fn free_at(&self, index: u64, units: u64) -> u128 {
        self.refill.back(u128::from(index) * u128::from(self.refill.interval), units)
    }

    fn packed(&self) -> WordLayout {
        let Self { counter, refill } = *self;
        WordLayout { word: *b"bucket  ", unit: refill.interval, grain: 0, count_bits: counter.count.bits }
    }

    fn starts_anew(&self) -> bool {
        false
    }

    fn under(&self, next: &Self, index: u64, used: u64, at: u64) -> (u128, u64) {
        let made = at.max(index.saturating_mul(self.refill.interval));
        let (_, used) = self.passed(index, used, made);
        (u128::from(next.time_at(made)), used)
    }

    fn given_back(&self, index: u64, used: u64, now: u64, held: &Held, charge: Charge) -> u64 {
        self.refill.given_back((index, used), self.time_at(now), held.made, held.start, charge)
    }

    fn drain(&self) -> (Drain, bool) {
        (self.refill.drain(), false)
    }

    fn lasts_until(&self, index: u64, used: u64, units: u64) -> u128 {
        self.refill.lasts_until(self.free_at(index, 0), used, units)
    }
}

/// Refilled at intervals from the request that found it full. The start is rounded up to a quantum
/// that divides the interval, so the refills keep their phase exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketIntervalFirst {
    counter: Counter,
    refill: Refill,
    quantum: u64,
    quanta_per_interval: u64,
    by_quantum: Divider,
}

impl BucketIntervalFirst {
    fn resolve(
        params: &Params,
        pack: LayoutChoice,
        refill: u32,
        interval: u64,
        capacity: u32,
    ) -> Result<(Plan, Resolved), PolicyError> {
        let count = Count { bits: pack.count_bits_of_start(capacity)? };
        let span = u128::from(params.horizon()?) + u128::from(interval);
        let least = span.div_ceil(u128::from(count.top()));
        let quantum = match pack {
            LayoutChoice::Tight { .. } | LayoutChoice::Wide { .. } => smooth_divisor(interval, least),
            LayoutChoice::As(packing) => {
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
        let counter = Counter { capacity, count, max_now, heal: params.heal_ns };
        let kernel = Self::new(counter, refill, interval, quantum);
        let resolved = counter.resolved(Some(count.bits), Some(quantum));
        Ok((Plan::Word(Kernel::BucketIntervalFirst(kernel)), resolved))
    }

    /// With a quantum above 0 that divides the interval.
    pub(super) fn new(counter: Counter, refill: u32, interval: u64, quantum: u64) -> Self {
        let kernel = Self {
            counter,
            refill: Refill::new(refill, interval),
            quantum,
            quanta_per_interval: interval / quantum,
            by_quantum: Divider::new(quantum),
        };
        debug_assert!(quantum <= interval / MIN_QUANTA && interval.is_multiple_of(quantum));
        debug_assert!(counter.holds(kernel.time_at(counter.max_now)));
        kernel
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

impl Counting for BucketIntervalFirst {
    #[inline]
    fn counter(&self) -> &Counter {
        &self.counter
    }

    #[inline]
    fn time_at(&self, instant: u64) -> u64 {
        self.by_quantum.ceil(instant)
    }

    /// The start moved on by the whole intervals that have passed, and what is still out then.
    #[inline]
    fn passed(&self, mut start: u64, mut used: u64, now: u64) -> (u64, u64) {
        // A start past u64 nanoseconds is in no clock's past.
        let since = u64::try_from(self.free_at(start, 0)).ok().and_then(|start| now.checked_sub(start));
        if let Some(since) = since {
            let intervals = self.refill.by_interval.floor(since);
            used = self.refill.drained(used, intervals);
            start += intervals * self.quanta_per_interval;
        }
        if used == 0 {
            // A start without tokens out is ground: no refill is counted from before it.
            start = start.max(self.time_at(now));
        }
        (start, used)
    }

    #[inline]
    fn free_at(&self, start: u64, units: u64) -> u128 {
        self.refill.back(u128::from(start) * u128::from(self.quantum), units)
    }

    /// A write is within a quantum before the start that it rounds to.
    #[inline]
    fn written_from(&self, start: u64) -> u128 {
        self.free_at(start.saturating_sub(1), 0)
    }

    fn packed(&self) -> WordLayout {
        let Self { counter, refill, quantum, .. } = *self;
        WordLayout {
            word: *b"bucket1s",
            unit: refill.interval,
            grain: quantum,
            count_bits: counter.count.bits,
        }
    }

    fn starts_anew(&self) -> bool {
        false
    }

    /// The intervals that have passed are refilled as they were. Then the bucket keeps its start if tokens are out, moved on
    /// by whole intervals of the next policy.
    fn under(&self, next: &Self, start: u64, used: u64, at: u64) -> (u128, u64) {
        let ns = |start: u128, intervals: u64, of: &Refill| {
            start + u128::from(intervals) * u128::from(of.interval)
        };
        let since = |start: u128| u64::try_from(u128::from(at).saturating_sub(start)).unwrap_or(0);
        let start = self.free_at(start, 0);
        let intervals = self.refill.by_interval.floor(since(start));
        let (start, used) = (ns(start, intervals, &self.refill), self.refill.drained(used, intervals));
        let start = match used {
            0 => start.max(u128::from(at)),
            _ => ns(start, next.refill.by_interval.floor(since(start)), &next.refill),
        };
        (ceil(start, next.quantum), used)
    }

    /// On the axis that begins at the start of the charge's word.
    fn given_back(&self, start: u64, used: u64, now: u64, held: &Held, charge: Charge) -> u64 {
        let Some(quanta) = start.checked_sub(held.made) else { return 0 };
        // Not 0: an interval has a thousand quanta.
        let refills = quanta.checked_div(self.quanta_per_interval).unwrap_or(0);
        let since = u128::from(now).saturating_sub(self.free_at(start, 0));
        // Less than now.
        let passed = self.refill.by_interval.floor(since as u64);
        self.refill.given_back((refills, used), refills + passed, 0, held.start, charge)
    }

    /// One by one: the refills are counted from the charge that found the bucket full.
    fn drain(&self) -> (Drain, bool) {
        (self.refill.drain(), true)
    }

    fn lasts_until(&self, start: u64, used: u64, units: u64) -> u128 {
        self.refill.lasts_until(self.free_at(start, 0), used, units)
    }
}
