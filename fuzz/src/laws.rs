//! What holds of every decision, whatever was asked.

use ratecell::ffi::ratecell_status::{
    RATECELL_ALLOWED, RATECELL_CLOCK_RANGE, RATECELL_DENIED, RATECELL_NEVER,
};
use ratecell::ffi::{RATECELL_NO_PLACE, ratecell_decision};
use ratecell::{Decision, Policy, Stats, WhenFull};

/// A decision of Rust's as C has it.
pub(crate) fn in_c(decision: Decision) -> ratecell_decision {
    ratecell_decision {
        limit: decision.limit(),
        remaining: decision.remaining(),
        retry_after_ns: decision.retry_after_ns(),
        reset_after_ns: decision.reset_after_ns(),
        delay_ns: decision.delay_ns(),
        outcome: decision.outcome() as i32,
        layer: u32::try_from(decision.layer()).expect("a layer's number"),
        next_ns: decision.next_after().map_or(0, |next| u64::try_from(next.as_nanos()).unwrap_or(u64::MAX)),
        given_back: 0,
        notes: if decision.is_without_place() { RATECELL_NO_PLACE } else { 0 },
    }
}

/// Fails if the decision of `cost` at `now` is not one of `policy`.
pub(crate) fn assert_lawful(policy: &Policy, cost: u32, now: u64, decision: &ratecell_decision) {
    let asked = format_args!("{policy}, {cost} at {now}: {decision:?}").to_string();
    let outcome = decision.outcome;
    let is = |status| outcome == status as i32;
    let in_range = now <= policy.max_now_ns();
    assert_eq!(
        is(RATECELL_CLOCK_RANGE),
        !in_range,
        "{asked}: expected by the last time {}",
        policy.max_now_ns()
    );
    let possible = u64::from(cost) <= policy.capacity();
    assert_eq!(
        is(RATECELL_NEVER),
        in_range && !possible,
        "{asked}: expected by the capacity {}",
        policy.capacity()
    );
    let (retry, remaining) = (decision.retry_after_ns, decision.remaining);
    match outcome {
        _ if is(RATECELL_ALLOWED) => assert_eq!(retry, 0, "{asked}: expected no wait"),
        _ if is(RATECELL_DENIED) => {
            assert!((1..u64::MAX).contains(&retry), "{asked}: expected a wait");
            // Of a clock that stepped back not even a cost of 0 is allowed.
            let short = remaining < u64::from(cost.max(1));
            assert!(short, "{asked}: expected less to remain than was asked for");
        }
        _ => assert_eq!(retry, u64::MAX, "{asked}: expected to wait for ever"),
    }
    if !is(RATECELL_ALLOWED) {
        assert_eq!(decision.delay_ns, 0, "{asked}: expected no delay");
    }
    assert!(remaining <= decision.limit, "{asked}: expected no more to remain than the limit");
    let layer = policy.resolved().nth(decision.layer as usize);
    assert_eq!(
        layer.map(|layer| layer.capacity),
        Some(decision.limit),
        "{asked}: expected the layer's limit"
    );
    assert_eq!(decision.given_back, 0, "{asked}: expected nothing to be given back");
    let no_place = decision.notes == RATECELL_NO_PLACE;
    assert!(decision.notes == 0 || no_place && is(RATECELL_DENIED), "{asked}: expected no such note");
}

/// Fails if one thread alone cannot have led to `stats`.
pub(crate) fn assert_possible(stats: &Stats, when_full: WhenFull) {
    let only = |count: u64, choice: WhenFull| count == 0 || when_full == choice;
    assert!(stats.live <= stats.slots, "{stats:?}: expected no more keys than places");
    assert_eq!(stats.live_error, 0, "{stats:?}: expected every key of a small table to be counted");
    assert!(only(stats.evicted, WhenFull::Evict), "{stats:?}: expected no eviction under {when_full:?}");
    assert!(stats.forgiven >= stats.evicted, "{stats:?}: expected each evicted key to have held a unit");
    assert!(stats.evicted > 0 || stats.forgiven == 0, "{stats:?}: expected nothing to be forgiven");
    assert!(only(stats.shared, WhenFull::Share), "{stats:?}: expected nothing shared under {when_full:?}");
    assert!(only(stats.denied_full, WhenFull::Deny), "{stats:?}: expected none denied under {when_full:?}");
    assert!(only(stats.allowed_full, WhenFull::Allow), "{stats:?}: expected none let in under {when_full:?}");
    assert_eq!(stats.exhausted, 0, "{stats:?}: expected nobody to be in the way");
}
