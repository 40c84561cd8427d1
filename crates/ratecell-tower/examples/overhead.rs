//! Prints what a layer costs a request that is allowed, in nanoseconds: of one thread, with a service that answers at once.
//!
//! `cargo run --release -p ratecell-tower --example overhead`

use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use ratecell::client_key::Clients;
use ratecell::{Limiter, Policy};
use ratecell_tower::{Limit, PeerAddress, RateLimitLayer};
use tower::{Layer as _, Service};

/// Requests of one round. The least of the rounds is printed: one in which nobody else had the processor.
const REQUESTS: u32 = 2_000;
const ROUNDS: usize = 1_000;

type Body = Empty<Bytes>;

#[derive(Clone)]
struct Answers;

impl Service<Request<()>> for Answers {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        black_box(request);
        ready(Ok(Response::new(Empty::new())))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let limiter = || -> Result<_, Box<dyn Error>> {
        Ok(Limiter::builder("4000000/s burst=4000000".parse::<Policy>()?).max_keys(100_000).build()?)
    };
    let bare = of_service(Answers);
    let own = limiter()?;
    let clients = Clients::default();
    let check = least(|number| {
        let key = clients.key(address(number), [("", ""); 0]);
        assert!(black_box(own.check(key)).is_allowed());
    });
    let plain = RateLimitLayer::builder([Limit::new(limiter()?)]).without_fields().build()?;
    let plain = of_service(plain.layer(Answers));
    let fields = of_service(RateLimitLayer::new(limiter()?)?.layer(Answers));
    println!("a request without a layer: {bare:.0} ns");
    println!("the client's key and its check alone: {check:.0} ns");
    println!("behind a layer without fields: {plain:.0} ns, {:.0} more", plain - bare - check);
    println!("behind a layer with fields: {fields:.0} ns, {:.0} more", fields - bare - check);
    Ok(())
}

fn address(number: u32) -> SocketAddr {
    SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 4711))
}

/// Nanoseconds of one request to a service, which is made, answered and dropped.
fn of_service<S, R>(mut service: S) -> f64
where
    S: Service<Request<()>, Response = Response<R>, Error = Infallible>,
{
    let mut context = Context::from_waker(Waker::noop());
    least(|number| {
        let mut request = Request::new(());
        request.extensions_mut().insert(PeerAddress(address(number)));
        assert!(service.poll_ready(&mut context).is_ready());
        let response = pin!(service.call(request)).poll(&mut context);
        let Poll::Ready(Ok(response)) = response else { unreachable!("the service answers at once") };
        assert!(black_box(response).status().is_success());
    })
}

fn least(mut once: impl FnMut(u32)) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let started = Instant::now();
        (0..REQUESTS).for_each(&mut once);
        started.elapsed().as_secs_f64() * 1e9 / f64::from(REQUESTS)
    });
    rounds.fold(f64::INFINITY, f64::min)
}
