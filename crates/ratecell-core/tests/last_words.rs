//! The ends of what a word and a decision can hold.

use ratecell_core::algorithm::{Algorithm, Kernel, Plan, WORD_LIMIT};
use ratecell_core::{Decision, Policy, with_kernel};

fn kernel(policy: &str) -> (Kernel, u64) {
    let policy: Policy = policy.parse().expect("a policy");
    let Plan::Word(kernel) = policy.layers()[0].plan() else { panic!("a word-sized policy") };
    (kernel, policy.resolved().next().expect("a layer").max_now_ns)
}

/// Of a policy whose last window was used up, and of a key that comes back in it.
fn assert_carried_within<A: Algorithm>(policy: &str, kernel: &A, max_now: u64) {
    let full = kernel.step(0, max_now, 100).charged.unwrap_or(0);
    for floor in [kernel.fresh_at(full), u64::MAX, max_now] {
        for word in
            [kernel.carried(0, floor), kernel.carried(full, floor), kernel.above(full, floor, max_now)]
        {
            let charged = kernel.step(word, max_now, 1).charged;
            assert!(
                charged.is_none_or(|word| word < WORD_LIMIT),
                "{policy}: {word:#x} is charged to {charged:x?}"
            );
        }
    }
}

#[test]
fn no_charge_on_a_carried_word_leaves_the_words_of_policies() {
    for policy in [
        "100/s",
        "token_bucket 1/10ns capacity=100 mode=interval",
        "token_bucket 1/1h capacity=100 mode=interval_first",
        "sliding_window 100/1000ns",
        "fixed_window 100/10ns",
        "fixed_window 100/1h start=first",
        "in_flight 100 hold=1000ns",
        "calendar_window 100/day tz=UTC",
        "calendar_window 100/day tz=caller",
    ] {
        let (kernel, max_now) = kernel(policy);
        with_kernel!(&kernel, kernel => assert_carried_within(policy, kernel, max_now));
    }
}

/// What an erased word held is not allowed again in the last window that is served.
#[test]
fn a_newcomer_in_the_last_window_gets_no_second_quota() {
    for policy in [
        "token_bucket 1/10ns capacity=100 mode=interval",
        "sliding_window 100/1000ns",
        "fixed_window 100/10ns",
    ] {
        let (kernel, max_now) = kernel(policy);
        with_kernel!(&kernel, kernel => {
            let full = kernel.step(0, max_now, 100).charged.expect("room for all");
            let newcomer = kernel.above(0, kernel.fresh_at(full), max_now);
            assert!(!kernel.report(newcomer, max_now, 1).is_allowed(), "{policy}");
        });
    }
}

/// 2^64 - 1 ns is never: a wait of as much or more that ends is told as 2^64 - 2.
#[test]
fn a_wait_that_ends_never_reads_as_never() {
    let (kernel, _) = kernel("token_bucket 1/4611686018427387904ns capacity=4 mode=interval");
    for now in [0, 1, 2] {
        with_kernel!(&kernel, kernel => {
            let used = kernel.step(0, now, 4).charged.expect("room for all");
            let denied = kernel.report(used, now, 4);
            assert_eq!(denied.retry_after_ns(), Decision::NEVER - 1, "at {now}");
            assert_eq!(denied.reset_after_ns(), Decision::NEVER - 1, "at {now}");
        });
    }
}

/// A window that begins past every `u64` instant is ahead of any clock and any heal time.
#[test]
fn a_word_of_no_instant_is_healed() {
    for policy in [
        "in_flight 2 hold=4611686018427387903ns",
        "sliding_window 2/4611686018427387903ns",
        "fixed_window 2/4611686018427387903ns",
    ] {
        let (kernel, _) = kernel(&format!("{policy} heal=18446744073709551615ns"));
        with_kernel!(&kernel, kernel => {
            let count_bits = kernel.packing().count_bits;
            let counts = if policy.starts_with("fixed") { 1 } else { 2 };
            assert!(kernel.is_healed(6 << (counts * count_bits), 1), "{policy}");
        });
    }
}
