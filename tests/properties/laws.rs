//! The five laws that every algorithm obeys.

use proptest::prelude::*;
use ratecell::{Decision, DirectLimiter, Mode, Outcome, Request};

use crate::policies::{Accepted, Algorithm, Heal, Layer, policies};
use crate::traffic::{Clock, Steps, traffic};
use crate::{cases, limiter};

const CASES: u32 = 100_000;

proptest! {
    #![proptest_config(cases(CASES))]

    /// Law 1. Of two keys, one gets all requests and the other only those that the first was allowed:
    /// nothing tells them apart.
    #[test]
    fn a_refused_request_and_a_peek_change_nothing(
        accepted in policies(Heal::Sometimes),
        traffic in traffic(Steps::Both, 30),
    ) {
        let limiter = limiter(&accepted.policy);
        let mut clock = Clock::new(&accepted, traffic.origin);
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = limiter.check_at("all", cost, now);
            if cost > 0 && last.is_allowed() {
                prop_assert_eq!(limiter.check_at("allowed", cost, now), last);
            }
        }
        let now = clock.now;
        prop_assert_eq!(limiter.check_at("allowed", 0, now), limiter.check_at("all", 0, now));
    }

    /// Law 2. The clock follows each `retry_after`. Of several layers, one that heals may admit now what
    /// it refuses later, when another layer would admit it: there is no exact retry then.
    #[test]
    fn a_retry_is_refused_until_it_is_due_and_then_allowed(
        accepted in policies(Heal::Alone),
        traffic in traffic(Steps::Both, 30),
    ) {
        let limiter = limiter(&accepted.policy);
        let mut clock = Clock::new(&accepted, traffic.origin);
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = limiter.check_at("k", cost, now);
            match last.outcome() {
                Outcome::Allowed => prop_assert_eq!(last.retry_after_ns(), 0),
                Outcome::Never => {
                    prop_assert!(cost > accepted.capacity());
                    prop_assert_eq!(last.retry_after(), None);
                }
                Outcome::Denied => {
                    prop_assert!(cost <= accepted.capacity());
                    let Some(due) = accepted.after(now, last.retry_after_ns()) else { break };
                    let early = limiter.check_at("k", cost, due - 1);
                    prop_assert_eq!(early.outcome(), Outcome::Denied);
                    prop_assert_eq!(early.retry_after_ns(), 1);
                    last = limiter.check_at("k", cost, due);
                    prop_assert!(last.is_allowed(), "due at {}, then {:?}", due, last);
                    clock.now = due;
                }
                _ => prop_assert!(false, "the clock stops before {}", now),
            }
        }
    }

    /// One unit more than what remains is allowed when the decision says so, and 1 ns earlier it is denied.
    #[test]
    fn next_is_when_one_unit_more_is_allowed(
        accepted in policies(Heal::Never),
        traffic in traffic(Steps::Both, 20),
    ) {
        let limiter = limiter(&accepted.policy);
        let mut clock = Clock::new(&accepted, traffic.origin);
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = limiter.decide(Request::new("k").cost(cost).at(now).with_next());
            let Ok(more) = u32::try_from(last.remaining() + 1) else { break };
            let Some(next) = last.next_after() else {
                prop_assert_eq!(limiter.check_at("k", more, now).retry_after(), None);
                continue;
            };
            let Some(due) = accepted.after(now, next.as_nanos() as u64) else { break };
            prop_assert_eq!(limiter.check_at("k", more, due - 1).outcome(), Outcome::Denied);
            if request.ask.cost(2) > 0 {
                last = limiter.check_at("k", more, due);
                prop_assert!(last.is_allowed(), "due at {}, then {:?}", due, last);
                clock.now = due;
            }
        }
    }

    /// Law 3. Until its reset a key is told from a fresh one; from then on by nothing, while the clock
    /// does not go back.
    #[test]
    fn from_its_reset_a_key_is_as_a_fresh_one(
        accepted in policies(Heal::Never),
        before in traffic(Steps::Both, 15),
        after in traffic(Steps::Forward, 15),
    ) {
        let limiter = limiter(&accepted.policy);
        let mut clock = Clock::new(&accepted, before.origin);
        let mut last = Decision::default();
        for request in before.requests {
            let now = clock.tick(request.tick, &last);
            last = limiter.check_at("used", request.ask.cost(accepted.capacity()), now);
        }
        let wait = limiter.check_at("used", 0, clock.now).reset_after_ns();
        let Some(reset) = accepted.after(clock.now, wait) else { return Ok(()) };
        if wait > 0 {
            prop_assert_eq!(limiter.check_at("used", 0, reset - 1).reset_after_ns(), 1);
            prop_assert_eq!(limiter.check_at("fresh", 0, reset - 1).reset_after_ns(), 0);
        }
        clock.now = reset;
        for request in after.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = limiter.check_at("fresh", cost, now);
            prop_assert_eq!(limiter.check_at("used", cost, now), last);
        }
    }

    /// Law 4. One limiter is asked for n at once, the other n times for 1. Where n are too many, the
    /// first gets in one piece what the second got singly.
    #[test]
    fn n_units_at_once_are_n_times_one(
        accepted in policies(Heal::Sometimes),
        traffic in traffic(Steps::Both, 20),
    ) {
        let whole = DirectLimiter::new(accepted.policy.clone());
        let singly = DirectLimiter::new(accepted.policy.clone());
        let mut clock = Clock::new(&accepted, traffic.origin);
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity()).min(50);
            last = whole.check_at(cost, now);
            let singles: Vec<Decision> =
                (0..cost).map(|_| singly.check_at(1, now)).take_while(Decision::is_allowed).collect();
            let passed = singles.len() as u32;
            if cost == 0 {
                prop_assert_eq!(singly.check_at(0, now), last);
                continue;
            }
            prop_assert_eq!(last.is_allowed(), passed == cost, "{} of {} at {}", passed, cost, now);
            if passed > 0 {
                let passed_at_once = if passed == cost { last } else { whole.check_at(passed, now) };
                prop_assert_eq!(singles.last(), Some(&passed_at_once));
            }
        }
    }

    /// Law 5. Whatever the clock does, a key that takes all it can get stays within the bound of the
    /// span that the clock has seen.
    #[test]
    fn a_clock_that_steps_back_admits_no_more_than_its_span(
        accepted in policies(Heal::Never),
        traffic in traffic(Steps::Both, 40),
    ) {
        let limiter = limiter(&accepted.policy);
        let mut clock = Clock::new(&accepted, traffic.origin);
        let mut last = Decision::default();
        let (mut least, mut greatest) = (u64::MAX, 0);
        let mut admitted = 0;
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            (least, greatest) = (least.min(now), greatest.max(now));
            admitted += u128::from(take_all(&accepted, |cost| limiter.check_at("k", cost, now)));
            last = limiter.check_at("k", 1, now);
            prop_assert!(!last.is_allowed());
            let bound = bound(&accepted, least, greatest);
            prop_assert!(admitted <= bound, "{} in [{}, {}], not {}", admitted, least, greatest, bound);
        }
    }

    /// Law 5, healed: between two steps back the bound is that of the span between them.
    #[test]
    fn a_healed_clock_admits_at_most_one_more_burst_a_step_back(
        accepted in policies(Heal::Sometimes),
        traffic in traffic(Steps::Both, 40),
    ) {
        let limiter = limiter(&accepted.policy);
        let mut clock = Clock::new(&accepted, traffic.origin);
        let mut last = Decision::default();
        let (mut start, mut end) = (clock.now, clock.now);
        let (mut admitted, mut earlier) = (0, 0);
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            if now < end {
                earlier += bound(&accepted, start, end);
                start = now;
            }
            end = now;
            admitted += u128::from(take_all(&accepted, |cost| limiter.check_at("k", cost, now)));
            last = limiter.check_at("k", 1, now);
            prop_assert!(admitted <= earlier + bound(&accepted, start, end));
        }
    }
}

/// Takes all that remains; says how much that was.
fn take_all(accepted: &Accepted, check: impl Fn(u32) -> Decision) -> u64 {
    let all = check(accepted.capacity());
    if all.is_allowed() {
        return accepted.capacity().into();
    }
    let rest = u32::try_from(all.remaining()).expect("no more than the capacity");
    if rest > 0 && check(rest).is_allowed() { rest.into() } else { 0 }
}

/// The most units that may pass from `least` to `greatest`, both within.
fn bound(accepted: &Accepted, least: u64, greatest: u64) -> u128 {
    accepted.layers.iter().map(|layer| layer_bound(layer, least, greatest)).min().unwrap_or(0)
}

pub(crate) fn layer_bound(layer: &Layer, least: u64, greatest: u64) -> u128 {
    let span = u128::from(greatest - least);
    let (limit, period) = (u128::from(layer.limit), u128::from(layer.period_ns));
    let capacity = u128::from(layer.capacity());
    // The multiples of the period that are passed, where `phase` is one before the first.
    let edges = |phase: u64| {
        let index = |now: u64| (u128::from(now) + u128::from(phase)) / period;
        index(greatest) - index(least)
    };
    match layer.algorithm {
        Algorithm::Gcra { .. }
        | Algorithm::LeakyMeter { .. }
        | Algorithm::LeakyQueue { .. }
        | Algorithm::TokenBucket { mode: Mode::Continuous, .. } => capacity + span * limit / period,
        Algorithm::TokenBucket { mode: Mode::Interval, .. } => capacity + limit * edges(0),
        Algorithm::TokenBucket { .. } => capacity + limit * (span / period),
        Algorithm::SlidingWindow { .. } | Algorithm::CalendarWindow => limit * (edges(0) + 1),
        // Of two neighbouring windows.
        Algorithm::InFlight => limit * (edges(0) + 1).div_ceil(2),
        Algorithm::FixedWindow { offset_ns } => limit * (edges(layer.period_ns - offset_ns) + 1),
        Algorithm::SlidingLog | Algorithm::FixedWindowFirst => limit * (span / period + 1),
    }
}

proptest! {
    #![proptest_config(cases(10_000))]

    /// The other side of the bound, for the GCRA family: after a burst, unit k passes when k emission
    /// intervals have passed, to the nanosecond and for ever. The capacity must hold what is earned in
    /// the part of a nanosecond by which a unit comes late.
    #[test]
    fn a_saturated_key_gets_all_of_its_rate(
        (accepted, emission) in policies(Heal::Never).prop_filter_map("not of the family, or no slack", |accepted| {
            let emission = accepted.policy.resolved().next()?.emission?;
            let slack = u128::from(accepted.capacity() - 1) * u128::from(emission.num);
            let alone = accepted.layers.len() == 1;
            (alone && slack >= emission.den.into()).then_some((accepted, emission))
        }),
        start in 0..1_u64 << 53,
        units in 1..100_u128,
    ) {
        let limiter = DirectLimiter::new(accepted.policy.clone());
        let start = start.min(accepted.policy.max_now_ns());
        prop_assert!(limiter.check_at(accepted.capacity(), start).is_allowed());
        for unit in 1..=units {
            let wait = (unit * u128::from(emission.num)).div_ceil(emission.den.into());
            let wait = u64::try_from(wait).unwrap_or(Decision::NEVER);
            let Some(due) = accepted.after(start, wait) else { break };
            prop_assert!(!limiter.check_at(1, due - 1).is_allowed());
            prop_assert!(limiter.check_at(1, due).is_allowed());
        }
    }
}
