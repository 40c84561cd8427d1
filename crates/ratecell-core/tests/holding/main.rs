//! What is held of a key: charges that are given back, permits that are released, and words that a change of the policy
//! re-expresses. None of it admits more than the policy says.

mod changes;
mod permits;
mod settles;

use proptest::prelude::*;
use ratecell_core::Policy;
use ratecell_core::algorithm::{Kernel, Plan};

fn kernel(policy: &Policy) -> Kernel {
    match policy.layers() {
        [layer] => match layer.plan() {
            Plan::Word(kernel) => kernel,
            Plan::Log(_) => panic!("{policy} has no word"),
        },
        _ => panic!("{policy} has layers"),
    }
}

fn parsed(text: &str) -> Policy {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Instants that go forward, most by little: in nanoseconds after the one before.
fn forward() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0u64..2_000_000_000, 2 => Just(0), 1 => 0u64..20_000_000_000]
}

/// The first instant of a history: none is near the epoch, where a word of 0 is ahead of nothing.
const BEGIN: u64 = 1_000_000_000_000;
