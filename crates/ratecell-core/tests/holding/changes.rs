//! A policy that changes over live words: what is admitted keeps to the burst in force and the integral of the rates.

use proptest::prelude::*;
use ratecell_core::algorithm::Algorithm;
use ratecell_core::{Generation, with_kernel};

use super::{BEGIN, forward, kernel, parsed};

#[derive(Clone, Debug)]
enum Call {
    Ask(u32),
    /// Units a second, and the burst.
    Change(u32, u32),
}

fn calls() -> impl Strategy<Value = Vec<(u64, Call)>> {
    let call = prop_oneof![
        3 => (1u32..6).prop_map(Call::Ask),
        1 => (1u32..40, 1u32..30).prop_map(|(rate, burst)| Call::Change(rate, burst)),
    ];
    prop::collection::vec((forward(), call), 1..60)
}

proptest! {
    /// In every interval that begins and ends with an admission: at most the burst at its end and the integral of the rate.
    #[test]
    fn to_and_fro_mints_nothing(calls in calls()) {
        let mut generation = Generation::first(parsed("5/s burst=10"));
        // Of the policy in force from each instant on.
        let mut rates = vec![(0u64, 5u64, 10u64)];
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        let (mut now, mut word) = (BEGIN, 0u64);
        for (after, call) in calls {
            now += after;
            match call {
                Call::Ask(cost) => {
                    let step = with_kernel!(kernel(generation.policy()), kernel => kernel.step(word, now, cost));
                    let Some(charged) = step.charged else { continue };
                    word = charged;
                    admitted.push((now, u64::from(cost)));
                }
                Call::Change(rate, burst) => {
                    let policy = parsed(&format!("{rate}/s burst={burst}"));
                    if let Some(next) = generation.followed_by(&policy, now).expect("of one kind") {
                        word = generation.changed(&next, 0, word);
                        generation = next;
                        rates.push((now, u64::from(rate), u64::from(burst)));
                    }
                    continue;
                }
            }
            let (_, _, burst) = rates[rates.len() - 1];
            let mut units = 0;
            for (begin, cost) in admitted.iter().rev() {
                units += cost;
                // In units times 10^9.
                let integral: u128 = rates.iter().enumerate().map(|(number, (from, rate, _))| {
                    let until = rates.get(number + 1).map_or(now, |(until, ..)| *until).min(now);
                    u128::from(until.saturating_sub((*from).max(*begin))) * u128::from(*rate)
                }).sum();
                let most = u128::from(burst) * 1_000_000_000 + integral;
                prop_assert!(u128::from(units) * 1_000_000_000 <= most, "{units} from {begin} to {now}: {rates:?}");
            }
        }
    }

    /// A change of any kind to a policy and back keeps each count, and forgives no level.
    #[test]
    fn there_and_back_forgives_nothing(pair in 0..6usize, costs in prop::collection::vec((forward(), 1u32..5), 1..12)) {
        let (one, other) = [
            ("1/s burst=10", "10/s burst=3"),
            ("token_bucket 2/1s capacity=10 mode=interval", "token_bucket 3/7s capacity=4 mode=interval"),
            ("token_bucket 2/1s capacity=10 mode=interval_first", "token_bucket 3/7s capacity=4 mode=interval_first"),
            ("fixed_window 10/1m", "fixed_window 3/1m"),
            ("sliding_window 10/1m", "sliding_window 3/1m strict=true"),
            ("in_flight 10 hold=1m", "in_flight 3 hold=1m"),
        ][pair];
        let generation = Generation::first(parsed(one));
        let (mut now, mut word) = (BEGIN, 0u64);
        for (after, cost) in costs {
            now += after;
            word = with_kernel!(kernel(generation.policy()), kernel => kernel.step(word, now, cost)).charged.unwrap_or(word);
        }
        let level = |generation: &Generation, word| {
            with_kernel!(kernel(generation.policy()), kernel => kernel.level(word, now))
        };
        let before = level(&generation, word);
        let there = generation.followed_by(&parsed(other), now).expect("of one kind").expect("another");
        let word = generation.changed(&there, 0, word);
        let amid = level(&there, word);
        let back = there.followed_by(&parsed(one), now).expect("of one kind").expect("another");
        let after = level(&back, there.changed(&back, 0, word));
        prop_assert!(before <= amid && amid <= after, "{one}: {before}, then {amid}, then {after}");
        prop_assert!(after <= before + 1, "{one}: {before}, then {after}");
    }
}

#[test]
fn a_change_is_refused_with_its_reason() {
    let generation = Generation::first(parsed("fixed_window 5/1m"));
    let refused =
        |text: &str, now| generation.followed_by(&parsed(text), now).expect_err("another kind").to_string();
    assert_eq!(
        refused("fixed_window 5/2m", 7),
        "`fixed_window 5/2m` cannot follow `fixed_window 5/m`: expected as many layers, each of the same algorithm and, of windows, the same window"
    );
    let last = parsed("6/s").max_now_ns();
    assert_eq!(
        Generation::first(parsed("5/s"))
            .followed_by(&parsed("6/s"), u64::MAX)
            .expect_err("too late")
            .to_string(),
        format!(
            "a change at 18446744073709551615ns: expected at most {last}ns, the last instant of the new policy"
        )
    );
    assert_eq!(
        generation.followed_by(&parsed("fixed_window 5/1m"), 7).expect("the same").map(|next| next.at_ns()),
        None
    );
}

#[test]
fn a_wider_count_keeps_the_units() {
    const HOUR: u64 = 3_600_000_000_000;
    for (one, other) in [
        ("calendar_window 3/day tz=UTC", "calendar_window 10/day tz=UTC"),
        ("fixed_window 3/1d", "fixed_window 10/1d"),
        ("fixed_window 3/1d start=first", "fixed_window 10/1d start=first"),
        ("sliding_window 3/1d", "sliding_window 10/1d"),
        ("in_flight 3 hold=1d", "in_flight 10 hold=1d"),
    ] {
        let held = Generation::first(parsed(one));
        let charged = with_kernel!(kernel(held.policy()), kernel => kernel.step(0, 25 * HOUR, 3)).charged;
        let next = held.followed_by(&parsed(other), 25 * HOUR).expect("of one kind").expect("another");
        let word = held.changed(&next, 0, charged.expect("allowed"));
        let left =
            with_kernel!(kernel(next.policy()), kernel => kernel.report(word, 26 * HOUR, 0)).remaining();
        assert_eq!(left, 7, "{one}");
    }
}

#[test]
fn a_calendar_goes_on_by_the_epoch_of_the_one_before() {
    let epoch = 1_795_392_000;
    let policy = parsed("calendar_window 100/month tz=UTC").at_epoch(epoch).expect("an epoch");
    let next = Generation::first(policy).followed_by(&parsed("calendar_window 200/month tz=UTC"), 0);
    let next = next.expect("of one kind").expect("another");
    assert_eq!(next.policy().epoch(), epoch);
}

/// There and back at one instant: the axis of the first policy has ended, though the plans and the instants agree.
#[test]
fn what_was_held_ends_with_its_generation() {
    let first = Generation::first(parsed("1/s burst=10"));
    let second = first.followed_by(&parsed("2/s burst=10"), 0).expect("of one kind").expect("another");
    let third = second.followed_by(&parsed("1/s burst=10"), 0).expect("of one kind").expect("another");
    assert!(first.is_held_in(&first, 0));
    assert!(!first.is_held_in(&second, 0) && !first.is_held_in(&third, 0));
    let window = Generation::first(parsed("fixed_window 5/1m"));
    let wider = window.followed_by(&parsed("fixed_window 9/1m"), 0).expect("of one kind").expect("another");
    assert!(window.is_held_in(&wider, 0));
}
