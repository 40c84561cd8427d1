//! Fixed windows: aligned to the epoch, or opened by the first allowed request.
//!
//! | word | bits |
//! | --- | --- |
//! | index of the window, or its start in quanta | the rest |
//! | count | `bits(limit)` |

use super::change::ceil;
use super::counting::{Count, Counter, Counting, MIN_QUANTA};
use super::divide::Divider;
use super::lease::Drain;
use super::packing::{LayoutChoice, WordLayout};
use super::params::{Key, Start};
use super::{Kernel, Plan, Spec, quota};
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use alloc::format;

pub(crate) static FIXED_WINDOW: Spec = Spec {
    name: "fixed_window",
    quota: quota::WINDOW,
    options: &[Key::Start, Key::Offset],
    resolve: |params, pack, _| {
        let limit = params.limit("limit")?;
        let window = params.period("window")?;
        let horizon = params.horizon()?;
        match params.start.unwrap_or_default() {
            Start::Aligned => {
                let offset = params.offset_ns.unwrap_or(0);
                if offset >= window {
                    let message =
                        format!("offset is {offset}ns: expected less than the window of {window}ns");
                    return Err(PolicyError::new(Kind::BadOffset, message).about(Key::Offset.name()));
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
                let counter = Counter { capacity: limit, count, max_now, heal: params.heal_ns };
                let kernel = FixedWindow::new(counter, window, phase);
                let resolved = counter.resolved(Some(count.bits), None);
                Ok((Plan::Word(Kernel::FixedWindow(kernel)), resolved))
            }
            Start::First => {
                if params.offset_ns.is_some_and(|offset| offset != 0) {
                    let message = "offset moves aligned windows: expected none with start=first";
                    return Err(PolicyError::new(Kind::BadOffset, message).about(Key::Offset.name()));
                }
                let count = Count { bits: pack.count_bits_of_start(limit)? };
                let span = u128::from(horizon) + u128::from(window);
                let quanta = match pack {
                    LayoutChoice::Tight { .. } | LayoutChoice::Wide { .. } => {
                        span.div_ceil(u128::from(count.top())).next_power_of_two()
                    }
                    LayoutChoice::As(packing) => u128::from(packing.grain),
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
                let counter = Counter { capacity: limit, count, max_now, heal: params.heal_ns };
                let kernel = FixedWindowFirst::new(counter, window, quantum);
                let resolved = counter.resolved(Some(count.bits), Some(quantum));
                Ok((Plan::Word(Kernel::FixedWindowFirst(kernel)), resolved))
            }
        }
    },
};

/// Aligned: every window starts at a multiple of its length, or that much later by the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindow {
    counter: Counter,
    window: u64,
    /// Windows start at `k * window - phase`.
    phase: u64,
    by_window: Divider,
}

impl FixedWindow {
    pub(super) fn new(counter: Counter, window: u64, phase: u64) -> Self {
        let kernel = Self { counter, window, phase, by_window: Divider::new(window) };
        debug_assert!(phase < window && counter.holds(kernel.time_at(counter.max_now)));
        kernel
    }

    /// The first start is that of the epoch, if the phase would put it before.
    fn start(&self, index: u128) -> u128 {
        (index * u128::from(self.window)).saturating_sub(u128::from(self.phase))
    }
}

impl Counting for FixedWindow {
    #[inline]
    fn counter(&self) -> &Counter {
        &self.counter
    }

    /// `floor((instant + phase) / window)`, also where that sum leaves a `u64`.
    #[inline]
    fn time_at(&self, instant: u64) -> u64 {
        let whole = self.by_window.floor(instant);
        let rest = instant - whole * self.window;
        whole + u64::from(self.phase > 0 && rest >= self.window - self.phase)
    }

    #[inline]
    fn passed(&self, index: u64, used: u64, now: u64) -> (u64, u64) {
        let at = self.time_at(now);
        if at > index { (at, 0) } else { (index, used) }
    }

    #[inline]
    fn free_at(&self, index: u64, units: u64) -> u128 {
        self.start(u128::from(index) + u128::from(units > 0))
    }

    fn packed(&self) -> WordLayout {
        let Self { counter, window, phase, .. } = *self;
        WordLayout { word: *b"fixed   ", unit: window, grain: phase, count_bits: counter.count.bits }
    }

    fn starts_anew(&self) -> bool {
        true
    }

    fn drain(&self) -> (Drain, bool) {
        (Drain::AtOnce, false)
    }

    fn burst_ns(&self) -> u64 {
        self.window
    }

    fn lasts_until(&self, index: u64, _: u64, _: u64) -> u128 {
        self.free_at(index, 1)
    }
}

/// Opened by a request. The start is rounded up to a quantum, so a window is never shorter than asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindowFirst {
    counter: Counter,
    window: u64,
    quantum: u64,
    by_quantum: Divider,
}

impl FixedWindowFirst {
    pub(super) fn new(counter: Counter, window: u64, quantum: u64) -> Self {
        let kernel = Self { counter, window, quantum, by_quantum: Divider::new(quantum) };
        debug_assert!(quantum <= window / MIN_QUANTA && counter.holds(kernel.time_at(counter.max_now)));
        kernel
    }
}

impl Counting for FixedWindowFirst {
    #[inline]
    fn counter(&self) -> &Counter {
        &self.counter
    }

    #[inline]
    fn time_at(&self, instant: u64) -> u64 {
        self.by_quantum.ceil(instant)
    }

    #[inline]
    fn passed(&self, start: u64, used: u64, now: u64) -> (u64, u64) {
        if used > 0 && u128::from(now) < self.free_at(start, used) {
            return (start, used);
        }
        // A start without a count is ground: nothing opens before it.
        (start.max(self.time_at(now)), 0)
    }

    #[inline]
    fn free_at(&self, start: u64, units: u64) -> u128 {
        let start = u128::from(start) * u128::from(self.quantum);
        if units == 0 { start } else { start + u128::from(self.window) }
    }

    /// A write is within a quantum before the start that it rounds to.
    #[inline]
    fn written_from(&self, start: u64) -> u128 {
        self.free_at(start.saturating_sub(1), 0)
    }

    fn packed(&self) -> WordLayout {
        let Self { counter, window, quantum, .. } = *self;
        WordLayout { word: *b"fixed1st", unit: window, grain: quantum, count_bits: counter.count.bits }
    }

    fn starts_anew(&self) -> bool {
        false
    }

    fn under(&self, next: &Self, start: u64, used: u64, _: u64) -> (u128, u64) {
        (ceil(u128::from(start) * u128::from(self.quantum), next.quantum), used)
    }

    /// One by one: the window opens when a unit is charged, and so as near as can be to its use.
    fn drain(&self) -> (Drain, bool) {
        (Drain::AtOnce, true)
    }

    fn lasts_until(&self, start: u64, _: u64, _: u64) -> u128 {
        self.free_at(start, 1)
    }
}
