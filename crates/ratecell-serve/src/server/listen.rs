//! Where a server listens.

use std::io;
use std::net::{SocketAddr, TcpListener};
#[cfg(unix)]
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use socket2::{Domain, SockRef, Socket, Type};

use crate::error::ServeError;

/// Connections that wait for an event loop.
#[cfg(target_os = "linux")]
const BACKLOG: i32 = 1024;
/// Descriptors beside those of connections: files, listeners, event loops.
#[cfg(unix)]
const OTHERS: u64 = 64;

/// The listeners of one event loop.
#[derive(Debug)]
pub(super) struct LoopListeners {
    pub(super) tcp: Option<TcpListener>,
    #[cfg(unix)]
    pub(super) unix: Option<UnixListener>,
}

#[derive(Debug)]
pub(super) struct Listeners {
    pub(super) address: Option<SocketAddr>,
    pub(super) loops: Vec<LoopListeners>,
    /// Of a path: removed with this.
    pub(super) socket: Option<SocketFile>,
}

/// The file of a socket, which is removed at the end.
#[derive(Debug)]
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // One that is gone already is as well.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Listeners {
    pub(super) fn new(
        address: Option<SocketAddr>,
        path: Option<PathBuf>,
        threads: usize,
    ) -> Result<Self, ServeError> {
        if address.is_none() && path.is_none() {
            return Err(ServeError::Nowhere);
        }
        let mut tcp = match address {
            None => Vec::new(),
            Some(address) => listen(address, threads).map_err(|error| ServeError::Listen(address, error))?,
        };
        let address = tcp.first().and_then(|listener| listener.local_addr().ok());
        #[cfg(unix)]
        let (mut unix, socket) = match path {
            None => (Vec::new(), None),
            Some(path) => {
                let wrong = |error| ServeError::Socket(path.clone(), error);
                let listener = bind(&path).map_err(wrong)?;
                let socket = SocketFile(path.clone());
                let shared = || listener.try_clone().map_err(wrong);
                ((0..threads).map(|_| shared()).collect::<Result<_, _>>()?, Some(socket))
            }
        };
        #[cfg(not(unix))]
        let socket = match path {
            None => None,
            Some(path) => return Err(ServeError::Socket(path, io::ErrorKind::Unsupported.into())),
        };
        let loops = (0..threads).map(|_| LoopListeners {
            tcp: tcp.pop(),
            #[cfg(unix)]
            unix: unix.pop(),
        });
        let loops = loops.collect();
        Ok(Self { address, loops, socket })
    }
}

/// A listener for each thread. Where the system shares connections out among sockets, each has a socket of its own.
fn listen(address: SocketAddr, threads: usize) -> io::Result<Vec<TcpListener>> {
    // Alone: if another server has the address, or comes at the same instant, one of the two is refused here. If both had it,
    // each would get half of the connections, and admit the whole limit.
    let first = TcpListener::bind(address)?;
    first.set_nonblocking(true)?;
    #[cfg(target_os = "linux")]
    if threads > 1 {
        // It is listening, so it can be shared from now on: another server's first is refused as before.
        SockRef::from(&first).listen(BACKLOG)?;
        SockRef::from(&first).set_reuse_port(true)?;
        let address = first.local_addr()?;
        let others = (1..threads).map(|_| beside(address));
        return [Ok(first)].into_iter().chain(others).collect();
    }
    let others: Vec<_> = (1..threads).map(|_| first.try_clone()).collect::<Result<_, _>>()?;
    Ok(others.into_iter().chain([first]).collect())
}

/// One more listener at an address that is shared.
#[cfg(target_os = "linux")]
fn beside(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Listens at a path. A socket that a server has left there, which nobody listens on, is replaced.
#[cfg(unix)]
fn bind(path: &std::path::Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream;

    let listener = UnixListener::bind(path).or_else(|error| {
        let is_socket = || std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
        let is_left = || {
            let refused = UnixStream::connect(path).err().map(|error| error.kind());
            refused == Some(io::ErrorKind::ConnectionRefused)
        };
        if error.kind() != io::ErrorKind::AddrInUse || !is_socket() || !is_left() {
            return Err(error);
        }
        std::fs::remove_file(path)?;
        UnixListener::bind(path)
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// So many of these connections as the system has descriptors for, after it was asked for as many as are needed.
pub(super) fn descriptors_for(connections: usize) -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let needed = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHERS);
        let limit = getrlimit(Resource::Nofile);
        let wanted = limit.maximum.map_or(needed, |most| most.min(needed));
        let is_enough = limit.current.is_none_or(|current| current >= wanted);
        if !is_enough {
            // What is refused is not there, which is looked at below.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
        }
        let there = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).saturating_sub(OTHERS).max(1);
        usize::try_from(there).unwrap_or(usize::MAX).min(connections)
    }
    #[cfg(not(unix))]
    connections
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::TcpStream;
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn of_servers_that_start_at_the_same_instant_one_listens() {
        let begin = Barrier::new(4);
        for _ in 0..200 {
            let free =
                TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("an address");
            let server = || {
                begin.wait();
                let listeners = listen(free, 3);
                begin.wait();
                listeners.is_ok()
            };
            let listening = thread::scope(|scope| {
                let servers = [(); 4].map(|()| scope.spawn(server));
                servers.into_iter().filter_map(|server| server.join().ok()).filter(|listens| *listens).count()
            });
            assert!(listening <= 1, "{listening} listen on {free}");
        }
    }

    #[test]
    fn connections_are_shared_out_among_threads() {
        let listeners = listen("127.0.0.1:0".parse().expect("an address"), 3).expect("listeners");
        let address = listeners[0].local_addr().expect("an address");
        let streams = [(); 60].map(|()| TcpStream::connect(address).expect("a connection"));
        let mut accepted = [0; 3];
        while accepted.iter().sum::<usize>() < streams.len() {
            for (listener, count) in listeners.iter().zip(&mut accepted) {
                *count += core::iter::from_fn(|| listener.accept().ok()).count();
            }
        }
        assert!(accepted.iter().all(|count| *count > 0), "{accepted:?}");
    }
}
