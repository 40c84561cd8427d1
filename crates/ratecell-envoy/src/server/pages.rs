//! The pages over HTTP: the metrics, and whether the service is there.

use core::fmt;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;

use super::{PAUSE, until};

/// The metrics, as a client accepts them: the type and the text.
pub type Page = dyn Fn(&[&str]) -> (&'static str, String) + Send + Sync;

const PLAIN: &str = "text/plain; charset=utf-8";
/// Connections at a time; others wait.
const CONNECTIONS: usize = 64;
/// How long a client may take for a request, and a connection be without one.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lets connections in until the end.
pub(super) async fn accept(
    listener: TcpListener,
    page: Arc<Page>,
    ended: watch::Receiver<bool>,
    warn: fn(&dyn fmt::Display),
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    until(ended, async {
        loop {
            // It is never closed.
            let place = Arc::clone(&places).acquire_owned().await;
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    warn(&format_args!("warning: a connection was not accepted: {error}"));
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let page = Arc::clone(&page);
            let answers = service_fn(move |request| {
                let response = answer(&request, &*page);
                async { Ok::<_, Infallible>(response) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            let connection = server.serve_connection(TokioIo::new(stream), answers);
            tokio::spawn(async move {
                // A client that goes away, or sends no HTTP, is nobody's trouble.
                let _ = connection.await;
                drop(place);
            });
        }
    })
    .await;
}

fn answer(request: &Request<Incoming>, page: &Page) -> Response<Full<Bytes>> {
    let is_read = [Method::GET, Method::HEAD].contains(request.method());
    let (status, kind, text) = match request.uri().path() {
        _ if !is_read => (StatusCode::METHOD_NOT_ALLOWED, PLAIN, "expected GET or HEAD\n".to_owned()),
        "/metrics" => {
            let accepts = request.headers().get_all(ACCEPT).iter();
            let accepts: Vec<_> = accepts.filter_map(|value| value.to_str().ok()).collect();
            let (kind, text) = page(&accepts);
            (StatusCode::OK, kind, text)
        }
        "/healthcheck" => (StatusCode::OK, PLAIN, "OK".to_owned()),
        _ => (StatusCode::NOT_FOUND, PLAIN, "not found: expected /metrics or /healthcheck\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
