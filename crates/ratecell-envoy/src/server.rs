//! The server: gRPC over TCP, TLS and sockets, and pages over HTTP.

use core::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::error::EnvoyError;
use crate::service::Service;

mod begun;
mod grpc;
mod listen;
mod pages;
mod signals;
mod tls;

pub use pages::Page;
pub use tls::Tls;

use begun::Begun;
use grpc::Grpc;
use listen::Listeners;
use signals::{Signal, Signals};

/// How long a client may take for the handshake of TLS, and then to begin with HTTP/2.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long requests that are being answered have at the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long nobody is let in after an accept failed, as where no descriptors are left.
const PAUSE: Duration = Duration::from_millis(100);
/// Requests of one connection at a time.
const STREAMS: u32 = 1024;
/// What a connection, and a request of it, may send ahead of being read.
const WINDOW: u32 = 256 * 1024;
const STREAM_WINDOW: u32 = 64 * 1024;
const MAX_FIELDS: u32 = 16 * 1024;
/// A peer that is silent for so long is asked whether it is there, and has a third of that to answer.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// How a server listens.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The address and port; port 0 takes any that is free.
    pub listen: Option<SocketAddr>,
    /// The path of a socket, which is without TLS.
    pub unix: Option<PathBuf>,
    /// The address and port of the pages over HTTP, which are without TLS.
    pub pages: Option<SocketAddr>,
    /// TLS at the address; without it anybody who can connect is answered.
    pub tls: Option<Tls>,
    /// Whether an address that other machines reach needs no TLS.
    pub insecure: bool,
    /// Threads; 0 stands for as many as processors.
    pub threads: usize,
    /// Connections at a time; others wait. 0 stands for 10,000.
    pub max_connections: usize,
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("listen", &self.listen)
            .field("unix", &self.unix)
            .field("pages", &self.pages)
            .finish_non_exhaustive()
    }
}

/// A server that listens, and answers once it [runs](Self::run).
pub struct Server {
    listeners: Listeners,
    tls: Option<TlsAcceptor>,
    service: Arc<Service>,
    threads: usize,
    max_connections: usize,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address()).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens as `config` says.
    ///
    /// # Errors
    /// [`EnvoyError`]: an address is one that other machines reach, and there is no TLS; the files for TLS are not right; or
    /// the system refuses.
    pub fn listen(service: Arc<Service>, config: ServerConfig) -> Result<Self, EnvoyError> {
        let ServerConfig { listen, unix, pages, tls, insecure, threads, max_connections } = config;
        let is_wide = |address: &SocketAddr| !address.ip().is_loopback() && !insecure;
        if let Some(address) = listen.filter(|address| is_wide(address) && tls.is_none()) {
            return Err(EnvoyError::Wide(address));
        }
        let tls = tls.as_ref().map(Tls::acceptor).transpose()?;
        let listeners = Listeners::new(listen, unix, pages)?;
        let max_connections = if max_connections == 0 { 10_000 } else { max_connections };
        Ok(Self { listeners, tls, service, threads, max_connections })
    }

    /// The address that it listens on, with the port that the system has chosen.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listeners.address()
    }

    /// The address of its pages.
    #[must_use]
    pub fn pages(&self) -> Option<SocketAddr> {
        self.listeners.pages_address()
    }

    /// Answers until SIGINT or SIGTERM; requests that have been sent by then are still answered, for 2 s at most. Calls
    /// `ready` once signals are heard, `reload` at each SIGHUP, and `warn` with what is wrong and over by itself. `page` is
    /// what `/metrics` answers.
    ///
    /// # Errors
    /// Of `ready`, which ends the server; or the system refuses threads or signals.
    pub fn run<E: From<EnvoyError>>(
        self,
        ready: impl FnOnce() -> Result<(), E>,
        mut reload: impl FnMut(),
        warn: fn(&dyn fmt::Display),
        page: Arc<Page>,
    ) -> Result<(), E> {
        let mut builder = runtime::Builder::new_multi_thread();
        if self.threads > 0 {
            builder.worker_threads(self.threads);
        }
        let runtime =
            builder.thread_name("ratecell-envoy").enable_all().build().map_err(EnvoyError::System)?;
        let entered = runtime.enter();
        let mut signals = Signals::new().map_err(EnvoyError::System)?;
        let Self { listeners, tls, service, max_connections, .. } = self;
        let (end, ended) = watch::channel(false);
        let grpc = Grpc::new(service);
        let places = Arc::new(Semaphore::new(max_connections));
        // The file of a socket is removed at the end.
        let Listeners {
            tcp,
            #[cfg(unix)]
            unix,
            pages,
            socket: _socket,
            ..
        } = listeners;
        let mut loops = Vec::new();
        if let Some(listener) = tcp {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(EnvoyError::System)?;
            loops.push(runtime.spawn(accept(
                listener,
                tls,
                grpc.clone(),
                Arc::clone(&places),
                ended.clone(),
                warn,
            )));
        }
        #[cfg(unix)]
        if let Some(listener) = unix {
            let listener = tokio::net::UnixListener::from_std(listener).map_err(EnvoyError::System)?;
            loops.push(runtime.spawn(accept(listener, None, grpc.clone(), places, ended.clone(), warn)));
        }
        if let Some(listener) = pages {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(EnvoyError::System)?;
            loops.push(runtime.spawn(pages::accept(listener, page, ended.clone(), warn)));
        }
        drop(entered);
        runtime.block_on(grpc.serving());
        ready()?;
        while runtime.block_on(signals.next()) == Signal::Reload {
            reload();
        }
        runtime.block_on(async {
            grpc.not_serving().await;
            end.send_replace(true);
            for one in loops {
                // One that panicked has ended, too.
                let _ = one.await;
            }
        });
        runtime.shutdown_timeout(PAUSE);
        Ok(())
    }
}

/// Lets connections in until the end.
async fn accept<L: listen::Accept>(
    listener: L,
    tls: Option<TlsAcceptor>,
    grpc: Grpc,
    places: Arc<Semaphore>,
    ended: watch::Receiver<bool>,
    warn: fn(&dyn fmt::Display),
) {
    let graceful = GracefulShutdown::new();
    let accepting = async {
        loop {
            let stream = match listener.accept().await {
                Ok(stream) => stream,
                Err(error) => {
                    warn(&format_args!("warning: a connection was not accepted: {error}"));
                    sleep(PAUSE).await;
                    continue;
                }
            };
            // A listener where nobody asks holds no place. The semaphore is never closed.
            let place = Arc::clone(&places).acquire_owned().await;
            let (tls, grpc, watcher) = (tls.clone(), grpc.clone(), graceful.watcher());
            tokio::spawn(async move {
                match tls {
                    None => serve(stream, grpc, watcher).await,
                    Some(tls) => {
                        // A client that cannot shake hands is nobody's trouble.
                        if let Ok(Ok(stream)) = timeout(PATIENCE, tls.accept(stream)).await {
                            serve(stream, grpc, watcher).await;
                        }
                    }
                }
                drop(place);
            });
        }
    };
    until(ended, accepting).await;
    drop(listener);
    // Those that are not done by then are cut off.
    let _ = timeout(FAREWELL, graceful.shutdown()).await;
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    grpc: Grpc,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let mut server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    server
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .initial_connection_window_size(WINDOW)
        .initial_stream_window_size(STREAM_WINDOW)
        .max_header_list_size(MAX_FIELDS)
        .keep_alive_interval(KEEPALIVE)
        .keep_alive_timeout(KEEPALIVE / 3);
    // A client that goes away, or does not speak HTTP/2, is nobody's trouble.
    let stream = TokioIo::new(Begun::within(PATIENCE, stream));
    let _ = watcher.watch(server.serve_connection(stream, grpc)).await;
}

/// Runs until the end.
async fn until<T>(mut ended: watch::Receiver<bool>, running: impl Future<Output = T>) {
    let running = pin!(running);
    tokio::select! {
        _ = ended.wait_for(|ended| *ended) => {}
        _ = running => {}
    }
}
