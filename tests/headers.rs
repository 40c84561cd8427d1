//! The HTTP fields: their texts, and that a parser of structured fields reads them as they were meant.

use proptest::prelude::*;
use ratecell::headers::{Field, Headers};
use ratecell::{Decision, Limiter, Outcome, Policy};
use sfv::{BareItem, ListEntry, Parser};

const SECOND: u64 = 1_000_000_000;

fn policy(text: &str) -> Policy {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn limiter(text: &str) -> Limiter {
    Limiter::builder(policy(text)).max_keys(100).build().expect("memory")
}

/// What `field` says, `None` where it is not to be sent.
fn told(limiter: &Limiter, field: Field, decision: &Decision) -> Option<String> {
    Some(Headers::new(limiter.policy()).named("api").expect("ASCII").value(field, decision)?.to_string())
}

#[test]
fn a_field_for_each_outcome() {
    let limiter = limiter("10/s burst=20");
    let tell = |decision: &Decision| {
        [Field::RateLimit, Field::RetryAfter, Field::XRateLimitRemaining, Field::XRateLimitReset]
            .map(|field| told(&limiter, field, decision))
    };
    let some = |text: &str| Some(text.to_owned());

    let allowed = limiter.check_at("key", 15, 0);
    assert_eq!(tell(&allowed), [some("\"api\";r=5;t=2"), None, some("5"), some("2")]);

    // 5 remain: the other 10 have come back in a second. A client that waits so long is not early.
    let denied = limiter.check_at("key", 15, 0);
    assert_eq!(denied.outcome(), Outcome::Denied);
    assert_eq!(tell(&denied), [some("\"api\";r=5;t=1"), some("1"), some("5"), some("2")]);

    let never = limiter.check_at("key", 21, 0);
    assert_eq!(never.outcome(), Outcome::Never);
    assert_eq!(tell(&never), [some("\"api\";r=5;t=2"), None, some("5"), some("2")]);

    let past = limiter.check_at("key", 1, u64::MAX);
    assert_eq!(past.outcome(), Outcome::ClockRange);
    assert_eq!(tell(&past), [some("\"api\";r=0"), None, some("0"), some("0")]);
}

#[test]
fn seconds_are_rounded_up() {
    let limiter = limiter("1/1500ms");
    let _ = limiter.check_at("key", 1, 0);
    for (now, seconds) in [(0, "2"), (SECOND / 2, "1"), (SECOND / 2 - 1, "2"), (3 * SECOND / 2 - 1, "1")] {
        let denied = limiter.check_at("key", 1, now);
        assert_eq!(told(&limiter, Field::RetryAfter, &denied).as_deref(), Some(seconds), "at {now}");
    }
}

#[test]
fn the_quota_of_each_form() {
    let cases = [
        ("100/s", r#""api";q=100;w=1"#),
        ("100/s burst=200", r#""api";q=100;w=1;ratecell-burst=200"#),
        ("1000/1h", r#""api";q=1000;w=3600"#),
        ("5/10s", r#""api";q=5;w=10"#),
        ("3/1500ms", r#""api";q=6;w=3;ratecell-burst=3"#),
        ("100/100ms", r#""api";q=1000;w=1;ratecell-burst=100"#),
        ("fixed_window 5000/1d", r#""api";q=5000;w=86400"#),
        ("token_bucket 5/10s capacity=10", r#""api";q=5;w=10;ratecell-burst=10"#),
        // In whole seconds this is 4,000,000,000 units times 10^9 in 7: no structured integer.
        ("fixed_window 4000000/7ns horizon=1h", r#""api";q=4000000"#),
        ("10/s & 1000/1h", r#""api-1";q=10;w=1, "api-2";q=1000;w=3600"#),
    ];
    for (text, expected) in cases {
        let limiter = limiter(text);
        let fresh = limiter.peek_at("key", 0);
        assert_eq!(told(&limiter, Field::RateLimitPolicy, &fresh).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn the_layer_that_refuses_is_named() {
    let limiter = limiter("2/s & fixed_window 3/1h");
    let unnamed = |decision: &Decision| {
        Headers::new(limiter.policy()).value(Field::RateLimit, decision).expect("always sent").to_string()
    };
    let _ = limiter.check_at("key", 2, 0);
    let by_first = limiter.check_at("key", 1, 0);
    assert_eq!((by_first.layer(), unnamed(&by_first).as_str()), (0, r#""2/s";r=0;t=1"#));
    let _ = limiter.check_at("key", 1, SECOND);
    let by_second = limiter.check_at("key", 1, 2 * SECOND);
    assert_eq!(by_second.layer(), 1);
    assert_eq!(unnamed(&by_second), r#""fixed_window 3/h";r=0;t=3598"#);
    // Both are used up: the one that is reset last is named.
    let limiter = self::limiter("2/s & fixed_window 2/1h");
    let _ = limiter.check_at("key", 2, 0);
    let both = limiter.check_at("key", 1, 0);
    assert_eq!((both.layer(), both.remaining(), both.retry_after_ns()), (1, 0, 3600 * SECOND));
}

#[test]
fn a_name_is_printable_ascii() {
    let policy = policy("1/s");
    let headers = Headers::new(&policy);
    for (name, message) in [
        ("naïve", "byte 0xc3 at column 3 of the name: expected printable ASCII"),
        ("two\nlines", "byte 0x0a at column 4 of the name: expected printable ASCII"),
    ] {
        assert_eq!(headers.named(name).expect_err(name).to_string(), message);
    }
}

#[test]
fn the_reset_in_unix_time_is_that_many_seconds_ahead() {
    let limiter = limiter("fixed_window 1/1h");
    let decision = limiter.check_at("key", 1, 0);
    let headers = Headers::new(limiter.policy());
    assert!(headers.value(Field::XRateLimitResetUnix, &decision).is_none(), "of no time");
    let told = |now_unix_ns| {
        headers.at(now_unix_ns).value(Field::XRateLimitResetUnix, &decision).map(|value| value.to_string())
    };
    assert_eq!(told(1_795_219_200 * SECOND).as_deref(), Some("1795222800"));
    assert_eq!(told(1_795_219_200 * SECOND + 1).as_deref(), Some("1795222801"));
}

/// An item's string and its parameters.
fn items(text: &str) -> Vec<(String, Vec<(String, i64)>)> {
    let list: sfv::List = Parser::new(text).parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let item = |entry: ListEntry| match entry {
        ListEntry::Item(item) => item,
        ListEntry::InnerList(_) => panic!("{text}: an inner list"),
    };
    let integer = |value: BareItem| match value {
        BareItem::Integer(integer) => i64::from(integer),
        other => panic!("{text}: {other:?} is no integer"),
    };
    list.into_iter()
        .map(item)
        .map(|item| match item.bare_item {
            BareItem::String(name) => (
                String::from(name),
                item.params.into_iter().map(|(key, value)| (key.to_string(), integer(value))).collect(),
            ),
            other => panic!("{text}: {other:?} is no string"),
        })
        .collect()
}

proptest! {
    #[test]
    fn a_parser_reads_what_was_meant(
        name in "[ -~]{0,12}",
        limit in 1u32..,
        period in 1u64..1_000_000_000_000,
        cost in 0u32..5,
        now in 0u64..1_000_000_000_000,
    ) {
        let text = format!("{limit}/{period}ns horizon=1h");
        let policy = text.parse::<Policy>();
        prop_assume!(policy.is_ok());
        let limiter = Limiter::builder(policy.expect("assumed")).max_keys(6).build().expect("memory");
        let headers = Headers::new(limiter.policy()).named(&name).expect("ASCII");
        let decision = limiter.check_at("key", cost, now);
        let read = |field| items(&headers.value(field, &decision).expect("always sent").to_string());

        let remaining = read(Field::RateLimit);
        prop_assert_eq!(&remaining[0].0, &name);
        prop_assert_eq!(&remaining[0].1[0], &("r".to_owned(), decision.remaining() as i64));

        let quota = read(Field::RateLimitPolicy);
        prop_assert_eq!(&quota[0].0, &name);
        let parameter = |key: &str| quota[0].1.iter().find(|(name, _)| name == key).map(|(_, value)| *value);
        let q = parameter("q").expect("a quota");
        match parameter("w") {
            // The same rate: q units in w seconds.
            Some(w) => prop_assert_eq!(
                i128::from(q) * i128::from(period),
                i128::from(limit) * i128::from(w) * i128::from(SECOND)
            ),
            None => prop_assert_eq!(q, i64::from(limit)),
        }
        prop_assert_eq!(parameter("ratecell-burst").unwrap_or(q), i64::from(limit));
    }
}
