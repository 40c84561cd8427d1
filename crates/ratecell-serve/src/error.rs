//! Why a server cannot be made.

use core::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use ratecell::BuildError;

/// Why a server cannot be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// A name that no policy can have.
    #[non_exhaustive]
    Name {
        /// The name.
        name: String,
        /// The only one of its form that is taken.
        taken: &'static str,
    },
    /// Two policies have this name.
    NameTwice(String),
    /// The limiter of this name cannot be made.
    Limiter(String, BuildError),
    /// The file of the limit of this name has leases, for which a decision would wait.
    Leases(String),
    /// The limiter by rules cannot be made.
    Rules(BuildError),
    /// A password without a byte, or with more than one line.
    Password,
    /// An address that other machines reach, without a password.
    Wide(SocketAddr),
    /// There is neither an address nor a socket to listen on.
    Nowhere,
    /// The system refuses this address.
    Listen(SocketAddr, io::Error),
    /// The system refuses this path.
    Socket(PathBuf, io::Error),
    /// The system refuses an event loop, a thread or the signals.
    System(io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name, taken } => write!(
                f,
                "policy name {name:?}: expected 1 to 64 letters, digits, `-`, `_` or `.`, the first of them a letter, and not \
                 {taken}"
            ),
            Self::NameTwice(name) => write!(f, "policy {name} is given twice: expected each name once"),
            Self::Limiter(name, _) => write!(f, "policy {name}"),
            Self::Leases(name) => write!(
                f,
                "policy {name}: its file has leases from a store, for which a decision may wait: expected a file of one machine"
            ),
            Self::Rules(_) => f.write_str("the rules cannot be kept"),
            Self::Password => f.write_str("the password is empty or has several lines: expected one line"),
            Self::Wide(address) => write!(
                f,
                "{address} is an address that other machines reach: expected a loopback address such as 127.0.0.1:6380, a \
                 password, or --insecure"
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
            Self::System(_) => f.write_str("the server cannot be started"),
        }
    }
}

impl core::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Limiter(_, error) | Self::Rules(error) => Some(error),
            Self::Listen(_, error) | Self::Socket(_, error) | Self::System(error) => Some(error),
            Self::Name { .. }
            | Self::NameTwice(_)
            | Self::Leases(_)
            | Self::Password
            | Self::Wide(_)
            | Self::Nowhere => None,
        }
    }
}
