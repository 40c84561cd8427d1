//! The sliding window counter: two aligned windows, the older one weighted by what is left of it.
//!
//! | word | bits |
//! | --- | --- |
//! | index of the newer window | the rest |
//! | count of the older window | `bits(limit)` |
//! | count of the newer window | `bits(limit)` |

use super::divide::Divider;
use super::lease::{Drain, Lease};
use super::packing::WordLayout;
use super::params::Key;
use super::{Algorithm, Kernel, Lend, Plan, Resolved, Span, Spec, Step, WORD_LIMIT, quota};
use crate::decision::Decision;

pub(crate) static SLIDING_WINDOW: Spec = Spec {
    name: "sliding_window",
    quota: quota::WINDOW,
    options: &[Key::Strict],
    resolve: |params, pack, _| {
        let limit = params.limit("limit")?;
        let window = params.period("window")?;
        let last_beside = |count_bits: u32| {
            // Two counts of 32 bits leave no index: then this is below any horizon.
            let indices = WORD_LIMIT.checked_shr(2 * count_bits).unwrap_or(0);
            indices.checked_mul(window).map_or(u64::MAX, |end| end.saturating_sub(1))
        };
        let count_bits = pack.count_bits(limit, 31, params, last_beside)?;
        let max_now = last_beside(count_bits);
        params.reaches_horizon(max_now, "the window's index beside two counts of this limit")?;
        let kernel = SlidingWindow {
            window,
            limit,
            count_bits,
            strict: params.strict.unwrap_or(false),
            max_now,
            heal: params.heal_ns,
            by_window: Divider::new(window),
        };
        let resolved = Resolved {
            capacity: u64::from(limit),
            max_now_ns: max_now,
            cell_bits: 64,
            emission: None,
            count_bits: Some(count_bits),
            quantum_ns: None,
            boundaries: None,
            boundary_digest: None,
        };
        Ok((Plan::Word(Kernel::SlidingWindow(kernel)), resolved))
    },
};

/// The sliding window counter, with its parameters.
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindow {
    window: u64,
    limit: u32,
    /// At most 31: [`SLIDING_WINDOW`] refuses a limit that leaves no index.
    count_bits: u32,
    strict: bool,
    max_now: u64,
    heal: Option<u64>,
    by_window: Divider,
}

/// A word, unpacked and rolled forward to an instant.
#[derive(Clone, Copy, Debug)]
struct View {
    index: u64,
    previous: u64,
    current: u64,
    /// How much of the newer window has passed; 0 for a clock behind it.
    elapsed: u64,
}

impl SlidingWindow {
    fn unpack(&self, word: u64) -> (u64, u64, u64) {
        let mask = (1u64 << self.count_bits) - 1;
        (word >> (2 * self.count_bits), (word >> self.count_bits) & mask, word & mask)
    }

    fn pack(&self, index: u64, previous: u64, current: u64) -> u64 {
        (index << (2 * self.count_bits)) | (previous << self.count_bits) | current
    }

    fn view(&self, word: u64, now: u64) -> View {
        let (index, previous, current) = self.unpack(word);
        let at = self.by_window.floor(now);
        let elapsed = now - at * self.window;
        if at < index {
            View { index, previous, current, elapsed: 0 }
        } else if at == index {
            View { index, previous, current, elapsed }
        } else {
            View { index: at, previous: if at == index + 1 { current } else { 0 }, current: 0, elapsed }
        }
    }

    /// The most that `previous * (window - elapsed)` may be for `cost` to pass beside `current`;
    /// `None` if nothing is little enough.
    fn slack(&self, current: u64, cost: u64) -> Option<u128> {
        let left = u64::from(self.limit).checked_sub(current + cost)?;
        let left = u128::from(left) * u128::from(self.window);
        Some(if self.strict { left } else { left + u128::from(self.window) - 1 })
    }

    /// The first elapsed time at which `previous` weighs no more than `slack`, if it is in the window.
    fn first_elapsed(&self, previous: u64, slack: Option<u128>) -> Option<u64> {
        let slack = slack?;
        if previous == 0 {
            return Some(0);
        }
        let left = slack / u128::from(previous);
        match u64::try_from(left) {
            Ok(0) => None,
            Ok(left) => Some(self.window.saturating_sub(left)),
            Err(_) => Some(0),
        }
    }

    /// Nanoseconds from `now` to `elapsed` after the start of window `index`.
    fn until(&self, index: u64, elapsed: u64, now: u64) -> u64 {
        let at = u128::from(index) * u128::from(self.window) + u128::from(elapsed);
        Decision::until(at, now)
    }

    /// What the two counts weigh, in whole units: rounded down, or up if strict.
    fn estimate(&self, view: View) -> u64 {
        if view.previous == 0 {
            return view.current;
        }
        let weight = u128::from(view.previous) * u128::from(self.window - view.elapsed);
        let whole = if self.strict { weight + u128::from(self.window - 1) } else { weight };
        // The window is not 0; previous < 2^31 and the quotient of the window is at most 1.
        let units = whole.checked_div(u128::from(self.window)).unwrap_or(0);
        units as u64 + view.current
    }

    fn retry(&self, view: View, cost: u64, now: u64) -> u64 {
        if let Some(elapsed) = self.first_elapsed(view.previous, self.slack(view.current, cost)) {
            return self.until(view.index, elapsed, now);
        }
        match self.first_elapsed(view.current, self.slack(0, cost)) {
            Some(elapsed) => self.until(view.index + 1, elapsed, now),
            None => self.until(view.index + 2, 0, now),
        }
    }
}

impl Algorithm for SlidingWindow {
    #[inline]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        let limit = u64::from(self.limit);
        if now > self.max_now {
            return Step::out_of_range(limit);
        }
        let mut view = self.view(if self.is_healed(word, now) { 0 } else { word }, now);
        let mut decision = Decision::allowed(limit);
        let mut charged = None;
        let weight = u128::from(view.previous) * u128::from(self.window - view.elapsed);
        let units = u64::from(cost);
        if cost > self.limit {
            decision.refuse();
        } else if self.slack(view.current, units).is_some_and(|slack| weight <= slack) {
            // At most the limit, which count_bits hold.
            view.current += units;
            if cost > 0 {
                charged = Some(self.pack(view.index, view.previous, view.current));
            }
        } else {
            decision.deny(self.retry(view, units, now));
        }
        decision.remaining = limit.saturating_sub(self.estimate(view));
        decision.reset_after_ns = if view.current > 0 {
            self.until(view.index + 2, 0, now)
        } else if view.previous > 0 {
            self.until(view.index + 1, 0, now)
        } else {
            0
        };
        Step { charged, decision }
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        let (index, previous, current) = self.unpack(word);
        let windows = if current > 0 {
            index + 2
        } else if previous > 0 {
            index + 1
        } else {
            index
        };
        windows.saturating_mul(self.window)
    }

    #[inline]
    fn carried(&self, word: u64, instant: u64) -> u64 {
        let View { index, previous, current, .. } = self.view(word, instant);
        // Or the last index that fits.
        self.pack(index.min(u64::MAX >> (2 * self.count_bits)), previous, current)
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        let view = self.view(word, now);
        let strict = Self { strict: true, ..*self };
        strict.estimate(view)
    }

    #[inline]
    fn is_healed(&self, word: u64, now: u64) -> bool {
        let (index, ..) = self.unpack(word);
        self.heal.is_some_and(|heal| index.saturating_mul(self.window) > now.saturating_add(heal))
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        self.heal
    }

    fn packing(&self) -> WordLayout {
        WordLayout { word: *b"sliding ", unit: self.window, grain: 0, count_bits: self.count_bits }
    }
}

impl Lend for SlidingWindow {
    fn span(&self, word: u64, now: u64) -> Option<Span> {
        let (held, ..) = self.unpack(word);
        let View { index, previous, elapsed, .. } = self.view(word, now);
        if now > self.max_now || self.is_healed(word, now) || index != held {
            return None;
        }
        let weight = u128::from(previous) * u128::from(self.window - elapsed);
        // The least by which the current count has to stay below the limit.
        let spare = if self.strict { weight } else { weight.saturating_sub(u128::from(self.window) - 1) };
        let spare = spare.div_ceil(u128::from(self.window));
        let floor = self.pack(index, previous, 0);
        let ceiling = match u128::from(self.limit).checked_sub(spare) {
            // At most the limit.
            Some(most) => floor + most as u64,
            // Not even 0 is little enough. The previous count is above 0, and so is the floor.
            None => floor.saturating_sub(1),
        };
        Some(Span { floor, ceiling, unit: 1, raises: false })
    }

    fn instant(&self, word: u64, now: u64) -> u64 {
        let (index, ..) = self.unpack(word);
        now.max(index.saturating_mul(self.window))
    }

    /// To the end of the window in which they were charged.
    fn lasts_ns(&self, word: u64, _: u64, now: u64) -> u64 {
        let (index, ..) = self.unpack(word);
        self.until(index.saturating_add(1), 0, now)
    }

    fn lease(&self) -> Option<Lease> {
        Some(Lease {
            capacity: u64::from(self.limit),
            drain: Drain::AtOnce,
            burst_ns: self.window,
            undelayed_ns: None,
            one_by_one: false,
        })
    }
}
