//! Every number of every decision is that of the naive model.

use proptest::prelude::*;
use ratecell::Decision;

use crate::model::{Answer, Model};
use crate::policies::{Heal, policies};
use crate::traffic::{Clock, Steps, traffic};
use crate::{cases, limiter};

proptest! {
    #![proptest_config(cases(100_000))]

    #[test]
    fn decisions_are_the_models(
        accepted in policies(Heal::Sometimes),
        traffic in traffic(Steps::Both, 40),
    ) {
        let limiter = limiter(&accepted.policy);
        let model = Model::new(&accepted);
        let mut keys = [model.unused_key(), model.unused_key(), model.unused_key()];
        let mut clock = Clock::new(&accepted, traffic.origin).unlimited();
        let mut last = Decision::default();
        for request in traffic.requests {
            let now = clock.tick(request.tick, &last);
            let cost = request.ask.cost(accepted.capacity());
            last = limiter.check_at([request.key], cost, now);
            let expected = model.check(&mut keys[usize::from(request.key)], now, cost);
            prop_assert_eq!(Answer::from(last), expected, "at {}: {:?}, cost {}", now, request, cost);
            if let [layer] = &accepted.layers[..] {
                prop_assert_eq!(last.limit(), u64::from(layer.capacity()));
            }
        }
    }
}
