//! Calls that must decide alike.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use ratecell::{Decision, DirectLimiter, Outcome, Request};

use crate::policies::{Heal, policies};
use crate::traffic::{Clock, Steps, Tick, traffic};
use crate::{cases, limiter};

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn a_direct_limiter_decides_as_one_key(
        accepted in policies(Heal::Sometimes),
        traffic in traffic(Steps::Both, 30),
    ) {
        let keyed = limiter(&accepted.policy);
        let direct = DirectLimiter::new(accepted.policy.clone());
        let mut clock = Clock::new(&accepted, traffic.origin).unlimited();
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = direct.check_at(cost, now);
            prop_assert_eq!(keyed.check_at("k", cost, now), last);
            prop_assert_eq!(keyed.decide(Request::hashed(7).cost(cost).at(now)), last);
            prop_assert_eq!(direct.check_at(0, now), keyed.check_at("k", 0, now));
        }
        direct.forget();
        prop_assert!(keyed.forget("k") || direct.check_at(0, clock.now) == keyed.check_at("k", 0, clock.now));
        prop_assert_eq!(direct.check_at(0, clock.now), keyed.check_at("k", 0, clock.now));
    }

    #[test]
    fn a_direct_limiter_is_charged_and_delayed_as_one_key(
        accepted in policies(Heal::Sometimes),
        spent in 0..3_u32,
        max_delay_ns in 0..2_000_000_000_u64,
        traffic in traffic(Steps::Both, 30),
    ) {
        let keyed = limiter(&accepted.policy);
        let direct = DirectLimiter::new(accepted.policy.clone());
        let max_delay = Duration::from_nanos(max_delay_ns);
        let mut clock = Clock::new(&accepted, traffic.origin).unlimited();
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = direct.decide(Request::default().cost(cost).at(now).within(max_delay));
            prop_assert_eq!(keyed.decide(Request::new("k").cost(cost).at(now).within(max_delay)), last);
            prop_assert_eq!(keyed.decide(Request::new("k").cost(spent).at(now).charge()), direct.decide(Request::default().cost(spent).at(now).charge()));
        }
    }

    /// The other is done again all that was let in, and then asked without the bound.
    #[test]
    fn a_check_within_a_delay_refuses_what_would_be_delayed_longer(
        accepted in policies(Heal::Never),
        traffic in traffic(Steps::Both, 20),
        periods in prop_oneof![Just(0.0), 0.0..2.0_f64],
    ) {
        let (limiter, other) = (limiter(&accepted.policy), limiter(&accepted.policy));
        let max_delay = Duration::from_nanos(accepted.layers[0].period_ns).mul_f64(periods);
        let mut clock = Clock::new(&accepted, traffic.origin);
        let mut last = Decision::default();
        let mut let_in = Vec::new();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            other.forget("k");
            for (cost, now) in &let_in {
                let _ = other.check_at("k", *cost, *now);
            }
            let before = other.check_at("k", 0, now);
            let plain = other.check_at("k", cost, now);
            last = limiter.decide(Request::new("k").cost(cost).at(now).within(max_delay));
            if plain.is_allowed() && plain.delay() <= max_delay {
                prop_assert_eq!(last, plain);
                let_in.push((cost, now));
                continue;
            }
            prop_assert_eq!((last.remaining(), last.reset_after()), (before.remaining(), before.reset_after()));
            if matches!(plain.outcome(), Outcome::Never | Outcome::ClockRange) {
                prop_assert_eq!((last.outcome(), last.delay()), (plain.outcome(), Duration::ZERO));
                continue;
            }
            // The delay that the policy gives at the first instant at which it admits the request.
            let admitted = now.saturating_add(plain.retry_after_ns());
            other.forget("k");
            for (cost, now) in &let_in {
                let _ = other.check_at("k", *cost, *now);
            }
            let then = other.check_at("k", cost, admitted);
            if !then.is_allowed() {
                // Past the policy's range.
                continue;
            }
            let delay = then.delay();
            prop_assert_eq!(last.delay(), delay);
            let alone = DirectLimiter::new(accepted.policy.clone());
            if alone.check_at(cost, now).delay() > max_delay {
                prop_assert_eq!((last.outcome(), last.retry_after()), (Outcome::Never, None));
                continue;
            }
            prop_assert_eq!(last.outcome(), Outcome::Denied);
            let wait = Duration::from_nanos(plain.retry_after_ns()) + delay.saturating_sub(max_delay);
            prop_assert_eq!(last.retry_after(), Some(wait));
        }
    }

    /// A batch is longer than what is prefetched at once, and its keys repeat.
    #[test]
    fn a_batch_is_its_checks_one_by_one(
        accepted in policies(Heal::Sometimes),
        batches in vec(vec(0..6_u64, 0..80), 1..4),
        cost in 0..4_u32,
        share in 0..192_u64,
        traffic in traffic(Steps::Both, 1),
    ) {
        let (batched, singly) = (limiter(&accepted.policy), limiter(&accepted.policy));
        let by_hash = limiter(&accepted.policy);
        let mut clock = Clock::new(&accepted, traffic.origin);
        for keys in batches {
            let now = clock.tick(Tick::Periods(share), &Decision::default());
            let bytes: Vec<[u8; 8]> = keys.iter().map(|key| key.to_le_bytes()).collect();
            let mut decisions = vec![Decision::default(); keys.len()];
            let requests: Vec<_> = bytes.iter().map(|key| Request::new(key).at(now)).collect();
            batched.decide_batch(&requests, &mut decisions);
            let one_by_one: Vec<_> = bytes.iter().map(|key| singly.check_at(key, 1, now)).collect();
            prop_assert_eq!(&decisions, &one_by_one);
            let hashed: Vec<_> = keys.iter().map(|hash| Request::hashed(*hash).at(now)).collect();
            by_hash.decide_batch(&hashed, &mut decisions);
            prop_assert_eq!(&decisions, &one_by_one);
            let requests: Vec<_> = requests.iter().map(|request| request.cost(cost)).collect();
            batched.decide_batch(&requests, &mut decisions);
            let one_by_one: Vec<_> = bytes.iter().map(|key| singly.check_at(key, cost, now)).collect();
            prop_assert_eq!(&decisions, &one_by_one);
            keys.iter().for_each(|hash| { let _ = by_hash.decide(Request::hashed(*hash).cost(cost).at(now)); });
        }
    }
}
