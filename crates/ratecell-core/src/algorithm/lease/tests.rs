use super::*;
use crate::decision::Outcome;
use proptest::prelude::*;

const STEP: u64 = 1 << STEP_BITS;

fn window(capacity: u64) -> Lease {
    Lease { capacity, drain: Drain::AtOnce, burst_ns: 1, undelayed_ns: None, one_by_one: false }
}

fn evenly(num: u64) -> Lease {
    Lease { drain: Drain::Evenly { num, by_num: Divider::new(num), den: 1 }, ..window(100) }
}

#[test]
fn units_are_used_until_the_deadline() {
    let lease = window(10);
    let mut word = Lease::granted(100 * STEP, 3);
    for left in [2, 1, 0] {
        let step = lease.step(word, 99 * STEP, 1);
        assert!(step.decision.is_allowed());
        assert_eq!(step.decision.remaining(), left);
        let after = step.charged.expect("a charge");
        assert!(after > word, "a use makes the word greater");
        word = after;
    }
    assert_eq!(lease.step(word, 99 * STEP, 1).decision.outcome(), Outcome::Asked);
    let granted = Lease::granted(100 * STEP, 3);
    assert_eq!(lease.step(granted, 100 * STEP, 1).decision.outcome(), Outcome::Asked);
    assert_eq!(lease.step(granted, 99 * STEP, 4).decision.outcome(), Outcome::Asked);
    assert_eq!(lease.step(granted, 99 * STEP, 11).decision.outcome(), Outcome::Never);
    assert_eq!(lease.step(0, 99 * STEP, 1).decision.outcome(), Outcome::Asked);
    let peeked = lease.step(0, 99 * STEP, 0);
    assert!(peeked.decision.is_allowed() && peeked.charged.is_none());
}

#[test]
fn slots_pass_one_by_one() {
    let lease = evenly(10 * STEP);
    let word = Lease::granted(1_000 * STEP, 5);
    assert_eq!(lease.units(word, 0), 5);
    assert_eq!(lease.units(word, 950 * STEP), 5);
    assert_eq!(lease.units(word, 950 * STEP + 1), 4);
    assert_eq!(lease.units(word, 990 * STEP), 1);
    assert_eq!(lease.units(word, 990 * STEP + 1), 0);
    // What has passed does not come back.
    let used = lease.step(word, 970 * STEP, 1).charged.expect("a charge");
    assert_eq!(Lease::left(used), 2);
}

#[test]
fn a_denial_lasts_to_its_deadline_and_not_less() {
    let lease = window(10);
    let word = Lease::denied(5 * STEP + 1);
    let decision = lease.step(word, STEP, 1).decision;
    assert_eq!((decision.outcome(), decision.retry_after_ns()), (Outcome::Denied, 5 * STEP));
    assert_eq!(lease.step(word, 6 * STEP, 1).decision.outcome(), Outcome::Asked);
}

fn any_size() -> impl Strategy<Value = u64> {
    (1..=u64::MAX, 0u32..64).prop_map(|(value, shift)| (value >> shift).max(1))
}

proptest! {
    #[test]
    fn a_use_leaves_the_slots_that_lie_ahead(
        num in any_size(), den in any_size(), before in any_size(), deadline in any_size(), left in 0..=MAX_LEASE, cost in 1u32..9,
    ) {
        let drain = Drain::Evenly { num, by_num: Divider::new(num), den };
        let lease = Lease { drain, capacity: MAX_LEASE, ..window(1) };
        let word = Lease::granted(deadline, left);
        let deadline = Lease::deadline_ns(word);
        let now = deadline.saturating_sub(before);
        let slots = u128::from(deadline - now) * u128::from(den) / u128::from(num);
        // Above a u64 of ticks they are no fewer than of the greatest.
        let least = u128::from(u64::MAX / num).min(slots).min(u128::from(left)) as u64;
        let units = lease.units(word, now);
        prop_assert!(least <= units && u128::from(units) <= slots.min(u128::from(left)));
        let step = lease.step(word, now, cost);
        prop_assert_eq!(step.charged.is_some(), u64::from(cost) <= units);
        if let Some(after) = step.charged {
            prop_assert_eq!(after, Lease::granted(deadline, units - u64::from(cost)));
            prop_assert_eq!(step.decision.remaining(), units - u64::from(cost));
        }
    }
}

#[test]
fn a_denial_may_be_of_great_costs_alone() {
    let lease = window(10);
    let word = Lease::denied_above(4, 5 * STEP);
    for (cost, outcome) in
        [(0, Outcome::Allowed), (4, Outcome::Asked), (5, Outcome::Denied), (11, Outcome::Never)]
    {
        assert_eq!(lease.step(word, STEP, cost).decision.outcome(), outcome, "{cost}");
    }
    assert_eq!(lease.step(word, STEP, 5).decision.retry_after_ns(), 4 * STEP);
    assert_eq!(lease.step(word, 5 * STEP, 5).decision.outcome(), Outcome::Asked);
    assert_eq!((Lease::left(word), lease.units(word, STEP)), (0, 0));
}

#[test]
fn ground_is_a_miss() {
    let lease = window(10);
    let ground = lease.carried(0, 7 * STEP + 1);
    assert_eq!(lease.fresh_at(ground), 8 * STEP);
    assert_eq!(lease.step(ground, STEP, 1).decision.outcome(), Outcome::Asked);
    assert_eq!(lease.carried(u64::MAX, u64::MAX), u64::MAX);
}
