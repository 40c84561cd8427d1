//! What a request holds until its response has ended.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use actix_web::HttpMessage as _;
use actix_web::body::BodySize;
use actix_web::web::Bytes;
use ratecell::Unsettled;
use ratecell_actix::{Limit, Used};

use super::*;

/// A body of two parts, which then ends or fails.
#[derive(Default)]
struct Parts {
    sent: u8,
    fails: bool,
    /// What it says when it is dropped.
    says: Option<Used>,
}

impl MessageBody for Parts {
    type Error = std::io::Error;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.sent == 2 {
            return Poll::Ready(self.fails.then(|| Err(std::io::Error::other("it fails"))));
        }
        self.sent += 1;
        Poll::Ready(Some(Ok(Bytes::from_static(b"part"))))
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if let Some(used) = &self.says {
            used.set_units(10);
        }
    }
}

type Body = EitherBody<ResponseBody<Parts>>;

/// The body of a response by this function.
async fn body(
    limits: &RateLimit,
    respond: impl Fn(&ServiceRequest) -> HttpResponse<Parts> + Clone + 'static,
) -> Pin<Box<Body>> {
    let service = behind(limits, respond);
    let response = service.call(get("/").to_srv_request()).await.expect("no error");
    assert_eq!(response.status(), 200);
    Box::pin(response.into_body())
}

fn parts(parts: Parts) -> HttpResponse<Parts> {
    HttpResponse::with_body(actix_web::http::StatusCode::OK, parts)
}

/// The next part; `None` at the end.
async fn next(body: &mut Pin<Box<Body>>) -> Option<bool> {
    poll_fn(|context| body.as_mut().poll_next(context)).await.map(|part| part.is_ok())
}

fn in_flight() -> (RateLimit, Arc<Limiter>) {
    let limiter = Arc::new(timeless("in_flight 1 hold=60s"));
    let limits = RateLimit::builder([Limit::new(Arc::clone(&limiter)).for_all()]).build();
    (limits.expect("limits"), limiter)
}

#[actix_web::test]
async fn a_permit_is_held_until_the_body_has_ended() {
    let (limits, limiter) = in_flight();
    let mut body = body(&limits, |_| parts(Parts::default())).await;
    for _ in 0..2 {
        assert_eq!(ask(&limits, get("/")).await.status, 429);
        assert_eq!(next(&mut body).await, Some(true));
    }
    assert_eq!(limiter.peek("").remaining(), 0);
    assert_eq!(next(&mut body).await, None);
    // It has ended, and the response is still there.
    assert_eq!(limiter.peek("").remaining(), 1);
}

#[actix_web::test]
async fn a_body_that_fails_is_empty_or_is_dropped_has_ended() {
    let (limits, limiter) = in_flight();
    let mut failing = body(&limits, |_| parts(Parts { fails: true, says: None, sent: 0 })).await;
    while next(&mut failing).await == Some(true) {
        assert_eq!(limiter.peek("").remaining(), 0);
    }
    assert_eq!(limiter.peek("").remaining(), 1);
    let dropped = body(&limits, |_| parts(Parts::default())).await;
    assert_eq!(limiter.peek("").remaining(), 0);
    drop(dropped);
    assert_eq!(limiter.peek("").remaining(), 1);
    let service = behind(&limits, |_| HttpResponse::NoContent().finish());
    let empty = service.call(get("/").to_srv_request()).await.expect("no error");
    assert_eq!(limiter.peek("").remaining(), 1);
    drop(empty);
}

#[actix_web::test]
async fn a_service_that_fails_or_is_dropped_has_ended() {
    let (limits, limiter) = in_flight();
    let failing = fn_service(async |_: ServiceRequest| {
        Err::<ServiceResponse, Error>(actix_web::error::ErrorImATeapot("no"))
    });
    let service = limits.new_transform(failing).into_inner().expect("a service");
    assert!(service.call(get("/").to_srv_request()).await.is_err());
    assert_eq!(limiter.peek("").remaining(), 1);
    let pending = fn_service(|_: ServiceRequest| std::future::pending::<Result<ServiceResponse, Error>>());
    let service = limits.new_transform(pending).into_inner().expect("a service");
    let mut call = Box::pin(service.call(get("/").to_srv_request()));
    assert!(is_pending(call.as_mut()));
    assert_eq!(limiter.peek("").remaining(), 0);
    drop(call);
    assert_eq!(limiter.peek("").remaining(), 1);
}

fn settled(unsettled: Unsettled) -> (RateLimit, impl Fn() -> u64) {
    let tokens = Arc::new(timeless("90000/m"));
    let costly = Limit::new(Arc::clone(&tokens)).for_all().cost(4_000).settled(unsettled);
    let limits = RateLimit::builder([costly]).build().expect("limits");
    (limits, move || tokens.peek("").remaining())
}

#[actix_web::test]
async fn what_was_used_is_settled() {
    let (limits, left) = settled(Unsettled::Keep);
    // The request's extensions say it.
    let by_request = body(&limits, |request| {
        request.extensions_mut().insert(Used::units(1_210));
        parts(Parts::default())
    });
    let by_request = by_request.await;
    assert_eq!(left(), 88_790);
    drop(by_request);
    assert_eq!(left(), 88_790);
    // Those of the response do.
    let by_response = body(&limits, |_| {
        let mut response = parts(Parts::default());
        response.extensions_mut().insert(Used::units(790));
        response
    });
    drop(by_response.await);
    assert_eq!(left(), 88_000);
    // It is known when the body has ended, as it is dropped.
    let later = body(&limits, |request| {
        let used = Used::later();
        request.extensions_mut().insert(used.clone());
        parts(Parts { says: Some(used), fails: false, sent: 0 })
    });
    let mut later = later.await;
    while next(&mut later).await.is_some() {}
    assert_eq!(left(), 84_000);
    drop(later);
    assert_eq!(left(), 87_990);
}

#[actix_web::test]
async fn what_nobody_settles_counts_as_was_chosen() {
    for (unsettled, remaining) in [(Unsettled::Keep, 86_000), (Unsettled::Cancel, 90_000)] {
        let (limits, left) = settled(unsettled);
        drop(body(&limits, |_| parts(Parts::default())).await);
        assert_eq!(left(), remaining);
    }
}
