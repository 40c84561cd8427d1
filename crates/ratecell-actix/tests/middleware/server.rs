//! A real server with several workers, and a client that speaks to it over loopback.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::body::BodyStream;
use actix_web::web::Bytes;
use actix_web::{App, HttpRequest, HttpServer, web};
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use ratecell_actix::Limit;
use tokio::sync::mpsc;

use super::*;

type Http = Client<HttpConnector, Empty<bytes::Bytes>>;

fn client() -> Http {
    Client::builder(TokioExecutor::new()).build_http()
}

/// Serves on a port of its own, by two workers, until the runtime ends.
fn serve(
    configure: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
    limits: RateLimit,
) -> SocketAddr {
    let server = HttpServer::new(move || App::new().wrap(limits.clone()).configure(configure.clone()));
    let server = server.workers(2).disable_signals().bind("127.0.0.1:0").expect("a port");
    let address = server.addrs()[0];
    actix_web::rt::spawn(server.run());
    address
}

fn to(address: SocketAddr, path: &str) -> Request<Empty<bytes::Bytes>> {
    Request::get(format!("http://{address}{path}")).body(Empty::new()).expect("a request")
}

async fn ask(client: &Http, address: SocketAddr, path: &str) -> (u16, http::HeaderMap, String) {
    let (head, body) = client.request(to(address, path)).await.expect("a response").into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    (head.status.as_u16(), head.headers, String::from_utf8(body.to_vec()).expect("UTF-8"))
}

fn hello(config: &mut web::ServiceConfig) {
    config.route("/", web::get().to(async || "hello"));
}

#[actix_web::test]
async fn a_client_is_limited_over_all_workers() {
    let limits = RateLimit::builder([timeless("fixed_window 60/1h")]).build().expect("limits");
    let address = serve(hello, limits.clone());
    let mut allowed = 0;
    for _ in 0..8 {
        // Each has connections of its own, which go to either worker.
        let client = client();
        for _ in 0..15 {
            let (status, headers, body) = ask(&client, address, "/").await;
            assert_eq!(headers.contains_key("retry-after"), status == 429);
            assert!(headers.contains_key("ratelimit"));
            assert_eq!(headers["content-length"], body.len().to_string());
            allowed += u64::from(status == 200);
        }
    }
    assert_eq!((allowed, limits.counts().refused), (60, 60));
}

#[actix_web::test]
async fn each_resource_has_its_limit() {
    let limit = Limit::new(timeless("1/h")).by(|request| Some(request.match_pattern()?.into()));
    let limits = RateLimit::builder([limit]).build().expect("limits");
    let routes = |config: &mut web::ServiceConfig| {
        config.route("/a/{id}", web::get().to(async |request: HttpRequest| request.path().to_owned()));
        config.route("/b", web::get().to(async || "b"));
    };
    let address = serve(routes, limits);
    let client = client();
    for (path, status) in [("/a/1", 200), ("/a/2", 429), ("/b", 200), ("/b", 429), ("/c", 404), ("/c", 404)] {
        assert_eq!(ask(&client, address, path).await.0, status, "{path}");
    }
}

#[actix_web::test]
async fn the_permit_of_a_client_that_goes_away_comes_back() {
    let permits = Arc::new(timeless("in_flight 1 hold=1h"));
    let limits = RateLimit::builder([Limit::new(Arc::clone(&permits)).for_all()]).build().expect("limits");
    let (sender, receiver) = mpsc::channel::<Bytes>(1);
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    // A response of which no end is in sight.
    let endless = move |config: &mut web::ServiceConfig| {
        let receiver = Arc::clone(&receiver);
        let respond = move || {
            let parts = receiver.lock().expect("no panic").take();
            async move {
                let mut parts = parts.expect("one response");
                let next = move |context: &mut std::task::Context<'_>| parts.poll_recv(context);
                let parts = futures::stream::poll_fn(next);
                let parts = futures::StreamExt::map(parts, Ok::<_, std::convert::Infallible>);
                HttpResponse::Ok().body(BodyStream::new(parts))
            }
        };
        config.route("/", web::get().to(respond));
    };
    let address = serve(endless, limits);
    let own = client();
    let mut response = own.request(to(address, "/")).await.expect("a response");
    sender.send(Bytes::from_static(b"part")).await.expect("somebody listens");
    response.body_mut().frame().await.expect("a part").expect("no error");
    assert_eq!(permits.peek("").remaining(), 0);
    assert_eq!(ask(&client(), address, "/").await.0, 429);
    drop(response);
    drop(own);
    // The server learns of it when it sends, or from the connection.
    while permits.peek("").remaining() == 0 {
        let _ = sender.try_send(Bytes::from_static(b"part"));
        actix_web::rt::time::sleep(Duration::from_millis(1)).await;
    }
}
