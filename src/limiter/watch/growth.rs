//! What was admitted between two looks at a word: arithmetic alone.
//!
//! A word says what is held, so units that came and drained between the looks are not in it. Two bounds follow from it.

use ratecell_core::Emission;
use ratecell_core::algorithm::{Algorithm, Kernel};

/// How the units of a word drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drain {
    /// One in so many nanoseconds, rounded down.
    Evenly { interval: u64 },
    /// Those of a window of so many nanoseconds when it ends; `weighed` while the one after it passes. `first`: the window
    /// opens with a request.
    AtEnds { window: u64, weighed: bool, first: bool },
    /// Some at each interval of so many nanoseconds.
    InSteps { interval: u64, first: bool },
}

/// Units that were admitted: no fewer, and no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) least: u64,
    pub(super) most: u64,
}

/// The instants of two looks: before anything was seen at the first, and after all was seen at the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Drain {
    /// That of a layer; `None` where a word does not say what was admitted.
    pub(super) fn of(kernel: &Kernel, emission: Option<Emission>) -> Option<Self> {
        let unit = kernel.packing().unit;
        let at_ends = |weighed, first| Some(Self::AtEnds { window: unit, weighed, first });
        match kernel {
            Kernel::Gcra(_) => {
                emission.map(|Emission { num, den, .. }| Self::Evenly { interval: num / den.max(1) })
            }
            Kernel::FixedWindow(_) | Kernel::CalendarWindow(_) => at_ends(false, false),
            Kernel::FixedWindowFirst(_) => at_ends(false, true),
            Kernel::SlidingWindow(_) => at_ends(true, false),
            Kernel::BucketInterval(_) => Some(Self::InSteps { interval: unit, first: false }),
            Kernel::BucketIntervalFirst(_) => Some(Self::InSteps { interval: unit, first: true }),
            // Windows of many zones, requests that end, and units that a store has counted.
            Kernel::CallerWindow(_) | Kernel::InFlight(_) | Kernel::Lease(_) => None,
        }
    }

    /// The time within which nearly nothing drains unseen, in nanoseconds.
    pub(super) fn quiet_ns(self) -> u64 {
        match self {
            Self::Evenly { interval } => interval,
            Self::AtEnds { window, .. } => window / 16,
            Self::InSteps { interval, .. } => interval / 16,
        }
    }

    /// What was admitted by the layer of `capacity` while `before` became `after`.
    pub(super) fn growth<A: Algorithm>(
        self,
        algorithm: &A,
        capacity: u64,
        (before, after): (u64, u64),
        Span { from, to }: Span,
    ) -> Growth {
        // An admission makes a word greater; a word of a clock that was set back says nothing.
        if after <= before || algorithm.is_healed(after, to) {
            return Growth::default();
        }
        let risen = |at| algorithm.level(after, at).saturating_sub(algorithm.level(before, at));
        let elapsed = to.saturating_sub(from);
        let held = algorithm.level(before, from);
        let is_in_force = held > 0 && algorithm.level(before, to) == held;
        let (least, most) = match self {
            Self::Evenly { interval } => {
                // Each unit lifts the word by an interval, from where it was or from the instant of the request. Of the last one
                // nothing is left out: it is rounded up here, but for the nanoseconds that the instant is rounded by.
                let ground = algorithm.fresh_at(before).max(from);
                let most = algorithm.level(after, ground.saturating_add(interval.saturating_sub(2)));
                (risen(to), most)
            }
            Self::AtEnds { window, weighed, first } => {
                let until = if weighed { window.saturating_mul(2) } else { window };
                let is_old = algorithm.fresh_at(after).saturating_sub(until) <= from;
                if is_old || is_in_force && !weighed || first && held == 0 && elapsed < window {
                    (risen(from), risen(from))
                } else {
                    (risen(to), beyond(capacity, risen(from), elapsed, window, weighed))
                }
            }
            Self::InSteps { interval, first } => {
                if is_in_force || first && held == 0 && elapsed < interval {
                    (risen(from), risen(from))
                } else {
                    (risen(to), beyond(capacity, risen(from), elapsed, interval, false))
                }
            }
        };
        let least = least.max(1);
        Growth { least, most: most.max(least) }
    }
}

/// The most units where some end of a window was passed: at each of them no more than `capacity` is gone, and nothing that
/// is weighed is gone by more than that again.
fn beyond(capacity: u64, risen: u64, elapsed: u64, window: u64, weighed: bool) -> u64 {
    let ends = (elapsed / window.max(1)).saturating_add(1).saturating_add(u64::from(weighed));
    risen.saturating_add(capacity.saturating_mul(ends))
}

#[cfg(test)]
mod tests;
