//! What the newcomers of a full table share, step by step.

use ratecell::{Decision, Limiter, Policy, WhenFull};

/// A table of two homes, its clock in milliseconds.
struct Table {
    limiter: Limiter,
    /// The keys that have been made up so far.
    keys: u64,
}

impl Table {
    fn new(policy: &str) -> Self {
        let policy: Policy = policy.parse().expect("a policy");
        let limiter = Limiter::builder(policy).max_keys(12).when_full(WhenFull::Share);
        Self { limiter: limiter.build().expect("a limiter"), keys: 0 }
    }

    fn check(&self, key: u64, cost: u32, ms: u64) -> Decision {
        self.limiter.check_hash_at(key.wrapping_mul(0x9e37_79b9_7f4a_7c15), cost, ms * 1_000_000)
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
