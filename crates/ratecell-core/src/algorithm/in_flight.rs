//! Requests in flight: at most so many permits of a key are out at once. A permit comes back by its release, or by itself
//! after more than one hold and at most two.
//!
//! The word is that of two windows of one hold each; both counts count in full.

use super::packing::WordLayout;
use super::params::Key;
use super::two_windows::{TwoWindows, View};
use super::{Algorithm, Kernel, Lease, Lend, Plan, Span, Spec, Step, quota};
use crate::decision::Decision;

pub(crate) static IN_FLIGHT: Spec = Spec {
    name: "in_flight",
    quota: quota::UNITS,
    options: &[Key::Hold],
    resolve: |params, pack, _| {
        let limit = params.limit("limit")?;
        let (windows, resolved) = TwoWindows::resolve(params, pack, limit, params.hold()?)?;
        Ok((Plan::Word(Kernel::InFlight(InFlight::new(windows))), resolved))
    },
};

/// Permits in flight, with the policy's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    windows: TwoWindows,
}

/// What came of a [renewal](InFlight::renew).
#[derive(Clone, Copy, Debug)]
pub struct Renewed {
    /// The word, which is as it was where the renewal was refused.
    pub word: u64,
    /// The window that the permit is in now.
    pub window: u64,
    /// Allowed if the permit was moved; otherwise when it may be.
    pub decision: Decision,
}

impl InFlight {
    pub(super) fn new(windows: TwoWindows) -> Self {
        Self { windows }
    }

    pub(super) fn repacked(&self, next: &Self, word: u64) -> u64 {
        self.windows.repacked(&next.windows, word)
    }

    /// The window of a permit that was given at the charge that left `word`.
    #[must_use]
    pub fn window(&self, word: u64) -> u64 {
        let (index, ..) = self.windows.unpack(word);
        index
    }

    /// Takes back what still stands of a permit of `cost` units in `window`: the word without it, and how many units came
    /// back. By the word alone: a clock that steps back would find in it what a release at another time had left.
    #[must_use]
    pub fn release(&self, word: u64, now: u64, window: u64, cost: u32) -> (u64, u32) {
        if self.is_healed(word, now) {
            return (word, 0);
        }
        let (word, back) = self.windows.without(word, window, u64::from(cost));
        // At most the cost.
        (word, back as u32)
    }

    /// Whether all of a permit of `cost` units in `window` stands at `now`.
    #[must_use]
    pub fn stands(&self, word: u64, now: u64, window: u64, cost: u32) -> bool {
        let units = u64::from(cost);
        let is_read = now <= self.windows.max_now && !self.is_healed(word, now);
        is_read && standing(self.windows.view(word, now), window, units) == units
    }

    /// Moves a permit of `cost` units in `window` to the window of `now`, so that it lives on. What still stands of it is
    /// moved and the rest is acquired, all or nothing; so a permit that is renewed in time always is. `None`: a permit of
    /// an earlier life of the key, of which nothing stands.
    #[must_use]
    pub fn renew(&self, word: u64, now: u64, window: Option<u64>, cost: u32) -> Renewed {
        let limit = u64::from(self.windows.limit);
        let refused = |decision| Renewed { word, window: window.unwrap_or(0), decision };
        if now > self.windows.max_now {
            return refused(Decision::clock_range(limit));
        }
        let healed = self.is_healed(word, now);
        let view = self.windows.view(if healed { 0 } else { word }, now);
        if cost == 0 {
            let decision = self.report(word, now, 0);
            return Renewed { word, window: view.index, decision };
        }
        let in_current = window == Some(view.index);
        let units = u64::from(cost);
        let stands = window.map_or(0, |window| standing(view, window, units));
        let View { mut previous, mut current, .. } = view;
        if stands < units && previous + current - stands + units > limit {
            let rolled = self.windows.pack(view.index, previous, current);
            // At most the cost.
            let mut decision = self.report(rolled, now, (units - stands) as u32);
            // What is missing fits beside nothing: then only the whole does not.
            if decision.is_allowed() {
                decision.refuse();
            }
            return refused(decision);
        }
        if in_current {
            current -= stands;
        } else {
            previous -= stands;
        }
        let word = self.windows.pack(view.index, previous, current + units);
        let mut decision = self.report(word, now, 0);
        decision.allow();
        Renewed { word, window: view.index, decision }
    }
}

/// What stands of a permit of so many units in `window`.
fn standing(view: View, window: u64, units: u64) -> u64 {
    let View { index, previous, current, .. } = view;
    if window == index {
        units.min(current)
    } else if Some(window) == index.checked_sub(1) {
        units.min(previous)
    } else {
        0
    }
}

impl Algorithm for InFlight {
    #[inline]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        let limit = u64::from(self.windows.limit);
        if now > self.windows.max_now {
            return Step::out_of_range(limit);
        }
        let mut view = self.windows.view(if self.is_healed(word, now) { 0 } else { word }, now);
        let mut decision = Decision::allowed(limit);
        let mut charged = None;
        let units = u64::from(cost);
        if cost > self.windows.limit {
            decision.refuse();
        } else if view.previous + view.current + units <= limit {
            view.current += units;
            if cost > 0 {
                charged = Some(self.windows.pack(view.index, view.previous, view.current));
            }
        } else {
            let windows = if view.current + units <= limit { 1 } else { 2 };
            decision.deny(self.windows.until(view.index + windows, 0, now));
        }
        decision.remaining = limit.saturating_sub(view.previous + view.current);
        decision.reset_after_ns = self.windows.reset(view, now);
        Step { charged, decision }
    }

    /// What has happened already is not in flight.
    #[inline]
    fn fill(&self, word: u64, _: u64, _: u32) -> u64 {
        word
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
        view.previous + view.current
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
        self.windows.packing(*b"inflight")
    }
}

/// Permits are not lent: a release takes a unit back where it was counted, which a store far away does not.
impl Lend for InFlight {
    fn span(&self, _: u64, _: u64) -> Option<Span> {
        None
    }

    fn instant(&self, word: u64, now: u64) -> u64 {
        self.windows.begun(word, now)
    }

    fn lasts_ns(&self, _: u64, _: u64, _: u64) -> u64 {
        0
    }

    fn lease(&self) -> Option<Lease> {
        None
    }
}
