use proptest::prelude::*;

use super::*;
use ratecell_core::algorithm::Plan;
use ratecell_core::{Policy, with_kernel};

const POLICIES: [&str; 9] = [
    "100/s burst=20",
    "3/s",
    "1000000/s burst=50",
    "fixed_window 40/1s",
    "fixed_window 40/1s start=first",
    "sliding_window 40/1s",
    "token_bucket 5/100ms capacity=20 mode=interval",
    "token_bucket 5/100ms capacity=20 mode=interval_first",
    "fixed_window 7/100ms",
];

fn layer(text: &str) -> (Kernel, Drain, u64) {
    let policy: Policy = text.parse().expect(text);
    let Plan::Word(kernel) = policy.layers()[0].plan() else { panic!("{text} has no word") };
    let emission = policy.resolved().next().and_then(|resolved| resolved.emission);
    let drain = Drain::of(&kernel, emission).expect(text);
    (kernel, drain, policy.capacity())
}

fn of_kernel(kernel: &Kernel, drain: Drain, capacity: u64, words: (u64, u64), span: Span) -> Growth {
    with_kernel!(kernel, algorithm => drain.growth(algorithm, capacity, words, span))
}

/// What a word became by requests of these costs, each so many nanoseconds after the one before, and what was admitted.
fn run(kernel: &Kernel, word: &mut u64, now: &mut u64, requests: &[(u64, u32)]) -> u64 {
    let mut admitted = 0;
    for (after, cost) in requests {
        *now += after;
        let step = with_kernel!(kernel, algorithm => algorithm.step(*word, *now, *cost));
        if let Some(charged) = step.charged {
            *word = charged;
            admitted += u64::from(*cost);
        }
    }
    admitted
}

proptest! {
    #[test]
    fn what_was_admitted_is_between_the_bounds(
        number in 0..POLICIES.len(),
        earlier in prop::collection::vec((0_u64..400_000_000, 0_u32..12), 0..12),
        pause in 0_u64..300_000_000,
        later in prop::collection::vec((1_u64..120_000_000, 0_u32..6), 0..20),
        rest in 1_u64..200_000_000,
    ) {
        let (kernel, drain, capacity) = layer(POLICIES[number]);
        let (mut word, mut now) = (0, 5_000_000_000);
        let _ = run(&kernel, &mut word, &mut now, &earlier);
        now += pause;
        let (before, from) = (word, now);
        let admitted = run(&kernel, &mut word, &mut now, &later);
        let growth = of_kernel(&kernel, drain, capacity, (before, word), Span { from, to: now + rest });
        let what = format!("{}: {growth:?} of {admitted}", POLICIES[number]);
        prop_assert!(growth.least <= admitted && admitted <= growth.most, "{}", what);
    }
}

/// Where nothing drains unseen the bounds meet.
#[test]
fn between_looks_that_are_near_enough_the_bounds_meet() {
    for text in POLICIES {
        let (kernel, drain, capacity) = layer(text);
        for start in [5_000_000_000, 5_000_123_456_u64] {
            let (mut word, mut now) = (0, start);
            // Of three requests in a millionth of the time in which a unit drains.
            let quiet = drain.quiet_ns().min(50_000_000);
            let _ = run(&kernel, &mut word, &mut now, &[(1, 1)]);
            let from = now;
            let before = word;
            let admitted = run(&kernel, &mut word, &mut now, &[(quiet / 10, 1), (quiet / 10, 1)]);
            let growth = of_kernel(&kernel, drain, capacity, (before, word), Span { from, to: now + 1 });
            assert_eq!((growth.least, growth.most), (admitted, admitted), "{text} at {start}");
        }
    }
}

#[test]
fn a_word_that_stayed_or_fell_admitted_nothing() {
    let (kernel, drain, capacity) = layer("100/s burst=20");
    let span = Span { from: 1_000_000_000, to: 1_500_000_000 };
    for words in [(0, 0), (7_000_000_000, 7_000_000_000), (7_000_000_000, 6_000_000_000)] {
        assert_eq!(of_kernel(&kernel, drain, capacity, words, span), Growth::default());
    }
}
