//! The law of [`Algorithm::above`]: a key that lost its word and comes back is treated no better than with it.

use proptest::collection::vec;
use proptest::prelude::*;

use super::kernels::kernel;
use ratecell_core::algorithm::{Algorithm, Kernel};
use ratecell_core::{Request, with_kernel};

/// Small enough that floors, edges and full words are all near. An instant is a tenth of each period.
const POLICIES: [&str; 12] = [
    "5/10us",
    "leaky_queue 3/10us queue=4",
    "sliding_window 5/10us",
    "sliding_window 5/10us strict=true",
    "fixed_window 5/10us",
    "fixed_window 5/10us offset=3us",
    "fixed_window 5/10us start=first",
    "calendar_window 5/day tz=UTC",
    "calendar_window 5/day tz=-05:00 at=01:30",
    "token_bucket 2/10us capacity=5 mode=interval",
    "token_bucket 2/10us capacity=5 mode=interval_first",
    "in_flight 5 hold=10us",
];
/// Longer than all instants.
const HEALS: [&str; 2] = ["", " heal=30d"];
const LATEST: u64 = 80;

type Asked = Vec<(u64, u32)>;

fn asked() -> impl Strategy<Value = Asked> {
    vec((0..LATEST, 1..=5_u32), 0..6)
}

/// The nanoseconds of an instant.
fn tick_of(policy: &str) -> u64 {
    if policy.starts_with("calendar") { 8_640_000_000_000 } else { 1_000 }
}

/// The word of a cell that was asked so.
fn word<A: Algorithm>(algorithm: &A, asked: &Asked, tick: u64) -> u64 {
    asked.iter().fold(0, |word, (at, cost)| algorithm.advance(word, at * tick, *cost))
}

fn assert_no_better<A: Algorithm>(
    algorithm: &A,
    own: u64,
    floor: u64,
    now: u64,
    cost: u32,
    tick: u64,
    judged_at_now: bool,
) -> Result<(), TestCaseError> {
    let Some(after) = algorithm.newcomer(own, floor, now, &Request::default().cost(cost)).1 else {
        return Ok(());
    };
    // The word that was lost may have been any that is fresh at the floor. A TAT is the most that there can be; of the
    // others the request is judged as if it came then.
    let lost = if judged_at_now { algorithm.carried(0, floor) } else { 0 };
    let judged = if judged_at_now { now } else { now.max(floor) };
    let alone = algorithm.step(lost, judged, cost).charged;
    prop_assert!(alone.is_some(), "allowed on {own:#x}, though not alone");
    // And what is in the cell already may be the key's own.
    let shared = algorithm.step(own, now.max(floor), cost).charged;
    for other in [alone, shared].into_iter().flatten() {
        prop_assert!(algorithm.fresh_at(after) >= algorithm.fresh_at(other));
        for later in (0..LATEST).map(|at| judged + at * tick) {
            let remaining = |word| algorithm.report(word, later, 0).remaining();
            prop_assert!(
                remaining(after) <= remaining(other),
                "{} at {} after {:#x}, {} after {:#x}",
                remaining(after),
                later,
                after,
                remaining(other),
                other
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn are_treated_no_better_than_with_the_word_that_they_lost(
        policy in prop::sample::select(POLICIES.to_vec()),
        heal in prop::sample::select(HEALS.to_vec()),
        own in asked(),
        erased in asked(),
        which in 0..3,
        at in 0..LATEST,
        cost in 1..=5_u32,
    ) {
        let kernel = kernel(&format!("{policy}{heal}"));
        let tick = tick_of(policy);
        let judged_at_now = matches!(kernel, Kernel::Gcra(_));
        with_kernel!(kernel, algorithm => {
            let own = word(&algorithm, &own, tick);
            let floor = match which {
                0 => 0,
                1 => algorithm.fresh_at(own),
                _ => algorithm.fresh_at(word(&algorithm, &erased, tick)),
            };
            assert_no_better(&algorithm, own, floor, at * tick, cost, tick, judged_at_now)?;
        });
    }
}
