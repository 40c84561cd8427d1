//! The body of a response.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use ratecell_http::Held;

pin_project! {
    /// The body of a response: the service's, or that of a refusal. With the service's a request holds its permits, until the
    /// body has ended or is dropped.
    pub struct ResponseBody<B> {
        #[pin]
        content: Content<B>,
    }
}

pin_project! {
    #[project = ContentProjection]
    enum Content<B> {
        // In this order they are dropped.
        Service { #[pin] body: B, held: Option<Held> },
        Whole { data: Option<Bytes> },
    }
}

impl<B> ResponseBody<B> {
    pub(crate) fn of_service(body: B, held: Option<Held>) -> Self {
        Self { content: Content::Service { body, held } }
    }

    pub(crate) fn whole(data: Bytes) -> Self {
        Self { content: Content::Whole { data: Some(data).filter(|data| !data.is_empty()) } }
    }
}

impl<B: Body<Data = Bytes>> Body for ResponseBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().content.project() {
            ContentProjection::Service { body, held } => {
                let frame = ready!(body.poll_frame(context));
                if !matches!(frame, Some(Ok(_))) {
                    // What the body says when it is dropped counts, too.
                    drop(held.take_if(|held| !held.is_awaiting()));
                }
                Poll::Ready(frame)
            }
            ContentProjection::Whole { data } => Poll::Ready(data.take().map(|data| Ok(Frame::data(data)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Service { body, .. } => body.is_end_stream(),
            Content::Whole { data } => data.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Service { body, .. } => body.size_hint(),
            Content::Whole { data } => {
                SizeHint::with_exact(data.as_ref().map_or(0, |data| data.len() as u64))
            }
        }
    }
}

impl<B> fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").finish_non_exhaustive()
    }
}
