//! Properties of the decisions, by search: random policies and random traffic, through the public API.

mod full;
mod held;
mod laws;
mod model;
mod oracle;
mod policies;
mod reclaim;
#[cfg(target_os = "linux")]
mod shared;
mod text;
mod traffic;
mod twins;
mod waits;

use proptest::test_runner::Config;
use ratecell::{Limiter, Policy};

/// A test of this many cases. A failure prints its least case; none is written to a file.
fn cases(cases: u32) -> Config {
    // What wants one kind of state rejects those of all others.
    Config { cases, failure_persistence: None, max_local_rejects: 1 << 20, ..Config::default() }
}

/// The smallest table: one bucket.
fn limiter(policy: &Policy) -> Limiter {
    Limiter::builder(policy.clone()).max_keys(5).build().expect("a table of one bucket")
}
