//! A limiter of leases whose agent is the test.

use super::*;
use crate::clock::Clock;
use crate::limiter::generations::{Generations, Own};
use crate::limiter::regime::{Regime, Regimes};
use crate::limiter::regions::kernels;
use crate::limiter::tables::LayerTable;
use crate::limiter::words::WordTable;
use crate::limiter::{Claim, Limiter};
use crate::table::{Table, WhenFull, buckets_for};
use ratecell_core::algorithm::{Answered, Kernel, Lease};
use ratecell_core::{Generation, Key, Policy};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3_600 * SECOND;

fn limiter(policy: &str, on_miss: OnMiss, on_failure: OnFailure) -> Limiter {
    let policy: Policy = policy.parse().expect("a policy");
    let table = || Table::alone(buckets_for(100).expect("a size"), WhenFull::Evict);
    let layers = kernels(&policy, true).expect("words").into_iter();
    let layers = layers.map(|kernel| LayerTable::own(kernel, table())).collect();
    let generations = Generations::Own(Own::new(Generation::first(policy.clone())).expect("memory"));
    let first = Regime { number: 0, policy: Arc::new(policy), layers, lineage: Arc::new([]) };
    let secret = Secret::random().expect("random bytes");
    let limiter = Limiter::of_regimes(Regimes::new(first, generations), Clock::new(), secret);
    let remote = Remote::new(Board::private().expect("a board"), on_miss, on_failure);
    let limiter = limiter.of_many_machines(remote);
    lives(&limiter);
    limiter
}

fn board(limiter: &Limiter) -> &Board {
    &limiter.remote.as_ref().expect("a remote").board
}

/// The agent says that it is there.
fn lives(limiter: &Limiter) {
    board(limiter).beat(limiter.now_ns());
    board(limiter).set_state(State::Here);
}

/// The agent writes a word to all layers.
fn answer(limiter: &Limiter, key: &str, word: u64) {
    let h = limiter.hash(&Request::new(key));
    for layer in limiter.regimes.first.layers.iter() {
        let LayerTable::Words(Kernel::Lease(lease), WordTable::Own(table)) = layer else {
            panic!("no lease")
        };
        assert!(table.lend(&Answered::new(*lease, word), h, limiter.now_ns()));
    }
    board(limiter).answered(h);
}

#[test]
fn a_batch_uses_no_lease_that_passed_while_it_waited() {
    let wait = Duration::from_millis(60);
    let limiter = limiter("fixed_window 100/1h", OnMiss::Wait(wait), OnFailure::Closed);
    answer(&limiter, "leased", Lease::granted(limiter.now_ns() + SECOND / 50, 5));
    let mut decisions = [Decision::default(); 2];
    limiter.decide_batch(&[Request::new("missed"), Request::new("leased")], &mut decisions);
    assert!(!decisions[0].is_allowed() && decisions[0].is_unanswered());
    assert!(!decisions[1].is_allowed(), "{:?}", decisions[1]);
}

#[test]
fn a_lease_ends_by_the_limiters_clock_whatever_the_request_says() {
    let limiter = limiter("fixed_window 100/1h & 1000/s", OnMiss::Deny, OnFailure::Closed);
    let now = limiter.now_ns();
    answer(&limiter, "passed", Lease::granted(now, 5));
    answer(&limiter, "held", Lease::granted(now + HOUR, 5));
    for (key, at, is_allowed) in [("passed", now - SECOND, false), ("held", now + 2 * HOUR, true)] {
        lives(&limiter);
        let request = Request::new(key).at(at);
        assert_eq!(limiter.decide(request).is_allowed(), is_allowed, "{key}");
        assert_eq!(limiter.decide(request.with_next()).is_allowed(), is_allowed, "{key}");
        let mut decisions = [Decision::default()];
        limiter.decide_batch(&[request], &mut decisions);
        assert_eq!(decisions[0].is_allowed(), is_allowed, "{key}");
        let outcome = Limiter::decide_all(&[Claim { limiter: &limiter, request }], &mut decisions);
        assert_eq!(outcome == Outcome::Allowed, is_allowed, "{key}");
    }
    let charged = limiter.decide(Request::new("passed").cost(3).charge().at(now - SECOND));
    assert_eq!(charged.remaining(), 0);
}

#[test]
fn one_layer_too_is_decided_by_the_limiters_clock() {
    let limiter = limiter("fixed_window 100/1h", OnMiss::Deny, OnFailure::Closed);
    let now = limiter.now_ns();
    answer(&limiter, "passed", Lease::granted(now, 5));
    assert!(!limiter.decide(Request::new("passed").at(now - SECOND)).is_allowed());
}

#[test]
fn looks_that_do_not_wait_are_one_miss() {
    let limiter = limiter("100/s", OnMiss::default(), OnFailure::Closed);
    let request = Request::new("k").without_waiting();
    let look = || assert_eq!(limiter.decide(request).outcome(), Outcome::Asked);
    for _ in 0..5 {
        look();
    }
    let misses = || limiter.shared().map(|shared| shared.misses);
    assert_eq!(misses(), Some(1));
    // Another request misses it, too.
    let mut posted = Vec::new();
    board(&limiter).take(|h, units| posted.push((h, units)));
    let Key::Bytes(key) = request.key() else { panic!("bytes") };
    assert_eq!(posted, [(limiter.hash(&Request::new(key)), 1)]);
    look();
    assert_eq!(misses(), Some(2));
}

#[test]
fn a_look_at_what_is_here_asks_for_nothing() {
    let limiter = limiter("100/s & fixed_window 100/1h", OnMiss::Deny, OnFailure::Closed);
    for request in [Request::new("k"), Request::new("k").with_next()] {
        assert_eq!(limiter.decide_here(request).outcome(), Outcome::Asked);
    }
    assert!(!board(&limiter).has(limiter.hash(&Request::new("k"))));
    assert_eq!(limiter.shared().map(|shared| shared.misses), Some(0));
    answer(&limiter, "k", Lease::granted(limiter.now_ns() + HOUR, 2));
    for request in [Request::new("k"), Request::new("k").with_next()] {
        assert!(limiter.decide_here(request).is_allowed());
    }
}

#[test]
fn a_cost_that_the_store_has_not_is_denied_without_waiting() {
    // For so long a caller would wait; the test would end all the same.
    let limiter = limiter("10/h", OnMiss::Wait(Duration::from_secs(60)), OnFailure::Closed);
    answer(&limiter, "k", Lease::denied_above(3, limiter.now_ns() + HOUR));
    let denied = limiter.check_n("k", 4);
    assert_eq!(denied.outcome(), Outcome::Denied);
    assert!(!denied.is_unanswered());
    let retry_after = denied.retry_after().expect("a wait");
    assert!(retry_after > Duration::from_secs(1_800), "{retry_after:?}");
    assert_eq!(limiter.check_n("k", 11).outcome(), Outcome::Never);
    let fewer = limiter.decide(Request::new("k").cost(3).without_waiting());
    assert_eq!(fewer.outcome(), Outcome::Asked);
}

/// A policy that is changed while another claim waits for its units does not decide when they are there.
#[test]
fn a_claim_beside_one_that_waits_is_decided_by_the_policy_in_force() {
    for (before, after) in [("in_flight 10 hold=1h", "in_flight 2 hold=1h"), ("10/1h", "2/1h burst=2")] {
        let leased = limiter("fixed_window 100/1h", OnMiss::Wait(Duration::from_secs(60)), OnFailure::Closed);
        let policy = |text: &str| text.parse::<Policy>().expect("a policy");
        let local = Limiter::builder(policy(before)).max_keys(10).build().expect("a limiter");
        assert!(local.check("key").is_allowed());
        let claims = [(&leased, 1), (&local, 5)];
        let claims = claims.map(|(limiter, cost)| Claim { limiter, request: Request::new("key").cost(cost) });
        let mut decisions = [Decision::default(); 2];
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                let h = leased.hash(&Request::new("key"));
                while !board(&leased).has(h) {
                    std::thread::yield_now();
                }
                local.change(policy(after)).expect("in force");
                answer(&leased, "key", Lease::granted(leased.now_ns() + HOUR, 5));
            });
            Limiter::decide_all(&claims, &mut decisions)
        });
        assert_eq!(outcome, Outcome::Never, "{after}: {decisions:?}");
    }
}
