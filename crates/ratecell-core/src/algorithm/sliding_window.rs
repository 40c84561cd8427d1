//! The sliding window counter: two aligned windows, the older one weighted by what is left of it.

use super::lease::{Drain, Lease};
use super::packing::WordLayout;
use super::params::Key;
use super::two_windows::{TwoWindows, View};
use super::{Algorithm, Held, Kernel, Lend, Plan, Reserve, Span, Spec, Step, quota};
use crate::decision::Decision;

pub(crate) static SLIDING_WINDOW: Spec = Spec {
    name: "sliding_window",
    quota: quota::WINDOW,
    options: &[Key::Strict],
    resolve: |params, pack, _| {
        let limit = params.limit("limit")?;
        let window = params.period("window")?;
        let (windows, resolved) = TwoWindows::resolve(params, pack, limit, window)?;
        let kernel = SlidingWindow::new(windows, params.strict.unwrap_or(false));
        Ok((Plan::Word(Kernel::SlidingWindow(kernel)), resolved))
    },
};

/// The sliding window counter, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingWindow {
    windows: TwoWindows,
    strict: bool,
}

impl SlidingWindow {
    pub(super) fn new(windows: TwoWindows, strict: bool) -> Self {
        Self { windows, strict }
    }

    pub(super) fn repacked(&self, next: &Self, word: u64) -> u64 {
        self.windows.repacked(&next.windows, word)
    }

    /// The most that `previous * (window - elapsed)` may be for `cost` to pass beside `current`;
    /// `None` if nothing is little enough.
    fn slack(&self, current: u64, cost: u64) -> Option<u128> {
        let left = u64::from(self.windows.limit).checked_sub(current + cost)?;
        let left = u128::from(left) * u128::from(self.windows.window);
        Some(if self.strict { left } else { left + u128::from(self.windows.window) - 1 })
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
            Ok(left) => Some(self.windows.window.saturating_sub(left)),
            Err(_) => Some(0),
        }
    }

    /// What the two counts weigh, in whole units: rounded down, or up if strict.
    fn estimate(&self, view: View) -> u64 {
        if view.previous == 0 {
            return view.current;
        }
        let weight = u128::from(view.previous) * u128::from(self.windows.window - view.elapsed);
        let whole = if self.strict { weight + u128::from(self.windows.window - 1) } else { weight };
        // The window is not 0; previous < 2^31 and the quotient of the window is at most 1.
        let units = whole.checked_div(u128::from(self.windows.window)).unwrap_or(0);
        units as u64 + view.current
    }

    fn retry(&self, view: View, cost: u64, now: u64) -> u64 {
        if let Some(elapsed) = self.first_elapsed(view.previous, self.slack(view.current, cost)) {
            return self.windows.until(view.index, elapsed, now);
        }
        match self.first_elapsed(view.current, self.slack(0, cost)) {
            Some(elapsed) => self.windows.until(view.index + 1, elapsed, now),
            None => self.windows.until(view.index + 2, 0, now),
        }
    }
}

impl Algorithm for SlidingWindow {
    #[inline]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        let limit = u64::from(self.windows.limit);
        if now > self.windows.max_now {
            return Step::out_of_range(limit);
        }
        let mut view = self.windows.view(if self.is_healed(word, now) { 0 } else { word }, now);
        let mut decision = Decision::allowed(limit);
        let mut charged = None;
        let weight = u128::from(view.previous) * u128::from(self.windows.window - view.elapsed);
        let units = u64::from(cost);
        if cost > self.windows.limit {
            decision.refuse();
        } else if self.slack(view.current, units).is_some_and(|slack| weight <= slack) {
            // At most the limit, which count_bits hold.
            view.current += units;
            if cost > 0 {
                charged = Some(self.windows.pack(view.index, view.previous, view.current));
            }
        } else {
            decision.deny(self.retry(view, units, now));
        }
        decision.remaining = limit.saturating_sub(self.estimate(view));
        decision.reset_after_ns = self.windows.reset(view, now);
        Step { charged, decision }
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        self.windows.fresh_at(word)
    }

    #[inline]
    fn carried(&self, word: u64, instant: u64) -> u64 {
        self.windows.carried(word, instant)
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        let view = self.windows.view(word, now);
        let strict = Self { strict: true, ..*self };
        strict.estimate(view)
    }

    #[inline]
    fn is_healed(&self, word: u64, now: u64) -> bool {
        self.windows.is_healed(word, now)
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        self.windows.heal
    }

    fn packing(&self) -> WordLayout {
        self.windows.packing(*b"sliding ")
    }
}

impl Reserve for SlidingWindow {
    fn held(&self, after: u64, _: u64, _: u32, given: u64) -> Held {
        let (made, ..) = self.windows.unpack(after);
        Held { made, given, ..Held::default() }
    }

    fn give_back(&self, word: u64, now: u64, held: &Held, _: u32, units: u32, _: Option<u64>) -> (u64, u64) {
        if self.is_healed(word, now) {
            return (word, 0);
        }
        self.windows.without(word, held.made, u64::from(units))
    }
}

impl Lend for SlidingWindow {
    fn span(&self, word: u64, now: u64) -> Option<Span> {
        let (held, ..) = self.windows.unpack(word);
        let View { index, previous, elapsed, .. } = self.windows.view(word, now);
        if now > self.windows.max_now || self.is_healed(word, now) || index != held {
            return None;
        }
        let weight = u128::from(previous) * u128::from(self.windows.window - elapsed);
        // The least by which the current count has to stay below the limit.
        let spare =
            if self.strict { weight } else { weight.saturating_sub(u128::from(self.windows.window) - 1) };
        let spare = spare.div_ceil(u128::from(self.windows.window));
        let floor = self.windows.pack(index, previous, 0);
        let ceiling = match u128::from(self.windows.limit).checked_sub(spare) {
            // At most the limit.
            Some(most) => floor + most as u64,
            // Not even 0 is little enough. The previous count is above 0, and so is the floor.
            None => floor.saturating_sub(1),
        };
        Some(Span { floor, ceiling, unit: 1, raises: false })
    }

    fn instant(&self, word: u64, now: u64) -> u64 {
        self.windows.begun(word, now)
    }

    /// To the end of the window in which they were charged.
    fn lasts_ns(&self, word: u64, _: u64, now: u64) -> u64 {
        let (index, ..) = self.windows.unpack(word);
        self.windows.until(index.saturating_add(1), 0, now)
    }

    fn lease(&self) -> Option<Lease> {
        Some(Lease {
            capacity: u64::from(self.windows.limit),
            drain: Drain::AtOnce,
            burst_ns: self.windows.window,
            undelayed_ns: None,
            one_by_one: false,
        })
    }
}
