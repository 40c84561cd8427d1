use ratecell::{Decision, Request};

use super::*;

fn table() -> Limiter {
    Limiter::builder(base()).max_keys(1_000).build().expect("a table")
}

fn terms(max_burst: u32, count: u32, period_s: u32) -> Terms {
    Terms { max_burst, count, period_s }
}

#[test]
fn the_rate_is_exact_or_below() {
    let (base, mut views) = (table(), Views::new());
    for (count, period_s, exact) in
        [(30, 60, true), (3, 1, true), (7, 60, true), (90, 60, true), (1000, 86_400, true), (11, 1, false)]
    {
        let view = views.of(&base, terms(15, count, period_s)).expect("a policy");
        let resolved =
            view.limiter.policy().resolved().next().and_then(|resolved| resolved.emission).expect("a rate");
        let (num, den) = (u128::from(resolved.num), u128::from(resolved.den));
        let asked = u128::from(period_s) * 1_000_000_000;
        // One unit takes num / den ns, which is at least asked / count, and by less than a tick.
        let excess = num * u128::from(count) - asked * den;
        assert_eq!((resolved.exact, excess < u128::from(count)), (exact, true), "{count}/{period_s}s");
        assert_eq!(exact, excess == 0);
    }
}

#[test]
fn a_burst_of_years_has_room() {
    let (base, mut views) = (table(), Views::new());
    assert!(views.of(&base, terms(17, 1, 31_536_000)).is_ok());
    let refused = views.of(&base, terms(30, 1, 31_536_000)).expect_err("a burst of 31 years");
    assert!(refused.contains("does not fit a 64-bit word"), "{refused}");
    assert!(views.of(&base, terms(u32::MAX, 1, 1)).is_err());
}

#[test]
fn one_rate_has_one_name() {
    let (base, mut views) = (table(), Views::new());
    for (count, period_s, rate) in [(30, 60, " 1/2s"), (1, 2, " 1/2s"), (5, 1, " 5/1s"), (60, 1, " 60/1s")] {
        assert_eq!(views.of(&base, terms(1, count, period_s)).expect("a policy").rate, rate);
    }
}

#[test]
fn made_up_policies_take_no_more_room() {
    let (base, mut views) = (table(), Views::new());
    for count in 1..=5_000 {
        assert!(views.of(&base, terms(10, count, 60)).is_ok());
    }
    assert_eq!(views.len(), MAX_VIEWS.get());
    // What was forgotten is made again, over the same cells.
    let check =
        |views: &mut Views| views.of(&base, terms(10, 1, 60)).expect("a policy").limiter.check("a 1/60s");
    assert_eq!(check(&mut views).remaining(), 10);
    for count in 1..=5_000 {
        assert!(views.of(&base, terms(11, count, 60)).is_ok());
    }
    assert_eq!(check(&mut views).remaining(), 9);
}

/// The table in redis-cell's own test, of 5 at once and 1 a second: time in milliseconds, quantity, what remains, the times
/// until the key is as never seen and until it is worth to ask again, and whether the request is limited.
#[test]
fn the_table_of_redis_cell() {
    let (base, mut views) = (table(), Views::new());
    let view = views.of(&base, terms(4, 1, 1)).expect("a policy");
    for (number, (now_ms, quantity, remaining, reset_ms, retry_ms, limited)) in [
        (0, 6, 5, 0, None, true),
        (0, 1, 4, 1_000, None, false),
        (0, 1, 3, 2_000, None, false),
        (0, 1, 2, 3_000, None, false),
        (0, 1, 1, 4_000, None, false),
        (0, 1, 0, 5_000, None, false),
        (0, 1, 0, 5_000, Some(1_000), true),
        (3_000, 1, 2, 3_000, None, false),
        (3_100, 1, 1, 3_900, None, false),
        (4_000, 1, 1, 4_000, None, false),
        (8_000, 1, 4, 1_000, None, false),
        (9_500, 1, 4, 1_000, None, false),
        (9_500, 0, 4, 1_000, None, false),
        (9_500, 2, 2, 3_000, None, false),
        (9_500, 5, 2, 3_000, Some(3_000), true),
    ]
    .into_iter()
    .enumerate()
    {
        let request = Request::new("foo 1/1s").cost(quantity).at(now_ms * 1_000_000);
        let decision = view.limiter.decide(request);
        let retry_ms =
            retry_ms.map_or_else(|| if limited { Decision::NEVER } else { 0 }, |ms: u64| ms * 1_000_000);
        let seen = (decision.remaining(), decision.reset_after_ns(), decision.retry_after_ns());
        assert_eq!(seen, (remaining, reset_ms * 1_000_000, retry_ms), "row {number}");
        assert_eq!((decision.limit(), decision.is_allowed()), (5, !limited), "row {number}");
    }
}
