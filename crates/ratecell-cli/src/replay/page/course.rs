//! What policies did in the course of time: a second replay, of the requests that the first one kept.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use ratecell::{Limiter, Policy, Request};
use ratecell_study::Recording;

use super::axis::Axis;
use crate::replay::tally::{Counts, hash};

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
    axis: &Axis,
    policy: &Policy,
    max_keys: usize,
    keys: impl Iterator<Item = usize>,
) -> Result<Course> {
    let limiter = Limiter::builder(policy.clone()).max_keys(max_keys).build().context("--max-keys")?;
    let empty = vec![Counts::default(); axis.count];
    let mut course = Course { of_keys: keys.map(|key| (key, empty.clone())).collect(), all: empty };
    recording.for_each(|key, now_ns, cost| {
        let request = Request::hashed(hash(key)).cost(cost).at(now_ns);
        let is_allowed = limiter.decide(request).is_allowed();
        let place = axis.place(now_ns);
        for counts in [&mut course.all].into_iter().chain(course.of_keys.get_mut(&key)) {
            counts[place].add(is_allowed);
        }
    })?;
    Ok(course)
}
