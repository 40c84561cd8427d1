//! What policies did in the course of time: a second replay, of the requests that the first one kept.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use ratecell::{Limiter, Policy, Request};
use ratecell_study::Recording;

use crate::log::Period;
use crate::replay::tally::{Counts, hash};

/// The most spans of time in a picture.
const MOST_BINS: u64 = 120;

/// Lengths of time that people count in, in seconds.
const STEPS: [u64; 18] =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 604_800];

const SECOND_NS: u64 = 1_000_000_000;

/// The spans of time into which the period of a log is cut. They begin at multiples of their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bins {
    /// The beginning of the first, since the epoch of the period.
    pub(super) start_ns: u64,
    pub(super) width_ns: u64,
    pub(super) count: usize,
}

impl Bins {
    pub(super) fn of(period: &Period) -> Self {
        let (first_ns, last_ns) = (period.now_ns(period.first_ns), period.now_ns(period.last_ns));
        let count = |width_ns: u64| last_ns / width_ns - first_ns / width_ns + 1;
        let fitting =
            STEPS.iter().map(|step| step * SECOND_NS).find(|width_ns| count(*width_ns) <= MOST_BINS);
        let width_ns = fitting.unwrap_or_else(|| (last_ns / (MOST_BINS - 1)).max(1));
        let start_ns = first_ns / width_ns * width_ns;
        Self { start_ns, width_ns, count: count(width_ns) as usize }
    }

    /// The span of an instant. Requests of the last stamp may be spread beyond the last span; they count in it.
    fn place(self, now_ns: u64) -> usize {
        ((now_ns.saturating_sub(self.start_ns) / self.width_ns) as usize).min(self.count - 1)
    }
}

/// The decisions of a policy, by span.
#[derive(Clone, Debug)]
pub(super) struct Course {
    pub(super) all: Vec<Counts>,
    /// Of some keys, by their numbers.
    pub(super) of_keys: BTreeMap<usize, Vec<Counts>>,
}

/// Decides all requests by `policy`, with room for `max_keys`, and counts those of `keys` apart, too.
pub(super) fn course(
    recording: &Recording,
    bins: Bins,
    policy: &Policy,
    max_keys: usize,
    keys: impl Iterator<Item = usize>,
) -> Result<Course> {
    let limiter = Limiter::builder(policy.clone()).max_keys(max_keys).build().context("--max-keys")?;
    let empty = vec![Counts::default(); bins.count];
    let mut course = Course { of_keys: keys.map(|key| (key, empty.clone())).collect(), all: empty };
    recording.for_each(|key, now_ns, cost| {
        let request = Request::hashed(hash(key)).cost(cost).at(now_ns);
        let is_allowed = limiter.decide(request).is_allowed();
        let place = bins.place(now_ns);
        for counts in [&mut course.all].into_iter().chain(course.of_keys.get_mut(&key)) {
            counts[place].add(is_allowed);
        }
    })?;
    Ok(course)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_the_period() {
        for (first_s, span_s, width_s) in [
            (0, 0, 1),
            (7, 119, 1),
            (7, 120, 2),
            (86_399, 3_600, 60),
            (50, 86_400, 900),
            (1, 100_000_000, 840_336),
        ] {
            let mut period = Period::from(first_s * SECOND_NS);
            period.last_ns += span_s * SECOND_NS;
            let bins = Bins::of(&period);
            assert_eq!(bins.width_ns / SECOND_NS, width_s);
            assert!(bins.count as u64 <= MOST_BINS);
            assert_eq!(bins.place(period.now_ns(period.first_ns)), 0);
            assert_eq!(bins.place(period.now_ns(period.last_ns)), bins.count - 1);
        }
    }
}
