//! Law 3 in the table: a slot whose key has had its reset serves another key exactly.

use proptest::collection::vec;
use proptest::prelude::*;
use ratecell::{Decision, DirectLimiter};

use crate::policies::{Heal, policies};
use crate::traffic::{Clock, Steps, traffic};
use crate::{cases, limiter};

proptest! {
    #![proptest_config(cases(10_000))]

    /// Round after round, three of thirty keys are used until all have had their reset, in a table of
    /// one bucket. Each is decided as by a limiter of its own that was never used.
    #[test]
    fn a_reclaimed_slot_decides_as_a_new_one(
        accepted in policies(Heal::Never),
        rounds in vec((0..10_u8, traffic(Steps::Forward, 8)), 1..20),
    ) {
        let limiter = limiter(&accepted.policy);
        let mut clock: Option<Clock> = None;
        for (group, traffic) in rounds {
            let clock = clock.get_or_insert_with(|| Clock::new(&accepted, traffic.origin));
            let new = || DirectLimiter::new(accepted.policy.clone());
            let alone = [new(), new(), new()];
            let mut last = Decision::default();
            for request in traffic.requests {
                let now = clock.tick(request.tick, &last);
                let cost = request.ask.cost(accepted.capacity());
                last = limiter.check_at([group, request.key], cost, now);
                prop_assert_eq!(last, alone[usize::from(request.key)].check_at(cost, now));
            }
            let resets = alone.iter().map(|alone| alone.check_at(0, clock.now).reset_after_ns());
            let Some(reset) = accepted.after(clock.now, resets.max().unwrap_or(0)) else { break };
            clock.now = reset;
        }
        prop_assert_eq!(limiter.stats_at(clock.map_or(0, |clock| clock.now)).evicted, 0);
    }
}
