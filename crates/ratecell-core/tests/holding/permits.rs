//! Permits in flight: no more units are out at once than the limit, but for those held for longer than a hold.

use proptest::prelude::*;
use ratecell_core::algorithm::{Algorithm, Kernel};

use super::{BEGIN, kernel, parsed};

const HOLD: u64 = 10_000_000_000;
const LIMIT: u32 = 5;

#[derive(Clone, Debug)]
enum Call {
    Acquire(u32),
    Release(usize),
    Renew(usize),
}

#[derive(Clone, Copy, Debug)]
struct Permit {
    window: u64,
    cost: u32,
    /// When it was acquired or renewed.
    at: u64,
}

fn calls() -> impl Strategy<Value = Vec<(u64, Call)>> {
    let call = prop_oneof![
        3 => (1u32..=LIMIT).prop_map(Call::Acquire),
        2 => (0usize..6).prop_map(Call::Release),
        2 => (0usize..6).prop_map(Call::Renew),
    ];
    let after = prop_oneof![3 => 0..HOLD / 2, 1 => Just(0), 1 => 0..HOLD * 5 / 2];
    prop::collection::vec((after, call), 1..60)
}

proptest! {
    #[test]
    fn no_more_are_out_than_the_limit(calls in calls()) {
        let policy = parsed(&format!("in_flight {LIMIT} hold={HOLD}ns"));
        let Kernel::InFlight(kernel) = kernel(&policy) else { panic!("{policy} is another") };
        let (mut now, mut word) = (BEGIN, 0u64);
        let mut out: Vec<Permit> = Vec::new();
        for (after, call) in calls {
            now += after;
            match call {
                Call::Acquire(cost) => {
                    let wait = kernel.report(word, now, cost);
                    if let Some(charged) = kernel.step(word, now, cost).charged {
                        word = charged;
                        out.push(Permit { window: kernel.window(charged), cost, at: now });
                    } else {
                        let wait = wait.retry_after_ns();
                        prop_assert!(!kernel.report(word, now + wait - 1, cost).is_allowed());
                        prop_assert!(kernel.report(word, now + wait, cost).is_allowed());
                    }
                }
                Call::Release(number) if !out.is_empty() => {
                    let permit = out.swap_remove(number % out.len());
                    let (less, back) = kernel.release(word, now, permit.window, permit.cost);
                    // In its hold it comes back whole.
                    prop_assert!(now - permit.at > HOLD || back == permit.cost, "{permit:?} gave {back}");
                    prop_assert_eq!(kernel.level(word, permit.at) - kernel.level(less, permit.at), u64::from(back));
                    word = less;
                }
                Call::Renew(number) if !out.is_empty() => {
                    let number = number % out.len();
                    let permit = out[number];
                    let renewed = kernel.renew(word, now, Some(permit.window), permit.cost);
                    prop_assert!(now - permit.at > HOLD || renewed.decision.is_allowed(), "{permit:?} was in time");
                    if renewed.decision.is_allowed() {
                        word = renewed.word;
                        out[number] = Permit { window: renewed.window, at: now, ..permit };
                    } else {
                        prop_assert_eq!(renewed.word, word);
                    }
                }
                Call::Release(_) | Call::Renew(_) => {}
            }
            let in_hold: u32 = out.iter().filter(|permit| now - permit.at <= HOLD).map(|permit| permit.cost).sum();
            prop_assert!(in_hold <= LIMIT, "{in_hold} are out: {out:?}");
        }
    }

    #[test]
    fn any_numbers_are_decided(word: u64, now: u64, window: Option<u64>, cost: u32) {
        let policy = parsed("in_flight 5 hold=10s");
        let Kernel::InFlight(kernel) = kernel(&policy) else { panic!("{policy} is another") };
        let (less, back) = kernel.release(word, now, window.unwrap_or(0), cost);
        prop_assert!(less <= word && back <= cost);
        let renewed = kernel.renew(word, now, window, cost);
        prop_assert!(renewed.decision.is_allowed() || renewed.word == word);
    }
}
