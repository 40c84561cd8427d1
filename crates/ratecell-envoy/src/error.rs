//! Why a file cannot be imported, and why a server cannot be made.

use core::fmt;
#[cfg(feature = "server")]
use std::io;
#[cfg(feature = "server")]
use std::net::SocketAddr;
#[cfg(feature = "server")]
use std::path::PathBuf;

/// Why a file of limits cannot be written as rules.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportError {
    /// The line, from 1, on which it is.
    pub line: usize,
    /// What was wrong, and what was expected.
    pub message: String,
}

impl ImportError {
    pub(crate) fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl core::error::Error for ImportError {}

/// Why a server cannot be made.
#[cfg(feature = "server")]
#[derive(Debug)]
#[non_exhaustive]
pub enum EnvoyError {
    /// An address that other machines reach, without TLS.
    Wide(SocketAddr),
    /// There is neither an address nor a socket to listen on.
    Nowhere,
    /// The system refuses this address.
    Listen(SocketAddr, io::Error),
    /// The system refuses this path.
    Socket(PathBuf, io::Error),
    /// The certificate, its key or the authorities of clients' certificates are none.
    Tls(Box<dyn core::error::Error + Send + Sync>),
    /// The system refuses an event loop, a thread or the signals; or a connection cannot be served.
    System(io::Error),
}

#[cfg(feature = "server")]
impl fmt::Display for EnvoyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wide(address) => write!(
                f,
                "{address} is an address that other machines reach: expected a loopback address such as 127.0.0.1:8081, \
                 TLS, or --insecure"
            ),
            Self::Nowhere => f.write_str("nothing to listen on: expected an address or a path"),
            Self::Listen(address, _) => {
                write!(f, "cannot listen on {address}, expected an address of this machine and a free port")
            }
            Self::Socket(path, _) => write!(
                f,
                "cannot listen on {}, expected a path where no file is and no other server listens",
                path.display()
            ),
            Self::Tls(_) => f.write_str(
                "the files for TLS are not right, expected a certificate, its key and authorities, each in PEM",
            ),
            Self::System(_) => f.write_str("the server cannot be started"),
        }
    }
}

#[cfg(feature = "server")]
impl core::error::Error for EnvoyError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Listen(_, error) | Self::Socket(_, error) | Self::System(error) => Some(error),
            Self::Tls(error) => Some(&**error),
            Self::Wide(_) | Self::Nowhere => None,
        }
    }
}
