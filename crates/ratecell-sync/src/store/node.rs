//! One server, and at most one connection to it.

use std::time::Instant;

use redis::{Connection, ConnectionAddr, ConnectionInfo, Value as Raw};

use super::error::{StoreError, StoreErrorKind};

pub(crate) struct Node {
    info: ConnectionInfo,
    /// Its host and port, or its path.
    pub(crate) shown: String,
    open: Option<Connection>,
}

impl Node {
    pub(crate) fn new(info: ConnectionInfo) -> Self {
        Self { shown: info.addr().to_string(), info, open: None }
    }

    /// Where it is, if not behind a Unix socket.
    pub(crate) fn host(&self) -> Option<(&str, u16)> {
        match self.info.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                Some((host, *port))
            }
            _ => None,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Drops the connection: answers that may still come on it belong to questions that are given up.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// Sends commands, over a new connection if there is none.
    pub(crate) fn send(&mut self, commands: &[u8], deadline: Instant) -> Result<(), StoreError> {
        let left = self.left(deadline)?;
        let open = match &mut self.open {
            Some(open) => open,
            open @ None => {
                let new = redis::Client::open(self.info.clone())
                    .and_then(|client| client.get_connection_with_timeout(left))
                    .map_err(|error| StoreError::of_connecting(&error, &self.shown))?;
                open.insert(new)
            }
        };
        // The handshake of TLS reads, too, within the first write. For the answers it is set once: each is a system call.
        let timed = open.set_write_timeout(Some(left)).and_then(|()| open.set_read_timeout(Some(left)));
        let sent = timed.and_then(|()| open.send_packed_command(commands));
        self.or_close(sent)
    }

    /// The next answer. An error of the server's is an answer too.
    pub(crate) fn receive(&mut self, deadline: Instant) -> Result<Raw, StoreError> {
        self.left(deadline)?;
        let Some(open) = &mut self.open else {
            let text = format!("{}: the connection is closed", self.shown);
            return Err(StoreError::new(StoreErrorKind::Disconnected, text));
        };
        let received = open.recv_response();
        self.or_close(received)
    }

    /// The time that is left; above 0.
    fn left(&mut self, deadline: Instant) -> Result<std::time::Duration, StoreError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Ok(left);
        }
        self.close();
        Err(StoreError::new(StoreErrorKind::Timeout, format!("{} has not answered in time", self.shown)))
    }

    fn or_close<T>(&mut self, result: redis::RedisResult<T>) -> Result<T, StoreError> {
        result.map_err(|error| {
            self.close();
            StoreError::of_connection(&error, &self.shown)
        })
    }
}
