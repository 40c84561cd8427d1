//! A flood of distinct keys: memory stays as it was, and the keys that are limited stay limited.
//!
//! Alone in its process, for it measures the process. `RATECELL_FLOOD` sets the number of keys.

use ratecell::{Limiter, Policy};

const NOW: u64 = 1_000_000_000;
const HOT_KEYS: u64 = 100;
const LIMIT: u64 = 50;

/// Resident memory in bytes, where the system tells it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn hot_allowed(limiter: &Limiter) -> u64 {
    let ask =
        |key: u64| (0..LIMIT).filter(|_| limiter.check_at(format!("hot {key}"), 1, NOW).is_allowed()).count();
    (0..HOT_KEYS).map(|key| ask(key) as u64).sum()
}

#[test]
fn a_flood_of_keys_takes_no_memory_and_frees_no_limited_key() {
    let flood: u64 =
        std::env::var("RATECELL_FLOOD").map_or(3_000_000, |keys| keys.parse().expect("a number"));
    let policy: Policy = format!("{LIMIT}/d").parse().expect("a policy");
    let limiter = Limiter::builder(policy).max_keys(100_000).build().expect("a limiter");
    assert_eq!(hot_allowed(&limiter), HOT_KEYS * LIMIT);

    let before = resident();
    for key in 0..flood {
        let _ = limiter.check_at(key.to_le_bytes(), 1, NOW);
    }
    let after = resident();
    let stats = limiter.stats_at(NOW);
    println!("{flood} keys: resident {before:?} before, {after:?} after; {stats:?}");
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after.abs_diff(before) < 1 << 20, "resident memory went from {before} to {after} bytes");
    }
    assert!(stats.evicted > 0 && stats.live <= stats.slots);
    assert_eq!(stats.forgiven, stats.evicted, "only keys with one unit went");
    assert_eq!(hot_allowed(&limiter), 0, "a key at its limit was forgotten for a key with one unit");
}
