//! A table without room, of several homes: whatever it answers to newcomers, no key gets more than its bound.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ratecell::{Decision, Limiter, Mode, Request, Stats, WhenFull};

use crate::cases;
use crate::laws::layer_bound;
use crate::model::{Key, Model};
use crate::policies::{Accepted, Algorithm, Layer, policies_of};
use crate::traffic::{Clock, Steps, Traffic, crowd};

fn any_answer() -> impl Strategy<Value = WhenFull> {
    prop::sample::select(vec![WhenFull::Evict, WhenFull::Share, WhenFull::Deny, WhenFull::Allow])
}

/// Every answer but the one that forgives.
fn charging() -> impl Strategy<Value = WhenFull> {
    any_answer().prop_filter("forgives", |when_full| *when_full != WhenFull::Evict)
}

/// One request that was charged to its key.
struct Charged {
    key: usize,
    /// Its place among all requests.
    step: usize,
    cost: u32,
}

/// What came of the traffic.
struct Course {
    charged: Vec<Charged>,
    /// When each request was made, charged or not.
    instants: Vec<u64>,
    stats: Stats,
}

fn course(accepted: &Accepted, when_full: WhenFull, traffic: Traffic) -> Course {
    // Two buckets or three; a shard of logs.
    let max_keys = 12 + 6 * usize::from(traffic.requests.len().is_multiple_of(2));
    let limiter = Limiter::builder(accepted.policy.clone()).max_keys(max_keys).when_full(when_full);
    let limiter = limiter.build().expect("a small table");
    let mut clock = Clock::new(accepted, traffic.origin);
    let mut last = Decision::default();
    let (mut charged, mut instants) = (Vec::new(), Vec::new());
    for (step, request) in traffic.requests.iter().enumerate() {
        let mut now = clock.tick(request.tick, &last);
        if let Some(heal) = accepted.layers[0].heal_ns {
            // No further back than what heals.
            now = now.max(instants.iter().max().map_or(0, |latest: &u64| latest.saturating_sub(heal)));
            clock.now = now;
        }
        let cost = request.ask.cost(accepted.capacity());
        let uncharged = limiter.stats_at(now).allowed_full;
        let hash = u64::from(request.key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        last = limiter.decide(Request::hashed(hash).cost(cost).at(now));
        if cost > 0 && last.is_allowed() && limiter.stats_at(now).allowed_full == uncharged {
            charged.push(Charged { key: request.key.into(), step, cost });
        }
        instants.push(now);
    }
    Course { charged, instants, stats: limiter.stats_at(clock.now) }
}

/// Every key's requests that were allowed and charged are allowed by a cell of its own, by the definition: each at its
/// instant, or, where the clock had been later, as if it had come then. A TAT is never judged later than asked.
fn assert_allowed_alone(accepted: &Accepted, course: &Course) -> Result<(), TestCaseError> {
    let model = Model::new(accepted);
    let layer = &accepted.layers[0];
    let mut keys = vec![BTreeSet::from([model.unused_key()]); usize::from(u8::MAX)];
    for Charged { key, step, cost } in &course.charged {
        let now = course.instants[*step];
        let latest = course.instants[..=*step].iter().max().expect("this one at least");
        let instants = as_if(layer, now, *latest);
        let after = |key: &Key| {
            let admitted = |now: &u64| model.admitted(key, *now, *cost);
            instants.iter().filter_map(admitted).collect::<Vec<_>>()
        };
        let after = keys[*key].iter().flat_map(after).collect();
        let before = core::mem::replace(&mut keys[*key], after);
        prop_assert!(!keys[*key].is_empty(), "{cost} of key {key} at {now} beyond {before:?}");
    }
    Ok(())
}

/// The instants as which a request at `now` may have been judged.
fn as_if(layer: &Layer, now: u64, latest: u64) -> Vec<u64> {
    let phase = match layer.algorithm {
        Algorithm::FixedWindow { offset_ns } => offset_ns,
        Algorithm::SlidingWindow { .. }
        | Algorithm::CalendarWindow
        | Algorithm::InFlight
        | Algorithm::TokenBucket { mode: Mode::Interval, .. } => 0,
        _ => return vec![now],
    };
    let period = layer.period_ns;
    let first = now.checked_sub(phase).map_or(phase, |since| (now - since % period).saturating_add(period));
    let starts = core::iter::successors(Some(first), |start| start.checked_add(period));
    core::iter::once(now).chain(starts.take_while(|start| *start <= latest)).collect()
}

/// Law 5, between any two requests: how many units all keys together got beyond it.
fn excess(layer: &Layer, course: &Course) -> u128 {
    let beyond = |key: usize| {
        let charged: Vec<_> = course.charged.iter().filter(|charged| charged.key == key).collect();
        let from = |first: usize| {
            // What begins with a request may have begun before the first that is looked at.
            let begun = match layer.algorithm {
                Algorithm::FixedWindowFirst | Algorithm::TokenBucket { mode: Mode::IntervalFirst, .. } => {
                    u128::from(first > 0) * u128::from(layer.limit)
                }
                _ => 0,
            };
            let (mut least, mut greatest, mut units) = (u64::MAX, 0, 0);
            let mut seen = charged[first].step;
            let mut beyond = 0;
            for Charged { step, cost, .. } in &charged[first..] {
                let span = &course.instants[seen..=*step];
                least = span.iter().copied().fold(least, u64::min);
                greatest = span.iter().copied().fold(greatest, u64::max);
                (seen, units) = (*step, units + u128::from(*cost));
                beyond = beyond.max(units.saturating_sub(layer_bound(layer, least, greatest) + begun));
            }
            beyond
        };
        (0..charged.len()).map(from).max().unwrap_or(0)
    };
    (0..usize::from(u8::MAX)).map(beyond).sum()
}

macro_rules! kinds {
    ($($name:ident: $steps:ident, $keys:literal keys, $requests:literal requests, $cases:literal cases, $pattern:pat),+ $(,)?) => {
        $(mod $name {
            use super::*;

            fn accepted() -> impl Strategy<Value = Accepted> {
                policies_of(|algorithm| matches!(algorithm, $pattern))
            }

            proptest! {
                #![proptest_config(cases($cases))]

                #[test]
                fn a_key_without_room_gets_no_more_than_alone(
                    accepted in accepted(),
                    when_full in charging(),
                    traffic in crowd(Steps::$steps, $keys, $requests),
                ) {
                    assert_allowed_alone(&accepted, &course(&accepted, when_full, traffic))?;
                }

                #[test]
                fn all_keys_exceed_their_bounds_by_no_more_than_was_forgiven(
                    accepted in accepted(),
                    when_full in any_answer(),
                    traffic in crowd(Steps::Both, $keys, $requests),
                ) {
                    let course = course(&accepted, when_full, traffic);
                    let excess = excess(&accepted.layers[0], &course);
                    prop_assert!(excess <= course.stats.forgiven.into(), "{} beyond, {:?}", excess, course.stats);
                }
            }
        })+
    };
}

// More keys than two or three buckets have slots, and than one shard has logs. What begins with a request has no times
// that a clock behind could be judged as; what then holds is law 5.
kinds! {
    rate: Both, 60 keys, 300 requests, 1_000 cases,
        Algorithm::Gcra { .. } | Algorithm::LeakyMeter { .. } | Algorithm::LeakyQueue { .. }
        | Algorithm::TokenBucket { mode: Mode::Continuous, .. },
    bucket_interval: Both, 60 keys, 300 requests, 4_000 cases, Algorithm::TokenBucket { mode: Mode::Interval, .. },
    bucket_interval_first: Forward, 60 keys, 300 requests, 4_000 cases,
        Algorithm::TokenBucket { mode: Mode::IntervalFirst, .. },
    sliding_window: Both, 60 keys, 300 requests, 4_000 cases, Algorithm::SlidingWindow { .. },
    sliding_log: Forward, 150 keys, 1_000 requests, 200 cases, Algorithm::SlidingLog,
    fixed_window: Both, 60 keys, 300 requests, 4_000 cases, Algorithm::FixedWindow { .. },
    fixed_window_first: Forward, 60 keys, 300 requests, 4_000 cases, Algorithm::FixedWindowFirst,
    calendar_window: Both, 60 keys, 300 requests, 4_000 cases, Algorithm::CalendarWindow,
    in_flight: Both, 60 keys, 300 requests, 4_000 cases, Algorithm::InFlight,
}
