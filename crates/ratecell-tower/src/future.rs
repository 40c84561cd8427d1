//! The response to a request, until it is there.

use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use ratecell::waiting::Sleep;
use ratecell_http::{Decider, Held, Pass, Used, Verdict};
use tower_service::Service;

use crate::body::ResponseBody;
use crate::fields::Fields;
use crate::shared::Shared;

/// How often the store of many machines is looked at.
const ASK_EACH: Duration = Duration::from_millis(2);

pin_project! {
    /// The response of a [`RateLimit`](crate::RateLimit), until it is there.
    pub struct ResponseFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        state: State<S, B, S::Future>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, B, F> {
        /// The service has the request.
        Called { #[pin] future: F, fields: Fields, held: Option<Held> },
        /// The request has yet to go to the service. Few requests wait, so the others need no room for it.
        Waiting { waiting: Option<Box<Waiting<S, B>>> },
        Refused { response: Option<Response<Bytes>> },
    }
}

/// A request that waits.
struct Waiting<S, B> {
    shared: Arc<Shared>,
    service: S,
    request: Request<B>,
    sleep: Option<Sleep>,
    /// What goes with a request that is held for its delay; `None` of one that the store is asked about.
    passed: Option<(Fields, Option<Held>)>,
    /// How often it was asked.
    times: u32,
}

impl<S: Service<Request<B>>, B> ResponseFuture<S, B> {
    pub(crate) fn called(future: S::Future, fields: Fields, held: Option<Held>) -> Self {
        Self { state: State::Called { future, fields, held } }
    }

    pub(crate) fn refused(response: Response<Bytes>) -> Self {
        Self { state: State::Refused { response: Some(response) } }
    }

    /// Of a request that is to be held.
    pub(crate) fn delayed(
        shared: Arc<Shared>,
        service: S,
        request: Request<B>,
        pass: Pass,
        fields: Fields,
    ) -> Self {
        let sleep = shared.decider.sleep(pass.delay);
        let passed = Some((fields, pass.held));
        Self::waiting(Waiting { shared, service, request, sleep, passed, times: 0 })
    }

    /// Of a request that the store is asked about.
    pub(crate) fn asked(shared: Arc<Shared>, service: S, request: Request<B>) -> Self {
        let sleep = shared.decider.sleep(ASK_EACH);
        Self::waiting(Waiting { shared, service, request, sleep, passed: None, times: 1 })
    }

    fn waiting(waiting: Waiting<S, B>) -> Self {
        Self { state: State::Waiting { waiting: Some(Box::new(waiting)) } }
    }
}

/// What comes of a request that has waited.
enum Next<S: Service<Request<B>>, B> {
    Call { service: S, request: Request<B>, fields: Fields, held: Option<Held> },
    Refuse(Response<Bytes>),
    Wait(Waiting<S, B>),
}

impl<S: Service<Request<B>>, B> Waiting<S, B> {
    /// It has slept.
    fn next(self) -> Next<S, B> {
        let Self { shared, service, request, passed, times, .. } = self;
        if let Some((fields, held)) = passed {
            return Next::Call { service, request, fields, held };
        }
        let mut fields = Fields::default();
        let verdict = match shared.decide(&request, &mut fields) {
            Verdict::Ask if ASK_EACH * times >= Decider::ASK_FOR => shared.decider.late(),
            verdict => verdict,
        };
        match verdict {
            Verdict::Go(Pass { delay: Duration::ZERO, held }) => {
                Next::Call { service, request, fields, held }
            }
            Verdict::Go(Pass { delay, held }) => {
                let sleep = shared.decider.sleep(delay);
                Next::Wait(Self { shared, service, request, sleep, passed: Some((fields, held)), times })
            }
            Verdict::Refuse(refusal) => Next::Refuse(shared.refuse(&request, &refusal, fields)),
            Verdict::Ask => {
                let sleep = shared.decider.sleep(ASK_EACH);
                Next::Wait(Self { shared, service, request, sleep, passed: None, times: times + 1 })
            }
        }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body<Data = Bytes>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProjection::Called { future, fields, held } => {
                    let response = ready!(future.poll(context));
                    return Poll::Ready(
                        response.map(|response| answered(response, mem::take(fields), held.take())),
                    );
                }
                StateProjection::Refused { response } => {
                    let response = response.take().expect("a response is there once");
                    return Poll::Ready(Ok(response.map(ResponseBody::whole)));
                }
                StateProjection::Waiting { waiting } => {
                    let asleep = waiting.as_mut().and_then(|waiting| waiting.sleep.as_mut());
                    if let Some(sleep) = asleep {
                        ready!(Pin::new(sleep).poll(context));
                    }
                    waiting.take().expect("a request waits once").next()
                }
            };
            this.state.set(match next {
                Next::Call { mut service, request, fields, held } => {
                    State::Called { future: service.call(request), fields, held }
                }
                Next::Refuse(response) => State::Refused { response: Some(response) },
                Next::Wait(waiting) => State::Waiting { waiting: Some(Box::new(waiting)) },
            });
        }
    }
}

/// The response of the service, with the fields, and what the request holds until its body has ended.
fn answered<R: Body>(
    mut response: Response<R>,
    fields: Fields,
    held: Option<Held>,
) -> Response<ResponseBody<R>> {
    fields.add_to(response.headers_mut());
    let held = held.and_then(|mut held| {
        if let Some(used) = response.extensions().get::<Used>() {
            held.used(used.clone());
        }
        (held.is_awaiting() || !response.body().is_end_stream()).then_some(held)
    });
    response.map(|body| ResponseBody::of_service(body, held))
}

impl<S: Service<Request<B>>, B> fmt::Debug for ResponseFuture<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
