//! What a request holds until its response has ended.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body::Frame;
use ratecell::Unsettled;
use ratecell_tower::{Limit, RateLimitLayer, Used};

use super::*;

/// A body of two parts, which then ends or fails.
struct Parts {
    left: u8,
    fails: bool,
}

impl http_body::Body for Parts {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        let Some(left) = self.left.checked_sub(1) else {
            return Poll::Ready(self.fails.then_some(Err("it fails")));
        };
        self.left = left;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"part")))))
    }
}

/// A response with two parts, and with what it says that it used.
async fn parts(
    layer: &RateLimitLayer,
    fails: bool,
    used: Option<Used>,
) -> Result<Response<ResponseBody<Parts>>, Infallible> {
    let service = layer.layer(service_fn(move |_: Request<Body>| {
        let used = used.clone();
        async move {
            let mut response = Response::new(Parts { left: 2, fails });
            response.extensions_mut().extend(used.map(extension).unwrap_or_default());
            Ok(response)
        }
    }));
    service.oneshot(get("/")).await
}

fn extension(used: Used) -> http::Extensions {
    let mut extensions = http::Extensions::new();
    extensions.insert(used);
    extensions
}

fn in_flight(policy: &str) -> (RateLimitLayer, Arc<Limiter>) {
    let limiter = Arc::new(timeless(policy));
    let layer = RateLimitLayer::builder([Limit::new(Arc::clone(&limiter)).for_all()]).build();
    (layer.expect("a layer"), limiter)
}

#[tokio::test]
async fn a_permit_is_held_until_the_body_has_ended() {
    let (layer, limiter) = in_flight("in_flight 1 hold=60s");
    let mut response = parts(&layer, false, None).await.expect("infallible");
    for _ in 0..2 {
        assert_eq!(ask(&layer, get("/")).await.status, 429);
        response.body_mut().frame().await.expect("a part").expect("no error");
    }
    assert_eq!(limiter.peek("").remaining(), 0);
    assert!(response.body_mut().frame().await.is_none());
    // It has ended, and the response is still there.
    assert_eq!(limiter.peek("").remaining(), 1);
    drop(response);
    assert_eq!(limiter.peek("").remaining(), 1);
}

#[tokio::test]
async fn a_body_that_fails_or_is_dropped_has_ended() {
    let (layer, limiter) = in_flight("in_flight 1 hold=60s");
    let mut failing = parts(&layer, true, None).await.expect("infallible");
    while failing.body_mut().frame().await.expect("it fails").is_ok() {
        assert_eq!(limiter.peek("").remaining(), 0);
    }
    assert_eq!(limiter.peek("").remaining(), 1);
    let dropped = parts(&layer, false, None).await.expect("infallible");
    assert_eq!(limiter.peek("").remaining(), 0);
    drop(dropped);
    assert_eq!(limiter.peek("").remaining(), 1);
    // One without a body has ended with its header.
    let service = layer.layer(service_fn(async |_| Ok::<_, Infallible>(Response::new(Body::default()))));
    let empty = service.oneshot(get("/")).await.expect("infallible");
    assert_eq!(limiter.peek("").remaining(), 1);
    drop(empty);
}

#[tokio::test]
async fn a_service_that_fails_or_is_dropped_has_ended() {
    let (layer, limiter) = in_flight("in_flight 1 hold=60s");
    let service = layer.layer(service_fn(async |_| Err::<Response<Body>, _>("no response")));
    assert_eq!(service.oneshot(get("/")).await.expect_err("it fails"), "no response");
    assert_eq!(limiter.peek("").remaining(), 1);
    let service = layer.layer(service_fn(|_| std::future::pending::<Result<Response<Body>, Infallible>>()));
    let mut pending = Box::pin(service.oneshot(get("/")));
    let mut context = Context::from_waker(std::task::Waker::noop());
    assert!(pending.as_mut().poll(&mut context).is_pending());
    assert_eq!(limiter.peek("").remaining(), 0);
    drop(pending);
    assert_eq!(limiter.peek("").remaining(), 1);
}

#[tokio::test]
async fn a_refusal_of_one_limit_gives_the_permit_of_another_back() {
    let clock = MockClock::new();
    let (permits, rate) =
        (Arc::new(limiter("in_flight 2 hold=60s", &clock)), Arc::new(limiter("1/h", &clock)));
    let limits = [&permits, &rate].map(|limiter| Limit::new(Arc::clone(limiter)).for_all());
    let layer = RateLimitLayer::builder(limits).build().expect("a layer");
    let held = parts(&layer, false, None).await.expect("infallible");
    assert_eq!(permits.peek("").remaining(), 1);
    let refused = ask(&layer, get("/")).await;
    assert_eq!((refused.status, refused.line("retry-after")), (429, Some("3600")));
    assert_eq!(permits.peek("").remaining(), 1);
    drop(held);
    assert_eq!(permits.peek("").remaining(), 2);
    // The other way round: where no permit is left, nothing of the rate is charged.
    clock.advance(std::time::Duration::from_secs(3_600));
    let (_, permit) = permits.reserve(ratecell::Request::new("").cost(2)).expect("it can");
    assert_eq!(ask(&layer, get("/")).await.status, 429);
    assert_eq!(rate.peek("").remaining(), 1);
    assert_eq!(permits.release(permit.expect("two are left")).given_back(), 2);
}

fn settled(unsettled: Unsettled) -> (RateLimitLayer, impl Fn() -> u64) {
    let limiter = Arc::new(timeless("90000/m & in_flight 10 hold=60s"));
    let limit = Limit::new(Arc::clone(&limiter)).for_all().cost(8).settled(unsettled);
    let tokens = Arc::new(timeless("90000/m"));
    let costly = Limit::new(Arc::clone(&tokens)).for_all().cost(4_000).settled(unsettled);
    let layer = RateLimitLayer::builder([costly, limit]).build().expect("a layer");
    (layer, move || tokens.peek("").remaining())
}

#[tokio::test]
async fn what_was_used_is_settled() {
    let (layer, left) = settled(Unsettled::Keep);
    // It is known when the response is made.
    let response = parts(&layer, false, Some(Used::units(1_210))).await.expect("infallible");
    assert_eq!(left(), 88_790);
    drop(response);
    assert_eq!(left(), 88_790);
    // It is known when the body has ended.
    let later = Used::later();
    let response = parts(&layer, false, Some(later.clone())).await.expect("infallible");
    assert_eq!(left(), 84_790);
    assert!(later.set_units(790));
    assert!(!later.set_units(4_000), "it was said");
    assert_eq!(left(), 84_790);
    drop(response);
    assert_eq!(left(), 88_000);
    // More than was reserved.
    drop(parts(&layer, false, Some(Used::units(5_000))).await.expect("infallible"));
    assert_eq!(left(), 83_000);
}

/// A body that says what it used when it is dropped, as a guard in it does.
struct Says {
    parts: Parts,
    used: Used,
}

impl http_body::Body for Says {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        Pin::new(&mut self.parts).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.parts.left == 0
    }
}

impl Drop for Says {
    fn drop(&mut self) {
        self.used.set_units(10);
    }
}

#[tokio::test]
async fn a_body_may_say_what_it_used_when_it_is_dropped() {
    for (left_to_send, reads, fails) in
        [(2, 0, false), (2, 2, false), (2, 3, false), (2, 3, true), (0, 0, false)]
    {
        let (layer, left) = settled(Unsettled::Keep);
        let service = layer.layer(service_fn(move |_: Request<Body>| async move {
            let used = Used::later();
            let mut response =
                Response::new(Says { parts: Parts { left: left_to_send, fails }, used: used.clone() });
            response.extensions_mut().insert(used);
            Ok::<_, Infallible>(response)
        }));
        let mut response = service.oneshot(get("/")).await.expect("infallible");
        for _ in 0..reads {
            let _ = response.body_mut().frame().await;
        }
        assert_eq!(left(), 86_000);
        drop(response);
        assert_eq!(left(), 89_990, "after {reads} frames");
    }
}

#[tokio::test]
async fn what_nobody_settles_counts_as_was_chosen() {
    for (unsettled, remaining) in [(Unsettled::Keep, 86_000), (Unsettled::Cancel, 90_000)] {
        for used in [None, Some(Used::later()), Some(Used::attributes([("tokens", "7")]))] {
            let (layer, left) = settled(unsettled);
            let response = parts(&layer, false, used).await.expect("infallible");
            assert_eq!(left(), 86_000);
            drop(response);
            assert_eq!(left(), remaining);
        }
    }
}
