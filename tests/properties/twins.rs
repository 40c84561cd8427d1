//! Calls that must decide alike.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use ratecell::{Decision, DirectLimiter, Outcome};

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
        let direct = DirectLimiter::new(accepted.policy.clone()).expect("a limiter of no table");
        let mut clock = Clock::new(&accepted, traffic.origin).unlimited();
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = direct.check_at(cost, now);
            prop_assert_eq!(keyed.check_at("k", cost, now), last);
            prop_assert_eq!(keyed.check_hash_at(7, cost, now), last);
            prop_assert_eq!(direct.peek_at(now), keyed.peek_at("k", now));
        }
        direct.forget();
        prop_assert!(keyed.forget("k") || direct.peek_at(clock.now) == keyed.peek_at("k", clock.now));
        prop_assert_eq!(direct.peek_at(clock.now), keyed.peek_at("k", clock.now));
    }

    #[test]
    fn a_direct_limiter_is_charged_and_delayed_as_one_key(
        accepted in policies(Heal::Sometimes),
        spent in 0..3_u32,
        max_delay_ns in 0..2_000_000_000_u64,
        traffic in traffic(Steps::Both, 30),
    ) {
        let keyed = limiter(&accepted.policy);
        let direct = DirectLimiter::new(accepted.policy.clone()).expect("a limiter of no table");
        let max_delay = Duration::from_nanos(max_delay_ns);
        let mut clock = Clock::new(&accepted, traffic.origin).unlimited();
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = direct.check_within_at(cost, max_delay, now);
            prop_assert_eq!(keyed.check_within_at("k", cost, max_delay, now), last);
            prop_assert_eq!(keyed.charge_at("k", spent, now), direct.charge_at(spent, now));
        }
    }

    /// The other is done again all that was let in, and then asked without the bound.
    #[test]
    fn a_check_within_a_delay_refuses_what_would_be_delayed_longer(
        accepted in policies(Heal::Sometimes),
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
            let before = other.peek_at("k", now);
            let plain = other.check_at("k", cost, now);
            last = limiter.check_within_at("k", cost, max_delay, now);
            let alone = DirectLimiter::new(accepted.policy.clone()).expect("a limiter of no table");
            if alone.check_at(cost, now).delay() > max_delay {
                prop_assert_eq!((last.outcome(), last.retry_after()), (Outcome::Never, None));
                prop_assert_eq!((last.remaining(), last.reset_after()), (before.remaining(), before.reset_after()));
                continue;
            }
            if plain.is_allowed() && plain.delay() <= max_delay {
                prop_assert_eq!(last, plain);
                let_in.push((cost, now));
                continue;
            }
            prop_assert_eq!((last.remaining(), last.reset_after()), (before.remaining(), before.reset_after()));
            if plain.is_allowed() {
                prop_assert_eq!(last.outcome(), Outcome::Denied);
                prop_assert_eq!(last.retry_after(), Some(plain.delay() - max_delay));
            } else {
                // Of several layers another may refuse by its delay, and for longer.
                prop_assert_eq!(last.outcome(), plain.outcome());
                prop_assert!(last.retry_after_ns() >= plain.retry_after_ns());
                prop_assert!(accepted.layers.len() > 1 || last == plain);
            }
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
            batched.check_batch_at(&bytes, now, &mut decisions);
            let one_by_one: Vec<_> = bytes.iter().map(|key| singly.check_at(key, 1, now)).collect();
            prop_assert_eq!(&decisions, &one_by_one);
            by_hash.check_hash_batch_at(&keys, now, &mut decisions);
            prop_assert_eq!(&decisions, &one_by_one);
            batched.check_batch_n_at(&bytes, cost, now, &mut decisions);
            let one_by_one: Vec<_> = bytes.iter().map(|key| singly.check_at(key, cost, now)).collect();
            prop_assert_eq!(&decisions, &one_by_one);
            keys.iter().for_each(|hash| { let _ = by_hash.check_hash_at(*hash, cost, now); });
        }
    }
}
