//! What a table holds and what it costs: bytes a key, and keys without room at the advertised capacity.

use ratecell::{Limiter, Policy, Stats, WhenFull};

const MAX_KEYS: usize = 600_000;
const NOW: u64 = 1_000_000_000;

fn limiter(policy: &str, when_full: WhenFull) -> Limiter {
    let policy: Policy = policy.parse().expect("a policy");
    Limiter::builder(policy).max_keys(MAX_KEYS).when_full(when_full).build().expect("a limiter")
}

/// Asks once for each of the first `keys` keys.
fn ask_for_all(limiter: &Limiter, keys: usize) -> Stats {
    for key in 0..keys {
        let _ = limiter.check_at(key.to_le_bytes(), 1, NOW);
    }
    limiter.stats_exact_at(NOW)
}

#[test]
fn a_key_takes_26_bytes_whatever_its_length() {
    let limiter = limiter("1/d", WhenFull::Evict);
    let before = limiter.stats_at(NOW);
    for key in 0..1000usize {
        let _ = limiter.check_at(key.to_string().repeat(300), 1, NOW);
    }
    let after = limiter.stats_at(NOW);
    assert_eq!(after.bytes, before.bytes);
    assert!(after.bytes <= 26 * MAX_KEYS, "{} bytes for {MAX_KEYS} keys", after.bytes);
    println!("{:.2} bytes a key", after.bytes as f64 / MAX_KEYS as f64);
}

/// 6 in 100,000 are expected without room: 36 of these keys. A hundred are not chance.
#[test]
fn at_capacity_hardly_a_key_is_without_room() {
    let stats = ask_for_all(&limiter("1/d", WhenFull::Deny), MAX_KEYS);
    assert_eq!(stats.live + stats.denied_full as usize, MAX_KEYS);
    println!("{} of {MAX_KEYS} keys without room", stats.denied_full);
    assert!(stats.denied_full < 100, "{} of {MAX_KEYS} keys without room", stats.denied_full);
}

/// What a peek cannot see: that there is no room for the key.
#[test]
fn a_newcomer_without_room_in_one_layer_has_nothing_remaining() {
    let policy: Policy = "10/s burst=20 & fixed_window 40/1d".parse().expect("a policy");
    let limiter = Limiter::builder(policy).max_keys(1).when_full(WhenFull::Deny).build().expect("a limiter");
    let slots = limiter.stats_at(0).slots;
    for key in 0..slots {
        assert!(limiter.check_at(key.to_le_bytes(), 1, 0).is_allowed(), "key {key} of {slots}");
    }
    let denied = limiter.check_at("one more", 2, 0);
    assert_eq!((denied.is_allowed(), denied.remaining()), (false, 0));
    assert!(denied.reset_after_ns() >= denied.retry_after_ns() && denied.retry_after_ns() > 0, "{denied:?}");
}

/// The sliding logs' table is bounded in keys too, and answers as the others do when it is full.
#[test]
fn logs_are_bounded_in_keys() {
    for when_full in [WhenFull::Evict, WhenFull::Share, WhenFull::Deny, WhenFull::Allow] {
        let policy: Policy = "sliding_log 1/d".parse().expect("a policy");
        let limiter =
            Limiter::builder(policy).max_keys(1000).when_full(when_full).build().expect("a limiter");
        let stats = ask_for_all(&limiter, 1000);
        assert_eq!(stats.live, 1000, "{when_full:?}: at capacity all have room");
        let stats = ask_for_all(&limiter, 10_000);
        assert!(stats.live <= stats.slots, "{when_full:?}: {} keys in {} slots", stats.live, stats.slots);
        let counted = match when_full {
            WhenFull::Evict => stats.forgiven == stats.evicted && stats.evicted > 0,
            WhenFull::Share => stats.shared > 0,
            WhenFull::Deny => stats.denied_full > 0,
            _ => stats.allowed_full > 0,
        };
        assert!(counted, "{when_full:?}: {stats:?}");
    }
}

#[test]
fn what_cannot_be_built_says_why() {
    let policy: Policy = "1/s".parse().expect("a policy");
    let build = |max_keys| match Limiter::builder(policy.clone()).max_keys(max_keys).build() {
        Ok(_) => panic!("{max_keys} keys were built"),
        Err(error) => error.to_string(),
    };
    assert_eq!(build(0), "max_keys is 0: expected at least 1");
    assert!(build(1 << 50).contains("cannot be allocated"), "{}", build(1 << 50));
    assert!(build(usize::MAX).contains("cannot be allocated"), "{}", build(usize::MAX));
}
