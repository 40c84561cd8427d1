//! Bad input: refused when something is built, with a reason; an outcome of its own when something is
//! asked; and never charged.

use std::time::Duration;

use ratecell::{DirectLimiter, Limiter, Outcome, Policy, PolicyErrorKind, Request};

fn limiter(policy: &str) -> Limiter {
    let policy: Policy = policy.parse().expect("a policy");
    Limiter::builder(policy).max_keys(100).build().expect("a limiter")
}

#[test]
fn a_policy_is_refused_by_name_and_place() {
    let refused = [
        ("0/s", "zero_limit at column 1: limit is 0: expected 1 to 4294967295"),
        ("10/0s", "zero_period at column 4: period is 0: expected at least 1ns"),
        ("10/s burst=0", "zero_capacity at column 12: burst is 0: expected 1 to 4294967295"),
        ("5/s & 10/s burst=x", "syntax at column 18: burst is `x`: expected a whole number"),
        ("10", "syntax at column 1: `10`: expected LIMIT/PERIOD, such as 100/s or 5000/1h"),
        ("10/s &", "syntax at column 7: nothing here: expected LIMIT/PERIOD, such as 100/s or 5000/1h"),
        (
            "10/fortnight",
            "syntax at column 4: period is `fortnight`: expected a unit, or a whole number and a unit: ns us ms s m h d w",
        ),
        ("10/S", "syntax at column 4: period is `S`: write s"),
        ("10 per", "syntax at column 7: nothing after `per`: expected a period, such as s, 5m or day"),
        ("5/s & 1k/m", "syntax at column 7: limit is `1k`: write 1000"),
        (
            "5/s & 100/2 months",
            "syntax at column 11: period is `2months`: a month has no fixed length, write 60d",
        ),
        ("fixed_window 2.5/s", "syntax at column 14: limit is `2.5`: expected a whole number, such as 5/2s"),
        ("10/s heal=1.5h", "syntax at column 11: heal is `1.5h`: write 90m"),
        (
            "100/day;10/hour",
            "syntax at column 5: period is `day;10/hour`: expected & between layers, and white space before an option",
        ),
        ("10/s burst=5 burst=6", "syntax at column 14: burst is given twice"),
        ("sliding_window 5/s strict=yes", "syntax at column 27: strict is `yes`: expected true, false"),
        ("token_bucket 5/s", "bad_type at column 1: capacity is missing: expected capacity=UNITS"),
        (
            "fixed_window 1/s offset=1s",
            "bad_offset at column 25: offset is 1000000000ns: expected less than the window of 1000000000ns",
        ),
        (
            "5/s & fixed_window 3/s start=first offset=2s",
            "bad_offset at column 43: offset moves aligned windows: expected none with start=first",
        ),
        (
            "token_bucket  7/1w  capacity=0",
            "zero_capacity at column 30: capacity is 0: expected 1 to 4294967295",
        ),
        (
            "leaky_bucket 1/s",
            "unknown_algorithm at column 1: no algorithm `leaky_bucket`: expected gcra, token_bucket, leaky_meter, leaky_queue, sliding_window, sliding_log, fixed_window, calendar_window, in_flight",
        ),
        (
            "sliding_log 65537/s",
            "range at column 13: limit is 65537: a log keeps every unit, expected at most 65536",
        ),
    ];
    for (text, message) in refused {
        assert_eq!(text.parse::<Policy>().expect_err(text).to_string(), message, "{text}");
    }
    let too_wide = "sliding_window 1000000/s".parse::<Policy>().expect_err("no room in the word");
    assert_eq!(too_wide.kind(), PolicyErrorKind::Range);
    assert!(too_wide.to_string().contains("does not fit a 64-bit word"), "{too_wide}");
}

#[test]
fn a_constructor_refuses_as_the_text_does() {
    let kind = |policy: Result<Policy, ratecell::PolicyError>| policy.expect_err("refused").kind();
    let second = Duration::from_secs(1);
    assert_eq!(kind(Policy::gcra(0, second).build()), PolicyErrorKind::ZeroLimit);
    assert_eq!(kind(Policy::gcra(1, Duration::ZERO).build()), PolicyErrorKind::ZeroPeriod);
    assert_eq!(kind(Policy::gcra(1, Duration::MAX).build()), PolicyErrorKind::Range);
    assert_eq!(kind(Policy::token_bucket(1, second, 0).build()), PolicyErrorKind::ZeroCapacity);
    assert_eq!(kind(Policy::all([])), PolicyErrorKind::BadLayers);
    let one: Policy = "1/s".parse().expect("a policy");
    assert_eq!(kind(Policy::all(vec![one.clone(); 9])), PolicyErrorKind::BadLayers);
    let two = Policy::all([one.clone(), one.clone()]).expect("two layers");
    assert_eq!(kind(Policy::all([two, one])), PolicyErrorKind::BadLayers);
}

#[test]
fn the_empty_key_is_a_key() {
    let limiter = limiter("1/s");
    assert!(limiter.check_at("", 1, 0).is_allowed());
    assert!(!limiter.check_at(b"", 1, 0).is_allowed());
    assert!(limiter.check_at("\0", 1, 0).is_allowed());
}

#[test]
fn what_can_never_pass_charges_nothing() {
    for policy in ["5/s", "sliding_window 5/s", "fixed_window 5/s", "sliding_log 5/s", "5/s & 7/m"] {
        let limiter = limiter(policy);
        let never = limiter.check_at("key", 6, 1);
        assert_eq!(never.outcome(), Outcome::Never, "{policy}");
        assert_eq!(never.retry_after(), None);
        assert_eq!(limiter.check_at("key", u32::MAX, 1).outcome(), Outcome::Never);
        assert_eq!(limiter.stats_at(1).live, 0, "{policy}");
        assert!(limiter.check_at("key", 5, 1).is_allowed());
    }
}

#[test]
fn a_time_past_the_word_charges_nothing() {
    for policy in ["5/s", "fixed_window 5/s start=first", "5/s & sliding_window 7/m"] {
        let limiter = limiter(policy);
        let last = limiter.policy().max_now_ns();
        for now in [last + 1, u64::MAX] {
            let beyond = limiter.check_at("key", 1, now);
            assert_eq!(beyond.outcome(), Outcome::ClockRange, "{policy}");
            assert_eq!(beyond.retry_after(), None);
        }
        assert_eq!(limiter.stats_at(last).live, 0, "{policy}");
        assert!(limiter.check_at("key", 5, last).is_allowed(), "{policy}");
    }
}

#[test]
#[should_panic(expected = "a batch has one decision for each request")]
fn a_batch_without_room_for_its_decisions_is_a_mistake() {
    let requests = [Request::new("a"), Request::new("b")];
    limiter("1/s").decide_batch(&requests, &mut [ratecell::Decision::default()]);
}

#[test]
fn past_the_clock_a_layer_is_named_with_its_own_limit() {
    let policy: Policy = "2/s & 1/s burst=3".parse().expect("a policy");
    let past = policy.max_now_ns() + 1;
    let limiter = Limiter::builder(policy).max_keys(1).build().expect("a limiter");
    let decision = limiter.check_at("key", 1, past);
    assert_eq!(decision.outcome(), Outcome::ClockRange);
    assert_eq!(decision.limit(), [2, 3][decision.layer()]);
}

/// The one layer could be filled, and is not.
#[test]
fn past_the_range_of_one_layer_no_layer_is_charged() {
    for text in ["sliding_log 5/m & 5/m", "5/m & sliding_window 9/m", "sliding_window 9/m & 5/m"] {
        let policy: Policy = text.parse().expect("a policy");
        let past = policy.resolved().map(|layer| layer.max_now_ns).min().expect("a layer") + 1;
        let limiter = Limiter::builder(policy.clone()).max_keys(10).build().expect("a limiter");
        let (direct, request) = (DirectLimiter::new(policy.clone()), Request::new("k").at(past));
        let peeked = limiter.decide(request.cost(0));
        assert_eq!(peeked.outcome(), Outcome::ClockRange, "{text}");
        assert_eq!(limiter.decide(request.cost(3).charge()), peeked, "{text}");
        assert_eq!(direct.decide(request.cost(3).charge()), peeked, "{text}");
        assert!(!limiter.forget("k"), "{text}");
        let fresh = DirectLimiter::new(policy);
        assert_eq!(direct.check_at(0, past - 1), fresh.check_at(0, past - 1), "{text}");
    }
}
