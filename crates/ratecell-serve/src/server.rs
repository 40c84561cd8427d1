//! The server: event loops that share the tables.

use core::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use tokio::sync::watch;

use crate::commands::{Password, Server as Shared};
use crate::error::ServeError;
use crate::limits::Limits;

mod connection;
mod listen;
mod signals;
mod worker;

use listen::Listeners;
use signals::Signal;

/// How a server listens.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The address and port; port 0 takes any that is free.
    pub listen: Option<SocketAddr>,
    /// The path of a socket.
    pub unix: Option<PathBuf>,
    /// What clients must give, as `AUTH` and `HELLO` do.
    pub password: Option<Vec<u8>>,
    /// Whether an address that other machines reach needs no password.
    pub insecure: bool,
    /// Event loops, each in a thread of its own; at least 1.
    pub threads: usize,
    /// Connections at a time; others are told so and closed.
    pub max_connections: usize,
}

impl Default for ServerConfig {
    /// Listens nowhere, on one thread, for 10,000 connections.
    fn default() -> Self {
        Self {
            listen: None,
            unix: None,
            password: None,
            insecure: false,
            threads: 1,
            max_connections: 10_000,
        }
    }
}

/// A server that listens, and answers once it [runs](Self::run).
pub struct Server {
    listeners: Listeners,
    shared: Arc<Shared>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address()).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens as `config` says. Descriptors for all connections are asked of the system.
    ///
    /// # Errors
    /// [`ServeError`]: the address is one that other machines reach, and there is no password; or the system refuses.
    pub fn listen(limits: Arc<Limits>, config: ServerConfig) -> Result<Self, ServeError> {
        let ServerConfig { listen, unix, password, insecure, threads, max_connections } = config;
        let password = password.map(|password| Password::new(&password)).transpose()?;
        if let Some(address) = listen.filter(|address| !address.ip().is_loopback())
            && password.is_none()
            && !insecure
        {
            return Err(ServeError::Wide(address));
        }
        let max_connections = listen::descriptors_for(max_connections);
        let listeners = Listeners::new(listen, unix, threads.max(1))?;
        Ok(Self { listeners, shared: Arc::new(Shared::new(limits, password, max_connections)) })
    }

    /// The address that it listens on, with the port that the system has chosen.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listeners.address
    }

    /// The connections that have room, which are fewer than were asked for if the system has no more descriptors.
    #[must_use]
    pub fn max_connections(&self) -> usize {
        self.shared.max_connections
    }

    /// Answers until SIGINT or SIGTERM; what has been sent by then is still answered, for 2 s at most. Calls `ready` once
    /// signals are heard, `reload` at each SIGHUP, and `warn` with what is wrong and over by itself.
    ///
    /// # Errors
    /// Of `ready`, which ends the server; or the system refuses threads or signals.
    pub fn run<E: From<ServeError>>(
        self,
        ready: impl FnOnce() -> Result<(), E>,
        mut reload: impl FnMut(),
        warn: fn(&dyn fmt::Display),
    ) -> Result<(), E> {
        let Self { listeners, shared } = self;
        let mut signals = signals::listen().map_err(ServeError::System)?;
        let (end, ended) = watch::channel(false);
        // The file of a socket is removed at the end.
        let Listeners { loops, socket: _socket, .. } = listeners;
        thread::scope(|scope| {
            // Dropped where anything below fails, too, which ends the loops.
            let end = end;
            for listeners in loops {
                let (shared, ended) = (Arc::clone(&shared), ended.clone());
                let thread = thread::Builder::new().name("ratecell-serve".to_owned());
                let run = move || worker::run(listeners, shared, ended, warn);
                thread.spawn_scoped(scope, run).map_err(ServeError::System)?;
            }
            ready()?;
            while signals.next() == Signal::Reload {
                reload();
            }
            end.send_replace(true);
            Ok(())
        })
    }
}
