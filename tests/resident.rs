//! What of a table's memory becomes resident: what keys touch, and no more. Alone in its process, whose memory is read.

use ratecell::{Limiter, Memory, Policy};

/// KiB of shared memory that this process has touched.
fn shared() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("the process's status");
    let line =
        status.lines().find_map(|line| line.strip_prefix("RssShmem:")).expect("a line of shared memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn the_stats_of_an_empty_table_leave_it_untouched() {
    const LEN: usize = 512 << 20;
    let policy: Policy = "10/h".parse().expect("a policy");
    let before = shared();
    let memory = Memory::shared(LEN).expect("memory");
    let limiter = Limiter::builder(policy).init_zeroed(&memory).expect("a region");
    for number in 0..1_000_u32 {
        assert!(limiter.check_at(number.to_le_bytes(), 1, 0).is_allowed());
    }
    let keys = shared();
    for _ in 0..3 {
        let stats = limiter.stats_at(0);
        assert!(stats.live.abs_diff(1_000) <= stats.live_error, "{stats:?}");
    }
    let (keys, stats) = (keys - before, shared() - before);
    assert!(stats - keys < 8 << 10, "{keys} KiB for the keys, {stats} KiB after their stats");
    // The exact form reads the rest, which is what it is for.
    let exact = limiter.stats_exact_at(0);
    assert_eq!((exact.live, exact.live_error), (1_000, 0));
    assert!(shared() - before > LEN >> 11, "expected the other half to be seen as well");
}
