//! What can be wrong with a configuration of client keys.

use alloc::string::String;
use core::fmt;

/// The ways in which a configuration can be refused, each with the code it has in the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientsErrorKind {
    /// A width is out of range.
    BadWidth,
    /// The field's name is not a token of 1 to 128 characters, or its kind has no such name.
    BadField,
    /// Both hops and networks are given, or neither.
    BadTrust,
    /// The number of hops is out of range.
    BadHops,
    /// A network cannot be read or would never match, or there are none or too many.
    BadNetwork,
}

impl ClientsErrorKind {
    /// The stable name, as in the published vectors: `"bad_width"`, `"bad_network"`, …
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::BadWidth => "bad_width",
            Self::BadField => "bad_field",
            Self::BadTrust => "bad_trust",
            Self::BadHops => "bad_hops",
            Self::BadNetwork => "bad_network",
        }
    }
}

/// Why a configuration of client keys was refused: a code, and a sentence that names what was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientsError {
    kind: ClientsErrorKind,
    message: String,
}

impl ClientsError {
    pub(super) fn new(kind: ClientsErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Which of the ways it was.
    #[must_use]
    pub fn kind(&self) -> ClientsErrorKind {
        self.kind
    }
}

impl fmt::Display for ClientsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.code(), self.message)
    }
}

impl core::error::Error for ClientsError {}
