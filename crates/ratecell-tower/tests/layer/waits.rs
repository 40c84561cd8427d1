//! Requests that wait, and a service that is not ready.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ratecell_tower::RateLimitLayer;
use tower::Service as _;
use tower::limit::ConcurrencyLimit;
use tower_test::mock;

use super::*;

#[tokio::test]
async fn a_request_is_held_for_its_delay() {
    let clock = MockClock::new();
    let layer = RateLimitLayer::new(limiter("leaky_queue 1/s queue=2", &clock)).expect("a layer");
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let mut service = layer.layer(service_fn(move |_: Request<Body>| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok::<_, Infallible>(Response::new(Body::from("hello"))))
    }));
    let mut context = Context::from_waker(Waker::noop());
    let mut call = || Box::pin(service.call(get("/")));
    let (mut first, mut second, mut third) = (call(), call(), call());
    let called = || calls.load(Ordering::Relaxed);
    assert!(first.as_mut().poll(&mut context).is_ready());
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert!(third.as_mut().poll(&mut context).is_pending());
    assert_eq!(called(), 1);
    let Poll::Ready(Ok(refused)) = call().as_mut().poll(&mut context) else { panic!("the queue is full") };
    assert_eq!(answered(refused).await.status, 429);
    clock.advance(Duration::from_secs(1));
    let Poll::Ready(Ok(delayed)) = second.as_mut().poll(&mut context) else { panic!("its delay is over") };
    assert!(answered(delayed).await.line("ratelimit").is_some());
    assert!(third.as_mut().poll(&mut context).is_pending());
    assert_eq!(called(), 2);
    // Its client goes.
    drop(third);
    clock.advance(Duration::from_secs(1));
    assert_eq!(called(), 2);
}

#[tokio::test]
async fn it_is_ready_when_its_service_is() {
    let layer = RateLimitLayer::builder([timeless("1/h")]).build().expect("a layer");
    let (mut service, mut handle) =
        mock::spawn_with(|inner: mock::Mock<Request<Body>, Response<Body>>| layer.layer(inner));
    handle.allow(0);
    assert!(service.poll_ready().is_pending());
    handle.allow(1);
    assert!(service.poll_ready().is_ready());
    let response = service.call(get("/"));
    let (request, send) = handle.next_request().await.expect("the service is called");
    assert_eq!(request.uri(), "/");
    send.send_response(Response::new(Body::from("hello")));
    assert_eq!(answered(response.await.expect("a response")).await.body, "hello");
    // A refusal does not call it, and it stays as ready as it was.
    handle.allow(1);
    assert!(service.poll_ready().is_ready());
    assert_eq!(answered(service.call(get("/")).await.expect("a response")).await.status, 429);
    assert!(service.poll_ready().is_ready());
    handle.send_error("the service fails");
    assert!(matches!(service.poll_ready(), Poll::Ready(Err(_))));
}

#[tokio::test]
async fn a_delayed_request_takes_the_place_that_was_ready() {
    let clock = MockClock::new();
    let layer = RateLimitLayer::new(limiter("leaky_queue 1/s queue=2", &clock)).expect("a layer");
    // One request at once: whoever calls without having been ready panics.
    let inner = service_fn(|_: Request<Body>| {
        std::future::ready(Ok::<_, Infallible>(Response::new(Body::default())))
    });
    let mut service = layer.layer(ConcurrencyLimit::new(inner, 1));
    assert!(service.ready().await.is_ok());
    let first = service.call(get("/")).await;
    drop(first);
    assert!(service.ready().await.is_ok());
    let mut delayed = Box::pin(service.call(get("/")));
    let mut context = Context::from_waker(Waker::noop());
    assert!(delayed.as_mut().poll(&mut context).is_pending());
    // The one place is that of the request which waits.
    assert!(service.poll_ready(&mut context).is_pending());
    clock.advance(Duration::from_secs(1));
    assert!(delayed.as_mut().poll(&mut context).is_ready());
    drop(delayed);
    assert!(service.poll_ready(&mut context).is_ready());
}
