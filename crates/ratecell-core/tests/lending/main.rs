//! What a store lends: that its addition is a step, and that the uses of leases are a history that the policy allows.

mod take;
mod traces;

use ratecell_core::Policy;
use ratecell_core::algorithm::{Kernel, Plan};

/// Policies of every kind of word.
const POLICIES: [&str; 13] = [
    "100/s burst=3",
    "7/3s burst=20",
    "1/s burst=1",
    "leaky_meter 3/s capacity=8",
    "leaky_queue 5/s queue=6",
    "token_bucket 3/1s capacity=4",
    "token_bucket 5/1s capacity=10 mode=interval",
    "token_bucket 1/1s capacity=4 mode=interval",
    "token_bucket 3/1s capacity=7 mode=interval_first",
    "fixed_window 10/1s offset=300ms",
    "fixed_window 10/1s start=first",
    "sliding_window 10/1s",
    "sliding_window 10/1s strict=true",
];

fn kernel(text: &str) -> Kernel {
    let policy: Policy = text.parse().expect("a policy");
    match policy.layers() {
        [layer] => match layer.plan() {
            Plan::Word(kernel) => kernel,
            Plan::Log(_) => panic!("{text} has no word"),
        },
        _ => panic!("{text} has layers"),
    }
}

/// Numbers that follow from a seed: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

/// How many times a test repeats: more with DEPTH=long.
fn depth(short: u64, long: u64) -> u64 {
    if std::env::var("DEPTH").is_ok_and(|depth| depth == "long") { long } else { short }
}
