//! Reservations: a key is never more permissive than if only the actual costs had been asked for.

use proptest::prelude::*;
use ratecell_core::algorithm::{Algorithm, Held, Reserve};
use ratecell_core::{Policy, with_kernel};

use super::{BEGIN, forward, kernel, parsed};

const POLICIES: [&str; 10] = [
    "1/s burst=20",
    "7/3s burst=9",
    "leaky_meter 3/s capacity=8",
    "token_bucket 3/1s capacity=14 mode=interval",
    "token_bucket 1/1s capacity=6 mode=interval",
    "token_bucket 3/1s capacity=7 mode=interval_first",
    "fixed_window 10/2s",
    "fixed_window 10/2s start=first",
    "sliding_window 10/2s",
    "leaky_queue 5/s queue=6",
];

#[derive(Clone, Debug)]
enum Call {
    Reserve(u32),
    /// The reservation of that number, counted round; and the part of its cost that was used, in 8ths.
    Settle(usize, u32),
}

fn calls() -> impl Strategy<Value = Vec<(u64, Call)>> {
    let call = prop_oneof![
        (1u32..7).prop_map(Call::Reserve),
        (0usize..8, 0u32..=8).prop_map(|(number, part)| Call::Settle(number, part)),
    ];
    prop::collection::vec((forward(), call), 1..40)
}

/// A charge: when, how much, and what of it is settled.
#[derive(Clone, Copy, Debug)]
struct Charged {
    now: u64,
    cost: u32,
    net: u32,
    held: Held,
    settled: bool,
}

/// The units that those charges alone hold at `now`, each of its net cost, as if each had been asked for so.
fn net_level(policy: &Policy, charges: &[Charged], now: u64) -> u64 {
    // With room for all: that a charge was admitted is given.
    let roomy = roomy(policy);
    with_kernel!(kernel(&roomy), roomy => {
        let word = charges.iter().fold(0, |word, charge| {
            roomy.step(word, charge.now, charge.net).charged.unwrap_or(word)
        });
        roomy.level(word, now)
    })
}

/// The same words, with room for every charge of a history.
fn roomy(policy: &Policy) -> Policy {
    let text = policy.to_string();
    let (rest, _) = text.split_once(" burst=").or(text.split_once(" capacity=")).unwrap_or((&text, ""));
    let mode = text.find(" mode=").map_or("", |at| &text[at..]);
    match &*text {
        _ if text.starts_with("token_bucket") || text.starts_with("leaky_meter") => {
            parsed(&format!("{rest} capacity=1000{mode}"))
        }
        _ => parsed(&format!("{rest} burst=1000")),
    }
}

/// Plays the calls, and returns what the key holds after each of them, beside what the net charges alone would.
fn play(text: &str, calls: &[(u64, Call)], knows_total: bool) -> Vec<(u64, u64)> {
    let policy = parsed(text);
    let (mut now, mut word, mut total) = (BEGIN, 0u64, 0u64);
    let mut charges: Vec<Charged> = Vec::new();
    let mut levels = Vec::new();
    with_kernel!(kernel(&policy), kernel => {
        for (after, call) in calls {
            now += after;
            match *call {
                Call::Reserve(cost) => {
                    if let Some(charged) = kernel.step(word, now, cost).charged {
                        let held = kernel.held(charged, now, cost, total);
                        charges.push(Charged { now, cost, net: cost, held, settled: false });
                        word = charged;
                    }
                }
                Call::Settle(number, part) => {
                    let count = charges.len().max(1);
                    let Some(charge) = charges.get_mut(number % count).filter(|charge| !charge.settled) else { continue };
                    charge.settled = true;
                    charge.net = charge.cost * part / 8;
                    let units = charge.cost - charge.net;
                    let known = knows_total.then_some(total);
                    let (less, back) = kernel.give_back(word, now, &charge.held, charge.cost, units, known);
                    assert!(less <= word && (back > 0) == (less < word), "{text}: {word} to {less} by {back}");
                    word = less;
                    total += back;
                }
            }
            levels.push((kernel.level(word, now), net_level(&policy, &charges, now)));
        }
    });
    levels
}

proptest! {
    // What is given back twice shows in few histories.
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// A bucket that is refilled from its first request on is refilled from that on even if it has been given back, so it is
    /// not compared.
    #[test]
    fn a_settle_forgives_nobody_else(calls in calls(), policy in 0..5usize, knows_total: bool) {
        for (number, (got, net)) in play(POLICIES[policy], &calls, knows_total).into_iter().enumerate() {
            prop_assert!(got >= net, "{}: {got} units after call {number}, {net} of the net charges", POLICIES[policy]);
        }
    }

    /// A window's counts are exactly those of the net charges.
    #[test]
    fn a_window_is_that_of_the_net_charges(calls in calls(), policy in 6..9usize) {
        let text = POLICIES[policy];
        let policy = parsed(text);
        let mut window: Vec<(u64, u32)> = Vec::new();
        let (mut now, mut word) = (BEGIN, 0u64);
        let mut charges: Vec<Charged> = Vec::new();
        with_kernel!(kernel(&policy), kernel => {
            for (after, call) in &calls {
                now += after;
                match *call {
                    Call::Reserve(cost) => if let Some(charged) = kernel.step(word, now, cost).charged {
                        let held = kernel.held(charged, now, cost, 0);
                        charges.push(Charged { now, cost, net: cost, held, settled: false });
                        window.push((held.made, cost));
                        word = charged;
                    },
                    Call::Settle(number, part) => {
                        let count = charges.len().max(1);
                        let number = number % count;
                        let Some(charge) = charges.get_mut(number).filter(|charge| !charge.settled) else { continue };
                        charge.settled = true;
                        charge.net = charge.cost * part / 8;
                        window[number].1 = charge.net;
                        (word, _) = kernel.give_back(word, now, &charge.held, charge.cost, charge.cost - charge.net, None);
                    }
                }
                let Some(last) = charges.last() else { continue };
                let sum = |of: u64| -> u64 {
                    window.iter().filter(|(made, _)| *made == of).map(|(_, net)| u64::from(*net)).sum()
                };
                let at = kernel.held(word, now, 0, 0).made;
                if text.starts_with("sliding") {
                    // At the start of its window the one before still counts in full.
                    prop_assert_eq!(kernel.level(word, at * 2_000_000_000), sum(at) + sum(at - 1), "{} at {}", text, now);
                } else {
                    prop_assert_eq!(kernel.level(word, last.now), sum(last.held.made), "{} at {}", text, now);
                }
            }
        });
    }

    #[test]
    fn any_numbers_give_back_no_more_than_there_is(
        policy in 0..10usize, word: u64, now: u64, made: u64, start: u64, end: u64, given: u64, cost: u32, part: u32, total: Option<u64>,
    ) {
        let policy = parsed(POLICIES[policy]);
        let units = part.min(cost);
        with_kernel!(kernel(&policy), kernel => {
            let (less, _) = kernel.give_back(word, now, &Held { made, start, end, given }, cost, units, total);
            prop_assert!(less <= word);
        });
    }
}

/// The example that shows why the total is needed: by the remembered place all 5 would go back, and 24 units pass in one
/// instant.
#[test]
fn a_place_moves_when_what_stood_before_it_is_given_back() {
    let policy = parsed("1/s burst=20");
    let at = |seconds: u64| seconds * 1_000_000_000;
    with_kernel!(kernel(&policy), kernel => {
        let mut total = 0;
        let charge = |word: u64, now: u64, cost: u32| kernel.step(word, now, cost).charged.expect("allowed");
        let first = charge(0, at(0), 10);
        let held_first = kernel.held(first, at(0), 10, total);
        let second = charge(first, at(0), 5);
        let held_second = kernel.held(second, at(0), 5, total);
        let (word, back) = kernel.give_back(second, at(2), &held_first, 10, 10, Some(total));
        assert_eq!((word, back), (at(7), at(8)));
        total += back;
        let word = charge(word, at(6), 5);
        let (word, back) = kernel.give_back(word, at(6), &held_second, 5, 5, Some(total));
        assert_eq!((word, back), (at(11), at(1)));
        assert_eq!(kernel.report(word, at(6), 0).remaining(), 15);
    });
}
