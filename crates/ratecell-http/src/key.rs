//! The key that a request is limited by.

use std::borrow::Cow;

use ratecell::client_key::ClientKey;

/// Who is limited: bytes that are lent by the request, or made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Key<'r> {
    /// The key of a client's address.
    Client(ClientKey),
    /// Any other.
    Bytes(Cow<'r, [u8]>),
}

impl AsRef<[u8]> for Key<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Client(key) => key.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl From<ClientKey> for Key<'_> {
    fn from(key: ClientKey) -> Self {
        Self::Client(key)
    }
}

impl<'r> From<&'r [u8]> for Key<'r> {
    fn from(bytes: &'r [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }
}

impl<'r> From<&'r str> for Key<'r> {
    fn from(text: &'r str) -> Self {
        text.as_bytes().into()
    }
}

impl From<Vec<u8>> for Key<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(Cow::Owned(bytes))
    }
}

impl From<String> for Key<'_> {
    fn from(text: String) -> Self {
        text.into_bytes().into()
    }
}
