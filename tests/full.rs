//! What the newcomers of a full table get, step by step.

use ratecell::{Claim, Decision, Limiter, Outcome, Policy, Request, WhenFull};

/// A table of two homes, its clock in milliseconds.
struct Table {
    limiter: Limiter,
    /// The keys that have been made up so far.
    keys: u64,
}

impl Table {
    fn new(policy: &str) -> Self {
        let policy: Policy = policy.parse().expect("a policy");
        let limiter = Limiter::builder(policy).max_keys(10).when_full(WhenFull::Share);
        Self { limiter: limiter.build().expect("a limiter"), keys: 0 }
    }

    fn check(&self, key: u64, cost: u32, ms: u64) -> Decision {
        self.limiter
            .decide(Request::hashed(key.wrapping_mul(0x9e37_79b9_7f4a_7c15)).cost(cost).at(ms * 1_000_000))
    }

    fn newcomer(&mut self, cost: u32, ms: u64) -> u64 {
        self.keys += 1;
        let _ = self.check(self.keys, cost, ms);
        self.keys
    }

    /// Newcomers until the first finds no room, which is charged `cost` on its home's shared cell: that one.
    fn fill(&mut self, cost: u32, ms: u64) -> u64 {
        loop {
            let key = self.newcomer(cost, ms);
            if self.limiter.stats_at(ms * 1_000_000).shared > 0 {
                return key;
            }
        }
    }
}

/// A key takes its whole quota of the shared cell. Then newcomers of the other home reuse slots of its home, whose words
/// were live until an instant at which the shared cell still is: what it holds is not forgotten.
#[test]
fn a_shared_cell_keeps_its_counts_when_slots_are_reused() {
    for (policy, early_ms, early_cost, most_again) in [
        ("100/1s", 101_001, 99, 1),
        ("sliding_window 100/1s", 100_900, 1, 1),
        ("sliding_window 100/1s strict=true", 100_900, 1, 0),
        ("sliding_window 100/1s heal=1m", 100_900, 1, 1),
        ("token_bucket 20/1s capacity=100 mode=interval", 100_900, 40, 20),
        ("token_bucket 20/1s capacity=100 mode=interval_first", 101_000, 20, 0),
        ("fixed_window 100/1s start=first", 101_000, 1, 0),
        ("fixed_window 100/1s offset=500ms", 101_000, 1, 0),
        ("sliding_log 100/1s", 101_000, 1, 0),
    ] {
        let mut table = Table::new(policy);
        for _ in 0..6 {
            table.newcomer(early_cost, early_ms);
        }
        let key = table.fill(100, 101_990);
        for _ in 0..40 {
            table.newcomer(1, 102_001);
        }
        let again = table.check(key, most_again + 1, 102_002);
        assert!(!again.is_allowed(), "{policy}: {again:?}");
    }
}

/// A window or a refill that one newcomer's request has begun is not the next one's: that begins with its own.
#[test]
fn what_begins_with_a_request_begins_with_each_newcomers() {
    for policy in ["fixed_window 100/1s start=first", "token_bucket 50/1s capacity=100 mode=interval_first"] {
        let mut table = Table::new(policy);
        table.fill(1, 101_000);
        // Of ten of both homes, some have the cell that is begun.
        for key in 1_000..1_010 {
            let units = (1..=99).rev().find(|units| table.check(key, *units, 101_999).is_allowed());
            let most = 100 - units.unwrap_or(0);
            let again = table.check(key, most + 1, 102_001);
            assert!(!again.is_allowed(), "{policy}, key {key} after {units:?}: {again:?}");
        }
    }
}

/// A clock that was an hour ahead has left its floor. Where words heal nobody believes it, and it hides no other: to a
/// clock that is behind, a key that lost its word at 30 s is not new. Its request is judged as if it came then.
#[test]
fn a_floor_that_is_not_believed_hides_no_other() {
    const S: u64 = 1_000_000_000;
    const AHEAD: u64 = 3_600 * S;
    for policy in ["1/10s heal=1s", "sliding_log 1/10s heal=1s", "fixed_window 1/10s heal=1s start=first"] {
        let policy: Policy = policy.parse().expect("a policy");
        let limiter = Limiter::builder(policy.clone()).max_keys(5).when_full(WhenFull::Deny);
        let limiter = limiter.build().expect("a limiter");
        let places = limiter.stats_at(0).slots as u64;
        let one = |key: u64, now: u64| limiter.check_at(key.to_le_bytes(), 1, now).is_allowed();
        assert!((0..places).all(|key| one(key, AHEAD)) && one(places, AHEAD + 20 * S));
        let (keys, early) = (1_000..1_000 + places / 2, 2_000..2_000 + places / 2);
        assert!(keys.clone().all(|key| one(key, 20 * S)) && early.clone().all(|key| one(key, 19 * S)));
        assert!(one(3_000, 30 * S), "a place is fresh");
        let behind: Vec<_> = keys.clone().filter(|key| one(*key, 29 * S + S / 2)).collect();
        for key in behind {
            assert!(!one(key, 39 * S + S * 3 / 4), "{policy}: key {key}, three times within 20 s");
        }
    }
}

#[test]
fn a_check_of_no_cost_sees_what_is_shared_as_a_peek_does() {
    for policy in ["3/1s", "sliding_window 3/1s", "sliding_log 3/1s"] {
        let policy: Policy = policy.parse().expect("a policy");
        let limiter = Limiter::builder(policy.clone()).max_keys(5).when_full(WhenFull::Share);
        let limiter = limiter.build().expect("a limiter");
        let shared = |key: &u64| {
            let _ = limiter.check_at(key.to_le_bytes(), 2, 0);
            limiter.stats_at(0).shared > 0
        };
        let key = (0..).find(shared).expect("the table is full at last").to_le_bytes();
        let peeked = limiter.check_at(key, 0, 0);
        assert_eq!(peeked.remaining(), 1, "{policy}");
        assert_eq!(limiter.check_at(key, 0, 0), peeked, "{policy}");
    }
}

/// A table that is full of keys that hold a unit each, at its instant 0.
fn full(policy: &str, when_full: WhenFull) -> Limiter {
    let policy: Policy = policy.parse().expect("a policy");
    let limiter = Limiter::builder(policy).max_keys(5).when_full(when_full).build().expect("a limiter");
    for key in 0..1_000_u64 {
        let _ = limiter.check_at(key.to_le_bytes(), 1, 0);
    }
    limiter
}

/// A peek does not see the table, so it has nothing to say of when there may be a place.
#[test]
fn where_no_place_is_the_next_unit_waits_for_one_too() {
    for policy in ["5/m", "sliding_window 5/m", "sliding_log 5/m", "5/m & leaky_queue 1/m queue=4"] {
        let limiter = full(policy, WhenFull::Deny);
        for request in [Request::new("k").cost(2), Request::new("k").cost(2).charge()] {
            let decision = limiter.decide(request.at(1_000).with_next());
            assert!(decision.is_without_place(), "{policy}: {decision:?}");
            assert_eq!(decision.next_after(), decision.retry_after(), "{policy}");
            assert_eq!(limiter.decide(request.at(1_000)).next_after(), None, "{policy}");
        }
    }
}

#[test]
fn what_is_not_charged_for_want_of_a_place_is_answered_by_a_peek() {
    for policy in ["5/m", "sliding_window 5/m", "sliding_log 5/m", "5/m & sliding_log 9/m"] {
        let limiter = full(policy, WhenFull::Allow);
        let before = limiter.check_at("k", 0, 1_000);
        assert_eq!((before.outcome(), before.remaining()), (Outcome::Allowed, 5), "{policy}");
        assert_eq!(limiter.decide(Request::new("k").cost(2).at(1_000).charge()), before, "{policy}");
        assert_eq!(limiter.check_at("k", 0, 1_000), before, "{policy}");
    }
}

/// A key has lost its slot, and its return is taken back. Its cell is then no way around the floor that its home has
/// since: a caller whose clock is behind gets what the key had until `fresh_at` no second time.
#[test]
fn a_newcomer_that_is_taken_back_is_not_below_its_floor() {
    let full = |policy: &str, now| {
        let policy: Policy = policy.parse().expect("a policy");
        let limiter =
            Limiter::builder(policy).max_keys(5).when_full(WhenFull::Deny).build().expect("a limiter");
        for key in 0..7_u64 {
            assert!(limiter.check_at(key.to_le_bytes(), 1, now).is_allowed());
        }
        limiter
    };
    for (policy, fresh_at) in [
        ("4/10us burst=6", 115_000),
        ("fixed_window 6/10us", 110_000),
        ("fixed_window 6/10us start=first", 110_000),
        ("sliding_window 6/10us", 120_000),
        ("token_bucket 3/10us capacity=6 mode=interval", 120_000),
        ("token_bucket 3/10us capacity=6 mode=interval_first", 120_000),
    ] {
        let limiter = full(policy, 50_000);
        assert!(limiter.check_at("key", 6, 100_000).is_allowed());
        for key in 7..14_u64 {
            assert!(limiter.check_at(key.to_le_bytes(), 6, 150_000).is_allowed());
        }
        let other = full("1/h", 200_000);
        let claims =
            [&limiter, &other].map(|limiter| Claim { limiter, request: Request::new("key").at(200_000) });
        assert_eq!(Limiter::decide_all(&claims, &mut [Decision::default(); 2]), Outcome::Denied);
        let again = [100_000, fresh_at].map(|now| limiter.check_at("key", 6, now).is_allowed());
        assert!(again != [true; 2], "{policy}");
        assert!(limiter.check_at("key", 6, 300_000).is_allowed(), "{policy}");
    }
}
