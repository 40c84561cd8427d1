//! The responses to requests that are refused.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use ratecell_http::Refusal;

use crate::head::RequestHead;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const GRPC_PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// The answer in plain text.
pub(crate) fn plain(refusal: &Refusal) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(format!("{refusal}\n")));
    *response.status_mut() = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    response
}

/// The answer to a call of gRPC: its status, in a response without messages and trailers.
pub(crate) fn grpc(head: RequestHead<'_>, refusal: &Refusal) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    let headers = response.headers_mut();
    if let Some(kind) = head.headers().get(CONTENT_TYPE) {
        headers.insert(CONTENT_TYPE, kind.clone());
    }
    headers.insert(GRPC_STATUS, u16::from(refusal.grpc_status()).into());
    headers.insert(GRPC_PUSHBACK, refusal.grpc_pushback_ms().into());
    // Its text is ASCII without a percent sign, which would have to be encoded.
    if let Ok(message) = HeaderValue::try_from(refusal.to_string()) {
        headers.insert(GRPC_MESSAGE, message);
    }
    response
}
