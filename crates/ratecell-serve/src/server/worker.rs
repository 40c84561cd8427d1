//! One event loop.

use core::cell::{Cell, RefCell};
use core::fmt;
use core::future::poll_fn;
use core::pin::Pin;
use core::time::Duration;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::watch;
use tokio::task;

use super::connection::{Buffers, Connection};
use super::listen::LoopListeners;
use crate::commands::{Answerer, Server, Session};

/// How long clients that are being answered have at the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long a client may take to give the password.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long nobody is let in after an accept failed, as where no descriptors are left.
const PAUSE: Duration = Duration::from_millis(100);
/// After so long without a byte a peer is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(150);
/// It is asked so often, and is gone if none of them is answered: after 5 minutes in all.
const ASKED: u32 = 3;
/// What lies between.
const ASKED_EACH: Duration = Duration::from_secs(50);
/// In Redis' words.
const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";

/// What the connections of a loop share.
struct Loop {
    server: Arc<Server>,
    buffers: RefCell<Buffers>,
    /// Those that are still open.
    open: Cell<usize>,
    ended: watch::Receiver<bool>,
}

/// Runs until `ended` says so, or nobody could say so any more.
pub(super) fn run(
    listeners: LoopListeners,
    server: Arc<Server>,
    ended: watch::Receiver<bool>,
    warn: fn(&dyn fmt::Display),
) {
    let runtime =
        Builder::new_current_thread().enable_io().enable_time().build_local(LocalOptions::default());
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return warn(&format_args!("an event loop cannot be made: {error}")),
    };
    let buffers = RefCell::new(Buffers::new(Answerer::new(Arc::clone(&server))));
    let shared = Rc::new(Loop { server, buffers, open: Cell::new(0), ended });
    runtime.block_on(async {
        if let Err(error) = accept(listeners, &shared, warn).await {
            warn(&format_args!("an event loop cannot listen: {error}"));
        }
        let idle = async {
            while shared.open.get() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // Those that are not done by then are cut off.
        let _ = tokio::time::timeout(FAREWELL, idle).await;
    });
}

async fn accept(listeners: LoopListeners, shared: &Rc<Loop>, warn: fn(&dyn fmt::Display)) -> io::Result<()> {
    let tcp = listeners.tcp.map(tokio::net::TcpListener::from_std).transpose()?;
    #[cfg(unix)]
    let unix = listeners.unix.map(tokio::net::UnixListener::from_std).transpose()?;
    let mut ended = shared.ended.clone();
    loop {
        let accepted = tokio::select! {
            _ = ended.wait_for(|ended| *ended) => return Ok(()),
            accepted = tcp_stream(tcp.as_ref()) => accepted.map(|stream| {
                tune(&stream);
                open(stream, shared);
            }),
            accepted = unix_stream(
                #[cfg(unix)]
                unix.as_ref(),
            ) => accepted.map(|stream| open(stream, shared)),
        };
        if let Err(error) = accepted {
            warn(&format_args!("warning: a connection was not accepted: {error}"));
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn tcp_stream(listener: Option<&tokio::net::TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => Ok(listener.accept().await?.0),
        None => core::future::pending().await,
    }
}

#[cfg(unix)]
async fn unix_stream(listener: Option<&tokio::net::UnixListener>) -> io::Result<tokio::net::UnixStream> {
    match listener {
        Some(listener) => Ok(listener.accept().await?.0),
        None => core::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn unix_stream() -> io::Result<TcpStream> {
    core::future::pending().await
}

/// Replies are sent at once, and a peer that is gone is found out.
fn tune(stream: &TcpStream) {
    // A connection without them works.
    let _ = stream.set_nodelay(true);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(ASKED_EACH).with_retries(ASKED);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

fn open<S: AsyncRead + AsyncWrite + Unpin + 'static>(stream: S, shared: &Rc<Loop>) {
    let server = &shared.server;
    let Some(id) = server.statistics.connected(server.max_connections) else {
        task::spawn_local(refuse(stream));
        return;
    };
    shared.open.set(shared.open.get() + 1);
    let place = Place(Rc::clone(shared));
    let session = Session::new(id, server.password.is_none());
    task::spawn_local(async move {
        let connection = Connection::new(stream, session);
        connection.run(&place.0.buffers, place.0.ended.clone(), PATIENCE).await;
    });
}

/// A connection's place, which is free again with this.
struct Place(Rc<Loop>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get().saturating_sub(1));
        self.0.server.statistics.disconnected();
    }
}

async fn refuse<S: AsyncWrite + Unpin>(mut stream: S) {
    // It fits the buffer of a new socket, so that nothing is waited for; and whom it does not reach sees the end.
    let _ = poll_fn(|context| Pin::new(&mut stream).poll_write(context, TOO_MANY)).await;
    let _ = poll_fn(|context| Pin::new(&mut stream).poll_shutdown(context)).await;
}
