//! The server: one thread, for a scrape takes about a millisecond.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::sync::{Notify, Semaphore};

use super::accept::Format;
use super::files::Files;
use super::page;
use crate::output::complain;

/// Connections at a time; others wait.
const CONNECTIONS: usize = 64;
/// How long a client may take for a request, and a connection be without one.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long clients that are being answered have at the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long nobody is let in after an accept failed, as where no descriptors are left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until SIGINT or SIGTERM. Calls `ready` once clients can connect and signals are heard.
pub(super) fn serve(listener: TcpListener, files: Files, ready: impl FnOnce() -> Result<()>) -> Result<()> {
    let end = Arc::new(Notify::new());
    let ended = Arc::clone(&end);
    ctrlc::set_handler(move || ended.notify_one()).context("signals cannot be received")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("no event loop can be made")?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        ready()?;
        accept(&listener, &Arc::new(files), &end).await;
        Ok(())
    })
}

async fn accept(listener: &tokio::net::TcpListener, files: &Arc<Files>, end: &Notify) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = async {
            // It is never closed.
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = end.notified() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                complain(format_args!("warning: a connection was not accepted: {error}"));
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let files = Arc::clone(files);
        let answers = service_fn(move |request| {
            let response = answer(&request, &files);
            async { Ok::<_, Infallible>(response) }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
        let connection = graceful.watch(server.serve_connection(TokioIo::new(stream), answers));
        tokio::spawn(async move {
            // A client that goes away, or sends no HTTP, is answered where it can be, and is nobody's trouble.
            let _ = connection.await;
            drop(place);
        });
    }
    // Those that are not done by then are cut off.
    let _ = tokio::time::timeout(FAREWELL, graceful.shutdown()).await;
}

fn answer(request: &Request<Incoming>, files: &Files) -> Response<Full<Bytes>> {
    const PLAIN: &str = "text/plain; charset=utf-8";
    let path = request.uri().path();
    let is_known = ["/", "/metrics"].contains(&path);
    let (status, kind, text) = match *request.method() {
        _ if !is_known => (StatusCode::NOT_FOUND, PLAIN, "not found: expected /metrics\n".to_owned()),
        Method::GET | Method::HEAD if path == "/metrics" => {
            let accepts = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            let format = Format::of(accepts);
            (StatusCode::OK, format.content_type(), page::metrics(files, format))
        }
        Method::GET | Method::HEAD => (StatusCode::OK, PLAIN, page::home(files)),
        _ => (StatusCode::METHOD_NOT_ALLOWED, PLAIN, "expected GET or HEAD\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
