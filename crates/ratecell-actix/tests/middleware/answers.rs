//! What is answered: statuses, fields and texts, trials and faults.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use ratecell::fields::{Label, Style, Unit};
use ratecell_actix::{ConfigError, Limit, OnFault, Reason};

use super::*;

#[actix_web::test]
async fn who_is_over_the_limit_is_told_when_to_come_again() {
    let clock = MockClock::new();
    let limits = RateLimit::new(limiter("2/m", &clock)).expect("limits");
    let first = ask(&limits, get("/")).await;
    assert_eq!((first.status, &*first.body), (200, "hello"));
    assert_eq!(first.line("ratelimit-policy"), Some("\"2/m\";q=2;w=60"));
    assert_eq!(first.line("ratelimit"), Some("\"2/m\";r=1;t=30"));
    assert_eq!(first.line("retry-after"), None);
    assert_eq!(ask(&limits, get("/")).await.status, 200);
    let refused = ask(&limits, get("/")).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.line("retry-after"), Some("30"));
    assert_eq!(refused.line("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(refused.body, "Too many requests: retry after 30 s\n");
    assert_eq!(limits.counts().refused, 1);
    clock.advance(Duration::from_secs(30));
    assert_eq!(ask(&limits, get("/")).await.status, 200);
}

#[actix_web::test]
async fn what_never_passes_is_no_429() {
    let bytes = Label::new().unit(Unit::ContentBytes);
    for (label, status) in [(Label::new(), 400), (bytes, 413)] {
        let limit = Limit::new(timeless("10/s")).cost_by(|request| request.uri().path().len() as u32);
        let limits = RateLimit::builder([limit.label(label)]).build().expect("limits");
        assert_eq!(ask(&limits, get("/23456789")).await.status, 200);
        let refused = ask(&limits, get("/23456789ab")).await;
        assert_eq!((refused.status, refused.line("retry-after")), (status, None));
    }
}

#[actix_web::test]
async fn an_answer_of_ones_own_gets_the_fields() {
    let limits = RateLimit::builder([timeless("1/m")])
        .styles(Style::X)
        .on_denied(|request, refusal| {
            assert_eq!(refusal.reason(), Reason::Denied);
            let status = StatusCode::from_u16(refusal.status()).expect("a status");
            HttpResponse::build(status).body(format!("not {}", request.path()))
        })
        .build()
        .expect("limits");
    let allowed = ask(&limits, get("/")).await;
    assert_eq!((allowed.line("x-ratelimit-limit"), allowed.line("ratelimit")), (Some("1"), None));
    let refused = ask(&limits, get("/there")).await;
    assert_eq!((refused.status, &*refused.body), (429, "not /there"));
    assert_eq!((refused.line("x-ratelimit-remaining"), refused.line("retry-after")), (Some("0"), Some("60")));
}

#[actix_web::test]
async fn of_two_waits_the_longer_stays_and_lists_grow() {
    for (own, told) in [("5", "60"), ("3600", "3600")] {
        let limits = RateLimit::builder([timeless("1/m")])
            .on_denied(move |_, _| {
                let mut answer = HttpResponse::ServiceUnavailable();
                answer.insert_header((RETRY_AFTER, own)).insert_header(("ratelimit", "\"own\";r=0")).finish()
            })
            .build()
            .expect("limits");
        assert_eq!(ask(&limits, get("/")).await.status, 200);
        let refused = ask(&limits, get("/")).await;
        assert_eq!(refused.line("retry-after"), Some(told));
        let lists: Vec<_> = refused.headers.get_all("ratelimit").collect();
        assert_eq!(lists, ["\"own\";r=0", "\"1/m\";r=0;t=60"]);
    }
}

#[actix_web::test]
async fn a_trial_refuses_nothing_and_counts() {
    let limits = RateLimit::builder([timeless("1/m")]).shadow().build().expect("limits");
    assert_eq!(statuses(&limits, 3, || get("/")).await, [200; 3]);
    assert_eq!(ask(&limits, get("/")).await.line("ratelimit"), None);
    assert_eq!((limits.counts().refused, limits.counts().shadowed), (0, 3));
}

#[actix_web::test]
async fn without_fields_there_are_none() {
    let limits = RateLimit::builder([timeless("1/m")]).without_fields().build().expect("limits");
    for status in [200, 429] {
        let answer = ask(&limits, get("/")).await;
        assert_eq!(answer.status, status);
        assert!(
            ["ratelimit", "ratelimit-policy", "retry-after"].iter().all(|name| answer.line(name).is_none())
        );
    }
}

#[actix_web::test]
async fn a_limiter_that_cannot_decide_is_open_or_closed() {
    for (on_fault, status) in [(OnFault::Open, 200), (OnFault::Closed, 503)] {
        let clock = MockClock::new();
        // The word of this policy ends long before the clock does.
        let limiter = limiter("4000000000/s", &clock);
        clock.advance(Duration::MAX);
        let limits = RateLimit::builder([limiter]).on_fault(on_fault).build().expect("limits");
        assert_eq!(statuses(&limits, 2, || get("/")).await, [status; 2]);
        assert_eq!(limits.counts().faults, 2);
    }
}

#[actix_web::test]
async fn a_server_without_addresses_says_what_is_missing() {
    let limits = RateLimit::new(timeless("1/m")).expect("limits");
    let answer = ask(&limits, TestRequest::get()).await;
    assert_eq!(answer.status, 500);
    assert_eq!(answer.body, "The server does not tell the rate limiter its clients' addresses\n");
    assert_eq!(limits.counts().faults, 1);
}

#[test]
fn what_is_wrong_with_a_configuration_is_an_error_of_build() {
    let error = |build: ratecell_actix::RateLimitBuilder| build.build().expect_err("it is wrong");
    assert_eq!(error(RateLimit::builder([] as [Limit; 0])), ConfigError::NoLimits);
    let caller = Arc::new(timeless("calendar_window 10/day tz=caller"));
    assert!(matches!(error(RateLimit::builder([Limit::new(caller)])), ConfigError::Zone { .. }));
    let misused = error(RateLimit::builder([timeless("1/s")]).attribute("user", |_| None));
    assert_eq!(misused.to_string(), "attribute: expected it of a middleware by rules");
}

#[actix_web::test]
async fn a_queue_holds_a_request_for_its_delay() {
    let clock = MockClock::new();
    let limits = RateLimit::new(limiter("leaky_queue 1/s queue=2", &clock)).expect("limits");
    assert_eq!(ask(&limits, get("/")).await.status, 200);
    let service = behind(&limits, |_| HttpResponse::Ok().body("hello"));
    let mut held = Box::pin(service.call(get("/").to_srv_request()));
    assert!(is_pending(held.as_mut()));
    clock.advance(Duration::from_secs(1));
    assert_eq!(held.await.expect("no error").status(), 200);
}
