//! A stream whose client begins in time.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// What every client of HTTP/2 sends first.
const PREFACE: usize = 24;

/// HTTP/2 asks a silent peer whether it is there, but only one that has begun: until then a read fails after a time.
pub(super) struct Begun<S> {
    stream: S,
    /// The bytes that are to come in time, and until when.
    awaited: Option<(usize, Pin<Box<Sleep>>)>,
}

impl<S> Begun<S> {
    pub(super) fn within(patience: Duration, stream: S) -> Self {
        Self { stream, awaited: Some((PREFACE, Box::pin(sleep(patience)))) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Begun<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let Self { stream, awaited } = &mut *self;
        let read = Pin::new(stream).poll_read(context, buffer);
        let Some((left, end)) = awaited else { return read };
        if read.is_pending() {
            ready!(end.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        *left = left.saturating_sub(buffer.filled().len() - before);
        if *left == 0 {
            *awaited = None;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Begun<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::future::poll_fn;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// What a read says of a client that sends so many bytes, and then nothing.
    fn read_after(sent: usize) -> io::Result<usize> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (mut client, server) = UnixStream::pair().expect("a pair");
            server.set_nonblocking(true).expect("it is");
            let server = tokio::net::UnixStream::from_std(server).expect("a stream");
            let mut stream = Begun::within(Duration::from_millis(50), server);
            client.write_all(&vec![0; sent]).expect("it is sent");
            let mut room = [0; 64];
            let mut read = async || {
                let mut buffer = ReadBuf::new(&mut room);
                poll_fn(|context| Pin::new(&mut stream).poll_read(context, &mut buffer)).await?;
                Ok(buffer.filled().len())
            };
            if sent > 0 {
                assert_eq!(read().await.expect("it was sent"), sent);
            }
            let second = tokio::time::timeout(Duration::from_millis(500), read());
            second.await.unwrap_or(Ok(0))
        })
    }

    #[test]
    fn who_does_not_begin_is_not_waited_for() {
        for sent in [0, PREFACE - 1] {
            assert_eq!(read_after(sent).expect_err("too late").kind(), io::ErrorKind::TimedOut, "{sent}");
        }
        // Who has begun may be silent.
        for sent in [PREFACE, PREFACE + 1] {
            assert_eq!(read_after(sent).expect("it is waited for"), 0, "{sent}");
        }
    }
}
