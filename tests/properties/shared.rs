//! A region decides as a limiter alone; what is charged afterwards, and what is claimed together, as a check.

use proptest::prelude::*;
use ratecell::{Claim, Decision, Limiter, Memory, Policy, Request};

use crate::policies::{Algorithm, Heal, policies};
use crate::traffic::{Clock, Steps, traffic};
use crate::{cases, limiter};

/// A limiter in a region of its own, of one bucket.
fn in_region(policy: &Policy) -> Option<Limiter> {
    let builder = Limiter::builder(policy.clone()).max_keys(5);
    let memory = Memory::shared(builder.region_bytes().ok()?).expect("memory");
    Some(builder.init(&memory).expect("a region"))
}

proptest! {
    #![proptest_config(cases(20_000))]

    /// Wider counts end the clock sooner, but never before the horizon.
    #[test]
    fn a_region_decides_as_a_limiter_alone(
        accepted in policies(Heal::Sometimes),
        traffic in traffic(Steps::Both, 30),
    ) {
        let Some(shared) = in_region(&accepted.policy) else { return Ok(()) };
        let alone = limiter(&accepted.policy);
        let mut clock = Clock::new(&accepted, traffic.origin);
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = alone.check_at([request.key], cost, now);
            if now > shared.policy().max_now_ns() {
                break;
            }
            prop_assert_eq!(shared.check_at([request.key], cost, now), last, "{} at {}", shared.policy(), now);
        }
    }

    /// A charge of what would be allowed is a check; of more, it leaves the key full and no fuller. What has happened
    /// already is not in flight.
    #[test]
    fn a_charge_is_a_check_that_is_never_refused(
        accepted in policies(Heal::Never).prop_filter("in flight", |accepted| {
            !accepted.layers.iter().any(|layer| matches!(layer.algorithm, Algorithm::InFlight))
        }),
        traffic in traffic(Steps::Forward, 30),
    ) {
        let (charged, checked) = (limiter(&accepted.policy), limiter(&accepted.policy));
        let one_layer = accepted.layers.len() == 1;
        let mut clock = Clock::new(&accepted, traffic.origin);
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            let before = charged.check_at("k", 0, now);
            last = charged.decide(Request::new("k").cost(cost).at(now).charge());
            prop_assert_eq!(charged.check_at("k", 0, now), last);
            prop_assert!(last.remaining() <= before.remaining() && last.reset_after() >= before.reset_after());
            if one_layer {
                let left = before.remaining().saturating_sub(cost.into());
                // What has come back of a unit is spent with the rest.
                prop_assert!(last.remaining() <= left, "{before:?} {cost} {last:?}");
                if before.remaining() >= cost.into() || accepted.layers[0].counts() {
                    prop_assert_eq!(last.remaining(), left);
                }
            }
            if one_layer && accepted.layers[0].counts() {
                let room = before.remaining().min(cost.into());
                let _ = checked.check_at("k", u32::try_from(room).expect("no more than the cost"), now);
            } else if !checked.check_at("k", cost, now).is_allowed() {
                let _ = checked.decide(Request::new("k").cost(cost).at(now).charge());
            }
            prop_assert_eq!(last, checked.check_at("k", 0, now));
        }
    }

    #[test]
    fn one_claim_is_a_check(
        accepted in policies(Heal::Sometimes),
        traffic in traffic(Steps::Both, 30),
    ) {
        let (claimed, checked) = (limiter(&accepted.policy), limiter(&accepted.policy));
        let mut clock = Clock::new(&accepted, traffic.origin);
        let mut last = Decision::default();
        for request in traffic.requests {
            let now_ns = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = checked.check_at("k", cost, now_ns);
            let mut decisions = [Decision::default()];
            let claim = Claim { limiter: &claimed, request: Request::new("k").cost(cost).at(now_ns) };
            let outcome = Limiter::decide_all(&[claim], &mut decisions);
            prop_assert_eq!((outcome, decisions), (last.outcome(), [last]));
        }
    }
}
