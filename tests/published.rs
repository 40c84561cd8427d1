//! The tables that other limiters test themselves with: instants, costs and outcomes from their own
//! test files. The rows of throttled and redis-cell stand in `docs/RECIPES.md`.

use ratecell::{Decision, DirectLimiter};

const MS: u64 = 1_000_000;
/// The unit of the rows of x/time/rate.
const TENTH: u64 = 100 * MS;

/// At, n, allowed.
type Row = (u64, u32, bool);

/// At, n, when it may act: `None` if refused.
type Reservation = (u64, u32, Option<u64>);

fn limiter(policy: &str) -> DirectLimiter {
    DirectLimiter::new(policy.parse().expect(policy))
}

/// x/time/rate's `TestLimiterBurst1` and `TestLimiterBurst3`: 10 a second.
#[test]
fn x_time_rate_allow() {
    let burst_1 = [
        (0, 1, true),
        (0, 1, false),
        (0, 1, false),
        (1, 1, true),
        (1, 1, false),
        (1, 1, false),
        (2, 2, false),
        (2, 1, true),
        (2, 1, false),
    ];
    let burst_3 = [
        (0, 2, true),
        (0, 2, false),
        (0, 1, true),
        (0, 1, false),
        (1, 4, false),
        (2, 1, true),
        (3, 1, true),
        (4, 1, true),
        (4, 1, true),
        (4, 1, false),
        (4, 1, false),
        (9, 3, true),
        (9, 0, true),
    ];
    for (burst, rows) in [(1, &burst_1[..]), (3, &burst_3[..])] {
        for policy in [
            format!("10/s burst={burst}"),
            format!("token_bucket 10/s capacity={burst}"),
            format!("leaky_meter 10/s capacity={burst}"),
        ] {
            let limiter = limiter(&policy);
            for (row, (at, n, allowed)) in rows.iter().enumerate() {
                let decision = limiter.check_at(*n, at * TENTH);
                assert_eq!(decision.is_allowed(), *allowed, "{policy}, row {row}");
            }
        }
    }
}

/// x/time/rate's `TestLimiterJumpBackwards`. Its clock starts again where it stepped back to, and
/// credits the same time twice; law 5 does not.
#[test]
fn x_time_rate_jump_backwards() {
    let rows = [
        (1, true, true),
        (0, true, true),
        (0, true, false),
        (0, false, false),
        (0, false, false),
        (1, true, true),
        (1, false, false),
        (1, false, false),
        (2, true, true),
        (2, false, false),
        (2, false, false),
    ];
    let limiter = limiter("10/s burst=3");
    for (row, (at, theirs, ours)) in rows.into_iter().enumerate() {
        assert_eq!(limiter.check_at(1, at * TENTH).is_allowed(), ours, "row {row}");
        assert!(theirs || !ours, "row {row}");
    }
}

/// When a reservation may act, in tenths; `None` if it was refused.
fn acts_at(decision: &Decision, at: u64) -> Option<u64> {
    decision.is_allowed().then(|| at + decision.delay_ns() / TENTH)
}

/// x/time/rate's `TestSimpleReserve`, `TestMix`, `TestCancelInvalid` and `TestReserveMax`: 10 a second,
/// 2 at once. The queue is the longest wait.
#[test]
fn x_time_rate_reserve() {
    let tables: [(u32, &[Reservation]); 4] = [
        (100, &[(0, 2, Some(0)), (0, 2, Some(2)), (3, 2, Some(4))]),
        (0, &[(0, 3, None), (0, 2, Some(0))]),
        (100, &[(0, 2, Some(0)), (0, 2, Some(2))]),
        (1, &[(0, 2, Some(0)), (0, 1, Some(1)), (0, 1, None)]),
    ];
    for (queue, rows) in tables {
        let limiter = limiter(&format!("leaky_queue 10/s queue={queue} burst=2"));
        for (at, n, expected) in rows {
            let decision = limiter.check_at(*n, at * TENTH);
            assert_eq!(acts_at(&decision, *at), *expected, "queue {queue}: {n} at {at}");
        }
    }
}

/// x/time/rate's `TestReserveJumpBack`: none acts earlier here than there.
#[test]
fn x_time_rate_reserve_jump_back() {
    let limiter = limiter("leaky_queue 10/s queue=100 burst=2");
    for (at, n, theirs) in [(1, 2, 1), (0, 1, 1), (2, 2, 3)] {
        let ours = acts_at(&limiter.check_at(n, at * TENTH), at);
        assert!(ours >= Some(theirs), "{n} at {at}: {ours:?}");
    }
}

/// governor's `tests/direct.rs`: each row in milliseconds after the one before.
#[test]
fn governor() {
    let five_then_one = [(0, 1, true), (0, 1, true), (0, 1, true), (0, 1, true), (0, 1, true), (0, 1, false)];
    let after_a_pause =
        [(2000, 1, true), (0, 1, true), (0, 1, true), (0, 1, true), (0, 1, true), (0, 1, false)];
    let tables: [(u32, &[Row]); 5] = [
        (2, &[(0, 1, true), (1, 1, true), (1, 1, false), (1000, 1, true), (1, 1, true), (1, 1, false)]),
        (5, &[five_then_one, after_a_pause].concat()),
        (4, &[(0, 2, true), (0, 2, true), (1, 2, false), (1000, 2, true), (1, 2, true), (1, 2, false)]),
        (5, &[(0, 15, false), (3000, 15, false)]),
        (5, &[(0, 15, false), (0, 7, false), (0, 6, false), (0, 5, true)]),
    ];
    for (limit, rows) in tables {
        let limiter = limiter(&format!("{limit}/s"));
        let mut now = 0;
        for (row, (pause, n, allowed)) in rows.iter().enumerate() {
            now += pause * MS;
            assert_eq!(limiter.check_at(*n, now).is_allowed(), *allowed, "{limit}/s, row {row}");
        }
    }
}

/// governor's `correct_wait_time`: who waits as long as told is allowed, each time.
#[test]
fn governor_correct_wait_time() {
    let limiter = limiter("5/s");
    let (mut now, mut waits) = (0, 0);
    for _ in 0..20 {
        now += MS;
        let decision = limiter.check_at(1, now);
        if !decision.is_allowed() {
            waits += 1;
            now += decision.retry_after_ns();
            assert!(limiter.check_at(1, now).is_allowed());
        }
    }
    assert_eq!(waits, 15);
}
