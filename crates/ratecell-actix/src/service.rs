//! The service.

use core::fmt;
use core::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, forward_ready};
use actix_web::{Error, HttpMessage as _};
use ratecell_http::{Held, Used};

use crate::body::ResponseBody;
use crate::fields::Fields;
use crate::shared::Shared;

/// A service whose requests are limited: what a [`RateLimit`](crate::RateLimit) makes of one, in each worker.
pub struct RateLimitService<S> {
    inner: Rc<S>,
    shared: Arc<Shared>,
}

impl<S> RateLimitService<S> {
    pub(crate) fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner: Rc::new(inner), shared }
    }
}

impl<S, B> Service<ServiceRequest> for RateLimitService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<EitherBody<ResponseBody<B>>>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>>>>;

    forward_ready!(inner);

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let (inner, shared) = (Rc::clone(&self.inner), Arc::clone(&self.shared));
        Box::pin(async move {
            match shared.admit(&request).await {
                Ok((fields, held)) => {
                    let response = inner.call(request).await?;
                    Ok(answered(response, fields, held).map_into_left_body())
                }
                Err(refused) => Ok(request.into_response(refused).map_into_right_body()),
            }
        })
    }
}

/// The response of the service, with the fields, and what the request holds until its body has ended.
fn answered<B: MessageBody>(
    mut response: ServiceResponse<B>,
    fields: Fields,
    held: Option<Held>,
) -> ServiceResponse<ResponseBody<B>> {
    fields.add_to(response.headers_mut());
    let held = held.map(|mut held| {
        if let Some(used) = used(&response) {
            held.used(used);
        }
        held
    });
    response.map_body(|_, body| ResponseBody::new(body, held))
}

/// What the handler says that the request used.
fn used<B>(response: &ServiceResponse<B>) -> Option<Used> {
    let of_response = response.response().extensions().get::<Used>().cloned();
    of_response.or_else(|| response.request().extensions().get::<Used>().cloned())
}

impl<S> fmt::Debug for RateLimitService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitService").finish_non_exhaustive()
    }
}
