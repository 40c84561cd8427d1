//! The middleware in applications of actix-web: called in place, and by a real client of a real server.

mod answers;
mod ended;
mod keys;
mod server;

use std::pin::Pin;
use std::task::{Context, Waker};

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform as _, fn_service};
use actix_web::http::header::HeaderMap;
use actix_web::test::TestRequest;
use actix_web::{Error, HttpResponse};
use ratecell::{Limiter, MockClock, Policy};
use ratecell_actix::{RateLimit, ResponseBody};

fn limiter(text: &str, clock: &MockClock) -> Limiter {
    let policy: Policy = text.parse().expect("a policy");
    Limiter::builder(policy).max_keys(1_000).clock(clock).build().expect("a limiter")
}

/// A limiter of nobody's clock: for what takes no time.
fn timeless(text: &str) -> Limiter {
    limiter(text, &MockClock::new())
}

/// A request of that path, by the client 192.0.2.1.
fn get(path: &str) -> TestRequest {
    TestRequest::get().uri(path).peer_addr("192.0.2.1:4711".parse().expect("an address"))
}

/// A response that has come, with its body.
struct Answered {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Answered {
    async fn of(response: ServiceResponse<impl MessageBody>) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let Ok(body) = actix_web::body::to_bytes(response.into_body()).await else { panic!("a whole body") };
        Self { status, headers, body: String::from_utf8(body.to_vec()).expect("UTF-8") }
    }

    fn line(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
    }
}

/// A service that makes each response by the function, behind the middleware.
fn behind<B: MessageBody + 'static>(
    limits: &RateLimit,
    respond: impl Fn(&ServiceRequest) -> HttpResponse<B> + Clone + 'static,
) -> impl Service<ServiceRequest, Response = ServiceResponse<EitherBody<ResponseBody<B>>>, Error = Error> {
    let service = fn_service(move |request: ServiceRequest| {
        let response = respond(&request);
        async move { Ok(request.into_response(response)) }
    });
    limits.new_transform(service).into_inner().expect("a service")
}

/// The answer to a request that a service behind the middleware would greet.
async fn ask(limits: &RateLimit, request: TestRequest) -> Answered {
    let service = behind(limits, |_| HttpResponse::Ok().body("hello"));
    Answered::of(service.call(request.to_srv_request()).await.expect("no error")).await
}

/// The statuses of the answers to so many of the same request.
async fn statuses(limits: &RateLimit, times: usize, request: impl Fn() -> TestRequest) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..times {
        statuses.push(ask(limits, request()).await.status);
    }
    statuses
}

/// Whether it is not there yet.
fn is_pending(future: Pin<&mut impl Future>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}
