//! Why nothing can be suggested.

use std::fmt;
use std::io;

/// Why a recording cannot be studied.
#[derive(Debug)]
#[non_exhaustive]
pub enum StudyError {
    /// A temporary file cannot be written or read.
    File(io::Error),
    /// There are more than 2^32 clients.
    Clients,
    /// All requests are of one client.
    OneClient,
    /// The requests are within less time than three of the shortest scale, of which the fitted part may then have none.
    TooShort,
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => {
                write!(f, "a temporary file: {error}: expected room for 16 bytes a request in $TMPDIR")
            }
            Self::Clients => f.write_str("more than 4294967296 clients: choose a key with fewer values"),
            Self::OneClient => f.write_str(
                "all requests are of one client, so that none can be told from others: choose another key, or a log of more clients",
            ),
            Self::TooShort => f.write_str(
                "all requests are within three seconds, which shows no rate: give a longer log",
            ),
        }
    }
}

impl std::error::Error for StudyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for StudyError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}
