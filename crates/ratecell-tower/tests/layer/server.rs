//! A real server of axum's, and clients that speak HTTP/1 and HTTP/2 to it over loopback.
#![cfg(feature = "axum")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::connect_info::MockConnectInfo;
use axum::routing::{get, post};
use http::Version;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use ratecell::rules::{Rules, RulesLimiter};
use ratecell_tower::{Limit, RateLimitLayer};
use tokio::sync::mpsc;
use tower::ServiceExt as _;

use super::{Answered, Body, Bytes, MockClock, Request, limiter, timeless};

/// Serves on a port of its own until the runtime ends.
async fn serve(app: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

fn client(version: Version) -> Client<HttpConnector, Body> {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.http2_only(version == Version::HTTP_2);
    builder.build_http()
}

async fn ask(client: &Client<HttpConnector, Body>, request: Request<Body>) -> (Version, Answered) {
    let response = client.request(request).await.expect("a response");
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let body = String::from_utf8(body.to_vec()).expect("UTF-8");
    (head.version, Answered { status: head.status.as_u16(), headers: head.headers, body })
}

fn to(address: SocketAddr, path: &str) -> Request<Body> {
    Request::builder().uri(format!("http://{address}{path}")).body(Body::default()).expect("a request")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_both_versions_are_limited_together() {
    let layer = RateLimitLayer::new(timeless("2/h")).expect("a layer");
    let address = serve(Router::new().route("/", get(|| async { "hello" })).layer(layer)).await;
    for (version, statuses) in [(Version::HTTP_11, [200, 200, 429]), (Version::HTTP_2, [429; 3])] {
        let client = client(version);
        for status in statuses {
            let (spoken, answer) = ask(&client, to(address, "/")).await;
            assert_eq!((spoken, answer.status), (version, status));
            assert_eq!(answer.line("retry-after").is_some(), status == 429);
            assert_eq!(answer.line("ratelimit-policy"), Some("\"2/h\";q=2;w=3600"));
            let length = answer.body.len().to_string();
            assert_eq!(answer.line("content-length"), Some(&*length));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_allowed_is_counted_exactly() {
    let layer =
        RateLimitLayer::builder([Limit::new(timeless("fixed_window 300/1h"))]).build().expect("a layer");
    let counts = layer.clone();
    let address = serve(Router::new().route("/", get(|| async { "hello" })).layer(layer)).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let client = client(if number % 2 == 0 { Version::HTTP_11 } else { Version::HTTP_2 });
        tasks.spawn(async move {
            let mut allowed = 0;
            for _ in 0..75 {
                let (_, answer) = ask(&client, to(address, "/")).await;
                allowed += u64::from(answer.status == 200);
            }
            allowed
        });
    }
    let allowed: u64 = tasks.join_all().await.into_iter().sum();
    assert_eq!((allowed, counts.counts().refused), (300, 300));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_permit_of_a_client_that_goes_away_comes_back() {
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let permits = Arc::new(timeless("in_flight 1 hold=1h"));
        let layer =
            RateLimitLayer::builder([Limit::new(Arc::clone(&permits)).for_all()]).build().expect("a layer");
        let (sender, receiver) = mpsc::channel::<Bytes>(1);
        let receiver = Arc::new(tokio::sync::Mutex::new(Some(receiver)));
        // A response of which no end is in sight.
        let endless = get(move || {
            let receiver = Arc::clone(&receiver);
            async move {
                let mut parts = receiver.lock().await.take().expect("one response");
                let stream = futures_stream(move |context| parts.poll_recv(context));
                axum::body::Body::new(StreamBody::new(stream))
            }
        });
        let address = serve(Router::new().route("/", endless).layer(layer)).await;
        let own = client(version);
        let mut response = own.request(to(address, "/")).await.expect("a response");
        sender.send(Bytes::from_static(b"part")).await.expect("somebody listens");
        response.body_mut().frame().await.expect("a part").expect("no error");
        assert_eq!(permits.peek("").remaining(), 0);
        let (_, refused) = ask(&client(version), to(address, "/")).await;
        assert_eq!(refused.status, 429);
        drop(response);
        drop(own);
        // The server learns of it when it sends, or from the connection.
        while permits.peek("").remaining() == 0 {
            let _ = sender.try_send(Bytes::from_static(b"part"));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// A stream of parts, by a function that is polled.
fn futures_stream(
    poll: impl FnMut(&mut std::task::Context<'_>) -> std::task::Poll<Option<Bytes>> + Send + 'static,
) -> impl futures::Stream<Item = Result<Frame<Bytes>, std::convert::Infallible>> + Send {
    let mut poll = poll;
    futures::stream::poll_fn(move |context| poll(context).map(|part| part.map(|part| Ok(Frame::data(part)))))
}

#[tokio::test]
async fn rules_see_paths_as_they_were_sent() {
    let rules = "ratecell_rules = 1\n[[rule]]\nname = 'users'\nmatch.path = '/api/users'\nkey = ['client']\nlimit = '1/h'\n";
    let limiter = RulesLimiter::builder(Rules::parse(rules).expect("rules")).build().expect("a limiter");
    let layer = RateLimitLayer::rules(limiter).build().expect("a layer");
    // Inside of the nested router the path is `/users`.
    let nested = Router::new().route("/users", post(|| async { "hello" })).layer(layer);
    let address = serve(Router::new().nest("/api", nested)).await;
    let client = client(Version::HTTP_11);
    for status in [200, 429] {
        let mut request = to(address, "/api/users");
        *request.method_mut() = http::Method::POST;
        assert_eq!(ask(&client, request).await.1.status, status);
    }
}

#[tokio::test]
async fn each_route_has_its_limit() {
    use axum::extract::MatchedPath;
    let limit =
        Limit::new(timeless("1/h")).by(|head| Some(head.extensions().get::<MatchedPath>()?.as_str().into()));
    let layer = RateLimitLayer::builder([limit]).build().expect("a layer");
    let app = Router::new()
        .route("/a/{id}", get(|| async { "a" }))
        .route("/b", get(|| async { "b" }))
        .route_layer(layer);
    let address = serve(app).await;
    let client = client(Version::HTTP_11);
    for (path, status) in [("/a/1", 200), ("/a/2", 429), ("/b", 200), ("/b", 429), ("/c", 404)] {
        assert_eq!(ask(&client, to(address, path)).await.1.status, status, "{path}");
    }
}

#[tokio::test]
async fn a_router_is_tested_without_a_server() {
    let clock = MockClock::new();
    let layer = RateLimitLayer::new(limiter("1/m", &clock)).expect("a layer");
    let address: SocketAddr = "192.0.2.1:4711".parse().expect("an address");
    let app =
        Router::new().route("/", get(|| async { "hello" })).layer(layer).layer(MockConnectInfo(address));
    for (wait, status) in [(0, 200), (59, 429), (1, 200)] {
        clock.advance(Duration::from_secs(wait));
        let response = app.clone().oneshot(to(address, "/")).await.expect("infallible");
        assert_eq!(response.status().as_u16(), status);
    }
}

#[tokio::test]
async fn a_server_without_addresses_says_what_is_missing() {
    let layer = RateLimitLayer::new(timeless("1/m")).expect("a layer");
    let app = Router::new().route("/", get(|| async { "hello" })).layer(layer);
    let response =
        app.oneshot(to("127.0.0.1:1".parse().expect("an address"), "/")).await.expect("infallible");
    assert_eq!(response.status().as_u16(), 500);
}
