//! What the neighbours of a policy would have done: half and twice its limit, and other bursts.

use anyhow::{Context, Result};
use ratecell::{Limiter, Policy, Request};
use ratecell_study::Recording;

use crate::replay::tally::{Counts, hash};

/// Options that say how many units can pass at once.
const BURSTS: [&str; 3] = ["burst", "capacity", "queue"];

/// A neighbour, and what it would have done.
#[derive(Debug)]
pub(super) struct WhatIf {
    pub(super) policy: String,
    pub(super) counts: Counts,
    pub(super) keys_denied: usize,
}

/// Decides all requests by each neighbour of `policy`, with room for `max_keys`. The keys have numbers below `keys`.
pub(super) fn what_if(
    recording: &Recording,
    policy: &Policy,
    max_keys: usize,
    keys: usize,
) -> Result<Vec<WhatIf>> {
    let mut tries = Vec::new();
    for neighbour in neighbours(policy) {
        let limiter = Limiter::builder(neighbour.clone()).max_keys(max_keys).build().context("--max-keys")?;
        let policy = neighbour.to_string();
        let what_if = WhatIf { policy, counts: Counts::default(), keys_denied: 0 };
        tries.push((limiter, vec![false; keys], what_if));
    }
    recording.for_each(|key, now_ns, cost| {
        let request = Request::hashed(hash(key)).cost(cost).at(now_ns);
        for (limiter, is_denied, what_if) in &mut tries {
            let is_allowed = limiter.decide(request).is_allowed();
            what_if.counts.add(is_allowed);
            is_denied[key] |= !is_allowed;
        }
    })?;
    let done = tries.into_iter().map(|(_, is_denied, what_if)| WhatIf {
        keys_denied: is_denied.into_iter().filter(|is_denied| *is_denied).count(),
        ..what_if
    });
    Ok(done.collect())
}

/// The policies that differ from `policy` in one number of one layer, which is half as much or twice as much: its limit,
/// or what can pass at once.
fn neighbours(policy: &Policy) -> Vec<Policy> {
    let text = policy.to_string();
    let layers: Vec<_> = text.split(" & ").collect();
    let mut neighbours = Vec::new();
    for (place, layer) in layers.iter().enumerate() {
        for other in others(layer) {
            let mut layers = layers.clone();
            layers[place] = &other;
            // A number can be out of range, or an option none of the algorithm's.
            let Ok(neighbour) = layers.join(" & ").parse::<Policy>() else { continue };
            if neighbour != *policy && !neighbours.contains(&neighbour) {
                neighbours.push(neighbour);
            }
        }
    }
    neighbours
}

/// The texts of a layer with another limit or another burst.
fn others(layer: &str) -> Vec<String> {
    let words: Vec<_> = layer.split(' ').collect();
    let with = |place: usize, word: String| {
        let mut words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        words.splice(place..(place + 1).min(words.len()), [word]);
        words.join(" ")
    };
    let quota = words.iter().enumerate().find_map(|(place, word)| {
        let (limit, period) = word.split_once('/')?;
        Some((place, limit.parse::<u64>().ok()?, period))
    });
    let Some((place, limit, period)) = quota else { return Vec::new() };
    let mut others: Vec<_> =
        [limit / 2, limit * 2].map(|limit| with(place, format!("{limit}/{period}"))).into();
    let mut bursts = BURSTS.iter().filter_map(|option| {
        words.iter().enumerate().find_map(|(place, word)| {
            let units = word.strip_prefix(option)?.strip_prefix('=')?;
            Some((place, *option, units.parse::<u64>().ok()?))
        })
    });
    let (place, option, units) = bursts.next().unwrap_or((words.len(), "burst", limit));
    others.extend([units / 2, units * 2].map(|units| with(place, format!("{option}={units}"))));
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_differs_in_one_number() {
        for (policy, expected) in [
            ("10/s", &["5/s", "20/s", "10/s burst=5", "10/s burst=20"][..]),
            ("10/s burst=3", &["5/s burst=3", "20/s burst=3", "10/s burst=1", "10/s burst=6"]),
            ("1/h", &["2/h", "1/h burst=2"]),
            ("sliding_window 7/1m", &["sliding_window 3/1m", "sliding_window 14/1m"]),
            (
                "token_bucket 5/10s capacity=8 mode=interval",
                &[
                    "token_bucket 2/10s capacity=8 mode=interval",
                    "token_bucket 10/10s capacity=8 mode=interval",
                    "token_bucket 5/10s capacity=4 mode=interval",
                    "token_bucket 5/10s capacity=16 mode=interval",
                ],
            ),
            (
                "10/s & fixed_window 100/h",
                &[
                    "5/s & fixed_window 100/h",
                    "20/s & fixed_window 100/h",
                    "10/s burst=5 & fixed_window 100/h",
                    "10/s burst=20 & fixed_window 100/h",
                    "10/s & fixed_window 50/h",
                    "10/s & fixed_window 200/h",
                ],
            ),
            ("fixed_window 4294967295/h", &["fixed_window 2147483647/h"]),
        ] {
            let policy: Policy = policy.parse().unwrap();
            let expected: Vec<Policy> = expected.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(neighbours(&policy), expected, "{policy}");
        }
    }
}
