//! What of a table's memory becomes resident: what keys touch, and no more. Alone in its process, whose memory is read.
#![cfg(target_os = "linux")]

use ratecell::{Limiter, Memory, Policy};

/// KiB of shared memory that this process has touched.
fn shared() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("the process's status");
    let line =
        status.lines().find_map(|line| line.strip_prefix("RssShmem:")).expect("a line of shared memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A limiter in a region of so many bytes, of which no more is touched than its keys do.
fn with_a_thousand_keys(len: usize) -> Limiter {
    let policy: Policy = "10/h".parse().expect("a policy");
    let memory = Memory::shared(len).expect("memory");
    let limiter = Limiter::builder(policy).init_zeroed(&memory).expect("a region");
    for number in 0..1_000_u32 {
        assert!(limiter.check_at(number.to_le_bytes(), 1, 0).is_allowed());
    }
    limiter
}

#[test]
fn the_stats_of_an_empty_table_leave_it_untouched() {
    let zone = with_a_thousand_keys(512 << 20);
    let before = shared();
    for _ in 0..3 {
        let stats = zone.stats_at(0);
        assert!(stats.live.abs_diff(1_000) <= stats.live_error, "{stats:?}");
    }
    let sampled = shared() - before;
    assert!(sampled < 8 << 10, "{sampled} KiB for the stats");
    drop(zone);
    // The exact form reads all, which is what it is for: here it is seen what else would have been.
    let zone = with_a_thousand_keys(64 << 20);
    let before = shared();
    let exact = zone.stats_exact_at(0);
    assert_eq!((exact.live, exact.live_error), (1_000, 0));
    let counted = shared() - before;
    assert!(counted > 32 << 10, "{counted} KiB for the exact stats");
}
