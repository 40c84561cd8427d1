//! One connection. While it is idle it has no buffer: bytes are read into those of its loop, and it keeps for itself what
//! is left of them, half a request or replies that the client does not take.

use core::cell::RefCell;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::{task, time};

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
    /// Whether there may be whole requests among them.
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

    /// Answers until the client or the protocol ends it, or the server does; or after `patience`, if the password has not
    /// been given by then.
    pub(super) async fn run(
        mut self,
        buffers: &RefCell<Buffers>,
        mut ended: watch::Receiver<bool>,
        patience: Duration,
    ) {
        let mut ended = pin!(ended.wait_for(|ended| *ended));
        let mut late = (!self.session.is_known).then(|| Box::pin(time::sleep(patience)));
        // A client that goes away is nobody's trouble.
        let _ = poll_fn(|context| {
            loop {
                let polled = self.poll(context, buffers);
                if polled.is_pending() && !self.is_last && ended.as_mut().poll(context).is_ready() {
                    self.is_last = true;
                    continue;
                }
                if self.session.is_known {
                    late = None;
                }
                let is_late = late.as_mut().is_some_and(|late| late.as_mut().poll(context).is_ready());
                return if is_late { Poll::Ready(Ok(())) } else { polled };
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
            // A client that sends without end has one turn at a time, as the others have.
            if !is_end && (is_more || filled == READ_BYTES) && self.unsent.is_empty() {
                let _ = pin!(task::yield_now()).poll(context);
                return Poll::Pending;
            }
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

#[cfg(all(test, unix))]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    use tokio::runtime::Builder;

    use super::*;
    use crate::commands::{Password, Server};
    use crate::limits::Limits;

    fn buffers(password: Option<Password>) -> RefCell<Buffers> {
        let limits = Limits::builder().max_keys(10).build().expect("limits");
        RefCell::new(Buffers::new(Answerer::new(Arc::new(Server::new(Arc::new(limits), password, 1)))))
    }

    fn pair() -> (UnixStream, UnixStream) {
        let (client, server) = UnixStream::pair().expect("two sockets");
        for socket in [&client, &server] {
            socket.set_nonblocking(true).expect("a socket");
        }
        (client, server)
    }

    /// Otherwise whoever can reach the port could take the places of all connections, and keep them.
    #[test]
    fn who_does_not_give_the_password_is_not_waited_for() {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        for (sent, told) in [("", ""), ("PING\r\n*2\r\n", "-NOAUTH Authentication required.\r\n")] {
            let buffers = buffers(Some(Password::new(b"secret").expect("a password")));
            let (mut client, server) = pair();
            client.write_all(sent.as_bytes()).expect("room for it");
            runtime.block_on(async {
                let stream = tokio::net::UnixStream::from_std(server).expect("a stream");
                let (_end, ended) = watch::channel(false);
                let patience = Duration::from_millis(50);
                Connection::new(stream, Session::new(1, false)).run(&buffers, ended, patience).await;
            });
            let mut replies = String::new();
            client.read_to_string(&mut replies).expect("its end");
            assert_eq!(replies, told);
        }
        // Who has given it is.
        let buffers = buffers(Some(Password::new(b"secret").expect("a password")));
        let (mut client, server) = pair();
        client.write_all(b"AUTH secret\r\n").expect("room for it");
        runtime.block_on(async {
            let stream = tokio::net::UnixStream::from_std(server).expect("a stream");
            let (_end, ended) = watch::channel(false);
            let patience = Duration::from_millis(50);
            let connection = Connection::new(stream, Session::new(1, false)).run(&buffers, ended, patience);
            assert!(time::timeout(4 * patience, connection).await.is_err());
        });
    }

    /// A client that sends as fast as it can must not be answered until nothing is left: nobody else would have a turn.
    #[test]
    fn others_have_a_turn_between_the_replies_to_a_long_pipeline() {
        let buffers = buffers(None);
        let (mut client, server) = pair();
        let pings = 12_000;
        client.write_all(&b"PING\r\n".repeat(pings)).expect("room for the requests");

        let runtime = Builder::new_current_thread().enable_io().build().expect("a runtime");
        let (mut turns, mut replies) = (0, Vec::new());
        runtime.block_on(async {
            let stream = tokio::net::UnixStream::from_std(server).expect("a stream");
            let mut connection = Connection::new(stream, Session::new(1, true));
            poll_fn(|context| {
                assert!(connection.poll(context, &buffers).is_pending());
                turns += 1;
                let had = replies.len();
                let _ = client.read_to_end(&mut replies);
                assert!(replies.len() - had < 32 * 1024, "{} bytes in one turn", replies.len() - had);
                if replies.len() == 7 * pings { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        });
        assert!(turns > 2, "{turns}");
        assert_eq!(replies, b"+PONG\r\n".repeat(pings));
    }
}
