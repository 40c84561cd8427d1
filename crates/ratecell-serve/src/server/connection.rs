//! One connection. While it is idle it has no buffer: bytes are read into those of its loop, and it keeps for itself what
//! is left of them, half a request or replies that the client does not take.

use core::cell::RefCell;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

use crate::commands::{Answerer, Progress, Session};

/// What is read at once: longer than any request.
const READ_BYTES: usize = 32 * 1024;

/// What the connections of a loop use in turn.
#[derive(Debug)]
pub(super) struct Buffers {
    answerer: Answerer,
    input: Box<[u8]>,
}

impl Buffers {
    pub(super) fn new(answerer: Answerer) -> Self {
        Self { answerer, input: vec![0; READ_BYTES].into() }
    }
}

#[derive(Debug)]
pub(super) struct Connection<S> {
    stream: S,
    session: Session,
    /// Bytes that were read and not answered.
    rest: Vec<u8>,
    /// Whether there are whole requests among them.
    is_more: bool,
    /// Replies, of which the first `sent` bytes are sent.
    unsent: Vec<u8>,
    sent: usize,
    /// Whether it is closed once all is sent.
    is_end: bool,
    /// Whether nothing more is waited for: what is there is answered.
    is_last: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(stream: S, session: Session) -> Self {
        Self {
            stream,
            session,
            rest: Vec::new(),
            is_more: false,
            unsent: Vec::new(),
            sent: 0,
            is_end: false,
            is_last: false,
        }
    }

    /// Answers until the client or the protocol ends it, or the server does.
    pub(super) async fn run(mut self, buffers: &RefCell<Buffers>, mut ended: watch::Receiver<bool>) {
        let mut ended = pin!(ended.wait_for(|ended| *ended));
        // A client that goes away is nobody's trouble.
        let _ = poll_fn(|context| {
            loop {
                let polled = self.poll(context, buffers);
                if polled.is_pending() && !self.is_last && ended.as_mut().poll(context).is_ready() {
                    self.is_last = true;
                    continue;
                }
                return polled;
            }
        })
        .await;
        // So that what was sent arrives, though the client may have sent more.
        let _ = poll_fn(|context| Pin::new(&mut self.stream).poll_shutdown(context)).await;
    }

    fn poll(&mut self, context: &mut Context<'_>, buffers: &RefCell<Buffers>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_unsent(context))?;
            if self.is_end {
                return Poll::Ready(Ok(()));
            }
            // No other connection of the loop is polled meanwhile.
            let mut buffers = buffers.borrow_mut();
            let Buffers { answerer, input } = &mut *buffers;
            let Some((kept, room)) = input.split_at_mut_checked(self.rest.len()) else {
                return Poll::Ready(Ok(()));
            };
            kept.copy_from_slice(&self.rest);
            let mut filled = kept.len();
            if !self.is_more {
                let mut room = ReadBuf::new(room);
                match Pin::new(&mut self.stream).poll_read(context, &mut room) {
                    Poll::Pending if self.is_last => return Poll::Ready(Ok(())),
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(read) => read?,
                }
                if room.filled().is_empty() {
                    return Poll::Ready(Ok(()));
                }
                filled += room.filled().len();
            }
            let input = &input[..filled];
            let Progress { used, is_more, is_end } = answerer.answer(&mut self.session, input);
            self.rest = input[used..].to_vec();
            (self.is_more, self.is_end) = (is_more, is_end);
            self.send(context, answerer.replies())?;
        }
    }

    /// Sends replies, and keeps what the client does not take at once.
    fn send(&mut self, context: &mut Context<'_>, mut replies: &[u8]) -> io::Result<()> {
        while !replies.is_empty() {
            match Pin::new(&mut self.stream).poll_write(context, replies) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(written) => replies = &replies[written?..],
                Poll::Pending => {
                    self.unsent = replies.to_vec();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn poll_unsent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.unsent.len() {
            let unsent = &self.unsent[self.sent..];
            match ready!(Pin::new(&mut self.stream).poll_write(context, unsent))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
        }
        (self.unsent, self.sent) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }
}
