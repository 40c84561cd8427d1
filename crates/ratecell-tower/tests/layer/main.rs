//! The layer before services: by calls of a service, and by real clients of a real server.

mod answers;
mod ended;
mod fields;
mod grpc;
mod keys;
mod mock;
mod rules;
mod server;
mod waits;

use std::convert::Infallible;
use std::future::Ready;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use ratecell::{Limiter, MockClock, Policy};
use ratecell_tower::{RateLimit, RateLimitLayer, ResponseBody};
use tower::{Layer as _, ServiceExt as _, service_fn};

type Body = Full<Bytes>;

fn policy(text: &str) -> Policy {
    text.parse().expect("a policy")
}

fn limiter(text: &str, clock: &MockClock) -> Limiter {
    Limiter::builder(policy(text)).max_keys(1_000).clock(clock).build().expect("a limiter")
}

/// A limiter of nobody's clock: for what takes no time.
fn timeless(text: &str) -> Limiter {
    limiter(text, &MockClock::new())
}

/// A request of that path, by the client 192.0.2.1.
fn get(path: &str) -> Request<Body> {
    request(path, &[])
}

fn request(path: &str, header: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().uri(path);
    for (name, value) in header {
        request = request.header(*name, *value);
    }
    let address = "192.0.2.1:4711".parse().expect("an address");
    request.extension(ratecell_tower::PeerAddress(address)).body(Body::default()).expect("a request")
}

type Hello = tower::util::ServiceFn<fn(Request<Body>) -> Ready<Result<Response<Body>, Infallible>>>;

fn hello(_: Request<Body>) -> Ready<Result<Response<Body>, Infallible>> {
    std::future::ready(Ok(Response::new(Body::from("hello"))))
}

/// A service that answers each request, behind the layer.
fn before_hello(layer: &RateLimitLayer) -> RateLimit<Hello> {
    layer.layer(service_fn(hello as fn(_) -> _))
}

/// A response that has come, with its body.
struct Answered {
    status: u16,
    headers: http::HeaderMap,
    body: String,
}

impl Answered {
    /// All lines of a field.
    fn lines(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|line| line.to_str().expect("ASCII")).collect()
    }

    fn line(&self, name: &str) -> Option<&str> {
        let lines = self.lines(name);
        assert!(lines.len() < 2, "{name}: {lines:?}");
        lines.first().copied()
    }
}

async fn answered<B>(response: Response<ResponseBody<B>>) -> Answered
where
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    let body = String::from_utf8(body.to_vec()).expect("UTF-8");
    Answered { status: head.status.as_u16(), headers: head.headers, body }
}

/// The layer's answer to a request that a service behind it would greet.
async fn ask(layer: &RateLimitLayer, request: Request<Body>) -> Answered {
    answered(before_hello(layer).oneshot(request).await.expect("infallible")).await
}

/// The statuses of the answers to so many of the same request.
async fn statuses(layer: &RateLimitLayer, times: usize, request: impl Fn() -> Request<Body>) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..times {
        statuses.push(ask(layer, request()).await.status);
    }
    statuses
}
