//! Fixed windows: aligned to the epoch, or opened by the first allowed request.
//!
//! | word | bits |
//! | --- | --- |
//! | index of the window, or its start in quanta | the rest |
//! | count | `bits(limit)` |

use super::divide::Divider;
use super::packing::{Pack, Packing};
use super::params::{Key, Start};
use super::{Algorithm, Form, Kernel, Plan, Resolved, Step, WORD_LIMIT};
use crate::decision::{Decision, Outcome};
use crate::error::{PolicyError, PolicyErrorKind as Kind};

pub(crate) static FIXED_WINDOW: Form = Form {
    name: "fixed_window",
    options: &[Key::Start, Key::Offset],
    resolve: |params, pack| {
        let limit = params.limit("limit")?;
        let window = params.period("window")?;
        let horizon = params.horizon()?;
        match params.start.unwrap_or_default() {
            Start::Aligned => {
                let offset = params.offset_ns.unwrap_or(0);
                if offset >= window {
                    return Err(PolicyError::new(
                        Kind::BadOffset,
                        format!("offset is {offset}ns: expected less than the window of {window}ns"),
                    ));
                }
                let phase = if offset == 0 { 0 } else { window - offset };
                let last_beside = |bits: u32| {
                    let end =
                        u128::from(Count { bits }.top() + 1) * u128::from(window) - 1 - u128::from(phase);
                    u64::try_from(end).unwrap_or(u64::MAX)
                };
                let count = Count { bits: pack.count_bits(limit, u32::BITS, params, last_beside)? };
                let max_now = last_beside(count.bits);
                params.reaches_horizon(max_now, "the window's index beside a count of this limit")?;
                let kernel = FixedWindow {
                    window,
                    phase,
                    limit,
                    count,
                    max_now,
                    heal: params.heal_ns,
                    by_window: Divider::new(window),
                };
                let resolved = count.resolved(limit, max_now, Some(count.bits), None);
                Ok((Plan::Word(Kernel::FixedWindow(kernel)), resolved))
            }
            Start::First => {
                if params.offset_ns.is_some_and(|offset| offset != 0) {
                    return Err(PolicyError::new(
                        Kind::BadOffset,
                        "offset moves aligned windows: expected none with start=first",
                    ));
                }
                let count = Count { bits: pack.count_bits_of_start(limit)? };
                let span = u128::from(horizon) + u128::from(window);
                let quanta = match pack {
                    Pack::Tight | Pack::Wide => span.div_ceil(u128::from(count.top())).next_power_of_two(),
                    Pack::As(packing) => u128::from(packing.grain),
                };
                let quantum = match u64::try_from(quanta) {
                    Ok(quantum) if quantum > 0 && quantum <= window / MIN_QUANTA => quantum,
                    _ => {
                        return Err(PolicyError::new(
                            Kind::Range,
                            format!(
                                "the window is shorter than {MIN_QUANTA} quanta of {quanta}ns: expected a smaller limit, a longer window or a shorter horizon"
                            ),
                        ));
                    }
                };
                let max_now = count.top().saturating_mul(quantum);
                params.reaches_horizon(max_now, "the window's start beside a count of this limit")?;
                let kernel = FixedWindowFirst {
                    window,
                    quantum,
                    limit,
                    count,
                    max_now,
                    heal: params.heal_ns,
                    by_quantum: Divider::new(quantum),
                };
                let resolved = count.resolved(limit, max_now, Some(count.bits), Some(quantum));
                Ok((Plan::Word(Kernel::FixedWindowFirst(kernel)), resolved))
            }
        }
    },
};

/// A period that starts with a request has at least this many quanta.
pub(super) const MIN_QUANTA: u64 = 1000;

/// How a word is split: a time above, a count below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub(super) bits: u32,
}

impl Count {
    /// The largest time of a policy's word.
    pub(super) fn top(self) -> u64 {
        (WORD_LIMIT >> self.bits) - 1
    }

    pub(super) fn unpack(self, word: u64) -> (u64, u64) {
        (word >> self.bits, word & ((1 << self.bits) - 1))
    }

    pub(super) fn pack(self, time: u64, count: u64) -> u64 {
        (time << self.bits) | count
    }

    /// A word of that time and no count, or of the last time that fits.
    pub(super) fn empty_from(self, time: u64) -> u64 {
        self.pack(time.min(u64::MAX >> self.bits), 0)
    }

    pub(super) fn resolved(
        self,
        capacity: u32,
        max_now_ns: u64,
        count_bits: Option<u32>,
        quantum_ns: Option<u64>,
    ) -> Resolved {
        Resolved {
            capacity: u64::from(capacity),
            max_now_ns,
            cell_bits: 64,
            emission: None,
            count_bits,
            quantum_ns,
        }
    }
}

/// The decision and the count after `cost` beside `used` of `capacity`, but for the two times.
pub(super) fn count_step(capacity: u32, used: u64, cost: u32) -> (Decision, u64) {
    let limit = u64::from(capacity);
    let wanted = used + u64::from(cost);
    let (outcome, used) = if cost > capacity {
        (Outcome::Never, used)
    } else if wanted <= limit {
        (Outcome::Allowed, wanted)
    } else {
        (Outcome::Denied, used)
    };
    let decision = Decision {
        remaining: limit.saturating_sub(used),
        retry_after_ns: if outcome == Outcome::Never { Decision::NEVER } else { 0 },
        outcome,
        ..Decision::allowed(limit)
    };
    (decision, used)
}

/// Nanoseconds from `now` to an instant that only a word no step wrote puts out of reach.
pub(super) fn until(instant: u128, now: u64) -> u64 {
    u64::try_from(instant.saturating_sub(u128::from(now))).unwrap_or(Decision::NEVER - 1)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedWindow {
    window: u64,
    /// Windows start at `k * window - phase`.
    phase: u64,
    limit: u32,
    count: Count,
    max_now: u64,
    heal: Option<u64>,
    by_window: Divider,
}

impl FixedWindow {
    /// `floor((now + phase) / window)`, also where that sum leaves a `u64`.
    fn index(&self, now: u64) -> u64 {
        let whole = self.by_window.floor(now);
        let rest = now - whole * self.window;
        whole + u64::from(self.phase > 0 && rest >= self.window - self.phase)
    }

    fn end(&self, index: u64) -> u128 {
        (u128::from(index) + 1) * u128::from(self.window) - u128::from(self.phase)
    }
}

impl Algorithm for FixedWindow {
    #[inline]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        if now > self.max_now {
            return Step::out_of_range(u64::from(self.limit));
        }
        let (mut index, mut used) = self.count.unpack(if self.is_healed(word, now) { 0 } else { word });
        let at = self.index(now);
        if at > index {
            (index, used) = (at, 0);
        }
        let (mut decision, used) = count_step(self.limit, used, cost);
        let end = until(self.end(index), now);
        if decision.outcome == Outcome::Denied {
            decision.retry_after_ns = end;
        }
        if used > 0 {
            decision.reset_after_ns = end;
        }
        let charged = (cost > 0 && decision.is_allowed()).then(|| self.count.pack(index, used));
        Step { charged, decision }
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        let (index, used) = self.count.unpack(word);
        let start = match index {
            0 if used == 0 => 0,
            _ if used == 0 => self.end(index - 1),
            _ => self.end(index),
        };
        until(start, 0)
    }

    #[inline]
    fn grounded(&self, instant: u64) -> u64 {
        self.count.empty_from(self.index(instant))
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        let (index, used) = self.count.unpack(word);
        if self.index(now) > index { 0 } else { used }
    }

    #[inline]
    fn is_healed(&self, word: u64, now: u64) -> bool {
        let Some(heal) = self.heal else { return false };
        let (index, _) = self.count.unpack(word);
        u128::from(index) * u128::from(self.window)
            > u128::from(now) + u128::from(heal) + u128::from(self.phase)
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        self.heal
    }

    fn packing(&self) -> Packing {
        Packing { word: *b"fixed   ", unit: self.window, grain: self.phase, count_bits: self.count.bits }
    }
}

/// The start is rounded up to a quantum, so a window is never shorter than asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedWindowFirst {
    window: u64,
    quantum: u64,
    limit: u32,
    count: Count,
    max_now: u64,
    heal: Option<u64>,
    by_quantum: Divider,
}

impl FixedWindowFirst {
    fn end(&self, start: u64) -> u128 {
        u128::from(start) * u128::from(self.quantum) + u128::from(self.window)
    }
}

impl Algorithm for FixedWindowFirst {
    #[inline]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        if now > self.max_now {
            return Step::out_of_range(u64::from(self.limit));
        }
        let (mut start, mut used) = self.count.unpack(if self.is_healed(word, now) { 0 } else { word });
        if used == 0 || u128::from(now) >= self.end(start) {
            // A start without a count is ground: nothing opens before it.
            (start, used) = (start.max(self.by_quantum.ceil(now)), 0);
        }
        let (mut decision, used) = count_step(self.limit, used, cost);
        let end = until(self.end(start), now);
        if decision.outcome == Outcome::Denied {
            decision.retry_after_ns = end;
        }
        if used > 0 {
            decision.reset_after_ns = end;
        }
        let charged = (cost > 0 && decision.is_allowed()).then(|| self.count.pack(start, used));
        Step { charged, decision }
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        let (start, used) = self.count.unpack(word);
        if used == 0 { start.saturating_mul(self.quantum) } else { until(self.end(start), 0) }
    }

    #[inline]
    fn grounded(&self, instant: u64) -> u64 {
        self.count.empty_from(self.by_quantum.ceil(instant))
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        let (start, used) = self.count.unpack(word);
        if u128::from(now) >= self.end(start) { 0 } else { used }
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
        Packing { word: *b"fixed1st", unit: self.window, grain: self.quantum, count_bits: self.count.bits }
    }
}

/// Whether a start was written later than `now + heal`: the write was within a quantum before it.
pub(super) fn is_start_healed(count: Count, word: u64, quantum: u64, heal: Option<u64>, now: u64) -> bool {
    let Some(heal) = heal else { return false };
    let (start, _) = count.unpack(word);
    u128::from(start.saturating_sub(1)) * u128::from(quantum) > u128::from(now) + u128::from(heal)
}
