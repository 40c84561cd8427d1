//! Where a server listens.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
#[cfg(unix)]
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::EnvoyError;

/// What connections come from.
pub(super) trait Accept: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn accept(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Accept for tokio::net::TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept(&self) -> io::Result<Self::Stream> {
        let (stream, _) = tokio::net::TcpListener::accept(self).await?;
        // Without it an answer may wait for the one before it; a connection works without, too.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

#[cfg(unix)]
impl Accept for tokio::net::UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn accept(&self) -> io::Result<Self::Stream> {
        Ok(tokio::net::UnixListener::accept(self).await?.0)
    }
}

#[derive(Debug)]
pub(super) struct Listeners {
    pub(super) tcp: Option<TcpListener>,
    #[cfg(unix)]
    pub(super) unix: Option<UnixListener>,
    pub(super) pages: Option<TcpListener>,
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
        pages: Option<SocketAddr>,
    ) -> Result<Self, EnvoyError> {
        if address.is_none() && path.is_none() {
            return Err(EnvoyError::Nowhere);
        }
        let tcp = address.map(listen).transpose()?;
        let pages = pages.map(listen).transpose()?;
        #[cfg(unix)]
        let (unix, socket) = match path {
            None => (None, None),
            Some(path) => {
                let listener = bind(&path).map_err(|error| EnvoyError::Socket(path.clone(), error))?;
                (Some(listener), Some(SocketFile(path)))
            }
        };
        #[cfg(not(unix))]
        let socket = match path {
            None => None,
            Some(path) => return Err(EnvoyError::Socket(path, io::ErrorKind::Unsupported.into())),
        };
        Ok(Self {
            tcp,
            #[cfg(unix)]
            unix,
            pages,
            socket,
        })
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref()?.local_addr().ok()
    }

    pub(super) fn pages_address(&self) -> Option<SocketAddr> {
        self.pages.as_ref()?.local_addr().ok()
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, EnvoyError> {
    let listen = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    listen().map_err(|error| EnvoyError::Listen(address, error))
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
