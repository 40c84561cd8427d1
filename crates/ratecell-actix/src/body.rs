//! The body of a response.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use actix_web::body::{BodySize, MessageBody};
use actix_web::web::Bytes;
use pin_project_lite::pin_project;
use ratecell_http::Held;

pin_project! {
    /// The body of a service's response. With it a request holds its permits, until the body has ended or is dropped.
    pub struct ResponseBody<B> {
        // In this order they are dropped.
        #[pin]
        body: B,
        held: Option<Held>,
    }
}

impl<B: MessageBody> ResponseBody<B> {
    /// A body that is empty has ended.
    pub(crate) fn new(body: B, held: Option<Held>) -> Self {
        let ends = matches!(body.size(), BodySize::None | BodySize::Sized(0));
        let held = held.filter(|held| held.is_awaiting() || !ends);
        Self { body, held }
    }
}

impl<B: MessageBody> MessageBody for ResponseBody<B> {
    type Error = B::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let this = self.project();
        let part = ready!(this.body.poll_next(context));
        if !matches!(part, Some(Ok(_))) {
            // What the body says when it is dropped counts, too.
            drop(this.held.take_if(|held| !held.is_awaiting()));
        }
        Poll::Ready(part)
    }
}

impl<B> fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").finish_non_exhaustive()
    }
}
