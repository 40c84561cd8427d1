//! What is answered, and what is no answer but an error of the configuration.

use ratecell::fields::{Label, Unit};
use ratecell::{Limiter, Unsettled};
use ratecell_tower::{ConfigError, Counts, Limit, OnFault, RateLimitLayer, Reason};

use super::*;

fn counts(layer: &RateLimitLayer) -> (u64, u64, u64) {
    let Counts { refused, shadowed, faults, .. } = layer.counts();
    (refused, shadowed, faults)
}

#[tokio::test]
async fn who_is_over_the_limit_is_answered_429() {
    let layer = RateLimitLayer::new(timeless("2/m")).expect("a layer");
    for _ in 0..2 {
        let allowed = ask(&layer, get("/")).await;
        assert_eq!((allowed.status, &*allowed.body, allowed.line("retry-after")), (200, "hello", None));
    }
    let refused = ask(&layer, get("/")).await;
    assert_eq!((refused.status, refused.line("retry-after")), (429, Some("30")));
    assert_eq!(refused.line("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(refused.body, "Too many requests: retry after 30 s\n");
    assert_eq!(counts(&layer), (1, 0, 0));
}

#[tokio::test]
async fn what_is_never_allowed_is_not_answered_429() {
    let large = Limit::new(timeless("2/m")).cost(3);
    for (label, status) in [(Label::new(), 400), (Label::new().unit(Unit::ContentBytes), 413)] {
        let layer = RateLimitLayer::builder([large.clone().label(label)]).build().expect("a layer");
        let refused = ask(&layer, get("/")).await;
        assert_eq!((refused.status, refused.line("retry-after")), (status, None));
        assert_eq!(refused.body, "Too large for the rate limit\n");
    }
}

#[tokio::test]
async fn a_refusal_may_be_answered_in_other_words() {
    let layer = RateLimitLayer::builder([timeless("1/m")])
        .on_denied(|head, refusal| {
            assert_eq!(refusal.reason(), Reason::Denied);
            let decision = refusal.decision().expect("of a limiter");
            let after = refusal.retry_after().expect("it passes later");
            let body = format!("{}: {} of {}, {after:?}", head.uri(), decision.remaining(), decision.limit());
            let response = Response::builder().status(503).header("content-type", "text/html");
            response.header("retry-after", "120").body(body).expect("a response")
        })
        .build()
        .expect("a layer");
    assert_eq!(ask(&layer, get("/a")).await.status, 200);
    let refused = ask(&layer, get("/a")).await;
    assert_eq!((refused.status, &*refused.body), (503, "/a: 0 of 1, 60s"));
    assert_eq!(refused.line("content-type"), Some("text/html"));
    // Of two the later stays.
    assert_eq!(refused.line("retry-after"), Some("120"));
    assert!(refused.line("ratelimit").is_some());
}

#[tokio::test]
async fn a_trial_refuses_nothing() {
    let limit = Limit::new(timeless("2/m"));
    let layer = RateLimitLayer::builder([limit.clone()]).shadow().build().expect("a layer");
    for _ in 0..5 {
        let answer = ask(&layer, get("/")).await;
        assert_eq!((answer.status, answer.line("ratelimit"), answer.line("retry-after")), (200, None, None));
    }
    assert_eq!(counts(&layer), (0, 3, 0));
    // What it has charged is charged.
    let enforcing = RateLimitLayer::builder([limit]).build().expect("a layer");
    assert_eq!(statuses(&enforcing, 1, || get("/")).await, [429]);
}

#[tokio::test]
async fn a_clock_out_of_range_is_a_fault() {
    // The word of this policy ends long before the clock does.
    let clock = MockClock::new();
    let limiter = std::sync::Arc::new(limiter("4000000000/s", &clock));
    clock.advance(std::time::Duration::MAX);
    let outcome = limiter.check("k").outcome();
    assert_eq!(outcome, ratecell::Outcome::ClockRange, "a policy whose clock ends");
    let open = RateLimitLayer::new(std::sync::Arc::clone(&limiter)).expect("a layer");
    let answer = ask(&open, get("/")).await;
    assert_eq!((answer.status, answer.line("ratelimit-policy")), (200, None));
    assert_eq!(counts(&open), (0, 0, 1));
    let closed = RateLimitLayer::builder([limiter]).on_fault(OnFault::Closed).build().expect("a layer");
    let answer = ask(&closed, get("/")).await;
    assert_eq!((answer.status, &*answer.body), (503, "The rate limiter cannot decide\n"));
    assert_eq!(counts(&closed), (0, 0, 1));
}

#[test]
fn what_cannot_work_is_not_built() {
    let none = RateLimitLayer::builder(Vec::<Limit>::new()).build();
    assert_eq!(none.expect_err("nothing is limited"), ConfigError::NoLimits);

    let zoned = "calendar_window 3/day tz=caller";
    let error = RateLimitLayer::new(timeless(zoned)).expect_err("nobody names a zone");
    let said = "`calendar_window 3/day tz=caller` asks for a zone, and a middleware names none: expected another policy";
    assert_eq!(error.to_string(), said);

    let eight = "1/s & 2/s & 3/s & 4/s & 5/s & 6/s & 7/s & 8/s";
    let nine = (0..9).map(|_| Limit::new(timeless(eight)));
    let error = RateLimitLayer::builder(nine).build().expect_err("72 layers");
    assert_eq!(error.to_string(), "the limits have 72 layers: expected at most 64");

    let error = RateLimitLayer::builder([timeless("1/s")]).attribute("user", |_| None).build();
    assert_eq!(
        error.expect_err("there are no rules").to_string(),
        "attribute: expected it of a layer by rules"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_limiter_that_cannot_reserve_settles_nothing() {
    let builder = Limiter::builder(policy("10/s")).max_keys(100);
    let memory = ratecell::Memory::shared(builder.region_bytes().expect("a size")).expect("memory");
    let limiter = builder.init(&memory).expect("a limiter");
    let limit = Limit::new(limiter);
    RateLimitLayer::builder([limit.clone()]).build().expect("it need not reserve");
    let error = RateLimitLayer::builder([limit.settled(Unsettled::Keep)]).build().expect_err("it cannot");
    let said = "`10/s`: the region was made without room for what is given back: expected one made with reservations";
    assert_eq!(error.to_string(), said);
}

#[test]
fn a_layer_is_shared_by_threads() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<RateLimitLayer>();
    shared::<RateLimit<Hello>>();
    fn sent<T: Send>() {}
    sent::<ratecell_tower::ResponseFuture<Hello, Body>>();
    sent::<ResponseBody<Body>>();
}
