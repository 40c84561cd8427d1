//! A wait that ends is not never, however long it is.

use core::time::Duration;

use proptest::prelude::*;
use ratecell::{Decision, Outcome, Policy, Request};

use crate::policies::{Heal, policies};
use crate::traffic::{Clock, Steps, traffic};
use crate::{cases, limiter};

/// Never is an outcome, and the number says the same.
fn assert_consistent(decision: &Decision) -> Result<(), TestCaseError> {
    let can_go = matches!(decision.outcome(), Outcome::Allowed | Outcome::Denied);
    prop_assert_eq!(decision.retry_after_ns() != Decision::NEVER, can_go, "{:?}", decision);
    prop_assert_eq!(decision.retry_after().is_some(), can_go, "{:?}", decision);
    prop_assert!(decision.reset_after_ns() < Decision::NEVER, "{:?}", decision);
    Ok(())
}

/// A key is used up late in the policy's time. A clock that is set back then asks when the wait is of 2^64 ns, of
/// little more, and of little less.
fn assert_longest(policy: &Policy, late: u64) -> Result<(), TestCaseError> {
    let limiter = limiter(policy);
    let capacity = u32::try_from(policy.capacity()).expect("a capacity");
    prop_assert!(limiter.check_at("k", capacity, late).is_allowed());
    let denied = limiter.check_at("k", capacity, late);
    assert_consistent(&denied)?;
    let end = u128::from(late) + u128::from(denied.retry_after_ns());
    for more in -2..=2 {
        let now = (end as i128 - (1 << 64) + more).max(0) as u64;
        for decision in [
            limiter.check_at("k", capacity, now),
            limiter.check_at("k", 1, now),
            limiter.decide(Request::new("k").cost(capacity).at(now).within(Duration::ZERO)),
            limiter.decide(Request::new("k").cost(1).at(now).charge()),
            limiter.check_at("k", 0, now),
            limiter.check_at("k", capacity.saturating_add(1), now),
        ] {
            assert_consistent(&decision)?;
        }
        let denied = limiter.check_at("k", capacity, now);
        // Of a word that is judged at its own time, exactly.
        let alone = policy.resolved().count() == 1;
        if alone && policy.to_string().starts_with("fixed_window") && denied.outcome() == Outcome::Denied {
            let wait = u64::try_from(end - u128::from(now)).unwrap_or(u64::MAX).min(u64::MAX - 1);
            prop_assert_eq!(denied.retry_after_ns(), wait);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn never_is_an_outcome(
        accepted in policies(Heal::Sometimes),
        traffic in traffic(Steps::Both, 20),
    ) {
        let limiter = limiter(&accepted.policy);
        let mut clock = Clock::new(&accepted, traffic.origin).unlimited();
        let mut last = Decision::default();
        for request in traffic.requests {
            assert_consistent(&last)?;
            let now = clock.tick(request.tick, &last);
            last = limiter.check_at("k", request.ask.cost(accepted.capacity()), now);
        }
        assert_consistent(&last)?;
    }

    #[test]
    fn a_wait_of_all_that_a_number_tells_is_not_never(
        accepted in policies(Heal::Never),
        before_the_end in prop_oneof![Just(0), 0..=1_u64 << 62],
    ) {
        let late = accepted.policy.max_now_ns().saturating_sub(before_the_end);
        assert_longest(&accepted.policy, late)?;
    }
}

#[test]
fn the_longest_wait_of_each_kind_is_not_never() {
    for policy in [
        "3/4611686018427387904ns horizon=1s",
        "leaky_queue 3/4611686018427387904ns queue=2 horizon=1s",
        "sliding_window 3/4611686018427387904ns horizon=1s",
        "sliding_window 3/4611686018427387904ns strict=true horizon=1s",
        "sliding_log 3/4611686018427387904ns horizon=1s",
        "fixed_window 3/4611686018427387904ns horizon=1s",
        "fixed_window 3/4611686018427387904ns start=first horizon=1s",
        "token_bucket 1/4611686018427387904ns capacity=3 mode=interval horizon=1s",
        "token_bucket 1/4611686018427387904ns capacity=3 mode=interval_first horizon=1s",
        "in_flight 3 hold=4611686018427387904ns horizon=1s",
    ] {
        let policy: Policy = policy.parse().expect("a policy");
        for late in [14_000_000_000_000_000_000, 18_000_000_000_000_000_000, policy.max_now_ns()] {
            let late = late.min(policy.max_now_ns());
            assert_longest(&policy, late).unwrap_or_else(|error| panic!("{policy} at {late}: {error}"));
        }
    }
}

#[test]
fn a_decision_that_is_made_up_is_consistent_too() {
    let made = |outcome, retry_ns| Decision::new(outcome, 1, 0, retry_ns, 0, 0, 0);
    for outcome in [Outcome::Allowed, Outcome::Denied, Outcome::Never, Outcome::ClockRange] {
        assert_eq!(made(outcome, 0).outcome(), outcome);
        assert_consistent(&made(outcome, 0)).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(made(Outcome::Denied, Decision::NEVER).retry_after(), None, "a wait that is not known");
}
