//! Kernels for the tests, from policies' text.

use ratecell_core::Policy;
use ratecell_core::algorithm::{Kernel, Plan};

/// One policy of each word-sized algorithm, with a capacity of 50.
#[cfg(not(ratecell_model))]
pub(crate) const FIFTY_EACH: [&str; 8] = [
    "50/s",
    "sliding_window 50/s",
    "fixed_window 50/s",
    "fixed_window 50/s start=first",
    "calendar_window 50/day tz=UTC",
    "token_bucket 50/s capacity=50 mode=interval",
    "token_bucket 50/s capacity=50 mode=interval_first",
    "in_flight 50 hold=1s",
];

/// The kernel of a policy of one layer.
pub(crate) fn kernel(policy: &str) -> Kernel {
    let policy: Policy = policy.parse().expect("a policy");
    match policy.layers() {
        [layer] => match layer.plan() {
            Plan::Word(kernel) => kernel,
            Plan::Log(_) => panic!("{policy} has no word"),
        },
        _ => panic!("{policy} has layers"),
    }
}
