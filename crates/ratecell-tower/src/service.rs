//! The service.

use core::fmt;
use core::mem;
use core::task::{Context, Poll};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use ratecell_http::{Pass, Verdict};
use tower_service::Service;

use crate::body::ResponseBody;
use crate::fields::Fields;
use crate::future::ResponseFuture;
use crate::shared::Shared;

/// A service whose requests are limited: what a [`RateLimitLayer`](crate::RateLimitLayer) makes of one.
///
/// It is ready when the service in it is, and a request that is refused leaves that as ready as it was. A request that is to
/// wait, for its [delay](ratecell::Decision::delay) or for a store, takes the service that was ready with it, and leaves a clone.
#[derive(Clone)]
pub struct RateLimit<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S> RateLimit<S> {
    pub(crate) fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner, shared }
    }
}

impl<S, B, R> Service<Request<B>> for RateLimit<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    R: Body<Data = Bytes>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture<S, B> {
        let mut fields = Fields::default();
        match self.shared.decide(&request, &mut fields) {
            Verdict::Go(Pass { delay: Duration::ZERO, held }) => {
                ResponseFuture::called(self.inner.call(request), fields, held)
            }
            Verdict::Go(pass) => {
                let shared = Arc::clone(&self.shared);
                ResponseFuture::delayed(shared, self.take_ready(), request, pass, fields)
            }
            Verdict::Refuse(refusal) => {
                ResponseFuture::refused(self.shared.refuse(&request, &refusal, fields))
            }
            Verdict::Ask => ResponseFuture::asked(Arc::clone(&self.shared), self.take_ready(), request),
        }
    }
}

impl<S: Clone> RateLimit<S> {
    /// The service that was polled to be ready, of which a clone stays.
    fn take_ready(&mut self) -> S {
        let clone = self.inner.clone();
        mem::replace(&mut self.inner, clone)
    }
}

impl<S: fmt::Debug> fmt::Debug for RateLimit<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit").field("inner", &self.inner).finish_non_exhaustive()
    }
}
