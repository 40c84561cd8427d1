//! The head of a request.

use std::net::SocketAddr;
use std::sync::Arc;

use http::{Extensions, HeaderMap, Method, Request, Uri};
use ratecell::client_key::Peer;
use ratecell_http::Head;

/// The head of a request: all of it but its body.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'r> {
    method: &'r Method,
    uri: &'r Uri,
    headers: &'r HeaderMap,
    extensions: &'r Extensions,
}

impl<'r> RequestHead<'r> {
    pub(crate) fn of<B>(request: &'r Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &'r Method {
        self.method
    }

    /// The target, as the layer got it: the routers of axum shorten it.
    #[must_use]
    pub fn uri(&self) -> &'r Uri {
        self.uri
    }

    /// The header.
    #[must_use]
    pub fn headers(&self) -> &'r HeaderMap {
        self.headers
    }

    /// What the server and other layers say of the request.
    #[must_use]
    pub fn extensions(&self) -> &'r Extensions {
        self.extensions
    }

    /// The first line of the field of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&'r [u8]> {
        self.headers.get(name).map(|value| value.as_bytes())
    }

    /// The path as it was sent: still encoded, without the query, and before routers of axum shorten it.
    #[must_use]
    pub fn path(&self) -> &'r str {
        self.sent().path()
    }

    /// The target as it was sent.
    fn sent(&self) -> &'r Uri {
        #[cfg(feature = "axum")]
        if let Some(original) = self.extensions.get::<axum::extract::OriginalUri>() {
            return &original.0;
        }
        self.uri
    }
}

/// The address at the other end of a connection, in the extensions of its requests: for servers that say it in no other way,
/// such as one of hyper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub SocketAddr);

/// Finds the peer of a request.
pub(crate) type PeerFn = Arc<dyn for<'r> Fn(RequestHead<'r>) -> Option<Peer> + Send + Sync>;

/// The peer, as servers put it into the extensions.
pub(crate) fn peer_of(head: RequestHead<'_>) -> Option<Peer> {
    if let Some(PeerAddress(address)) = head.extensions.get() {
        return Some((*address).into());
    }
    #[cfg(feature = "axum")]
    {
        use axum::extract::connect_info::{ConnectInfo, MockConnectInfo};
        if let Some(ConnectInfo(address)) = head.extensions.get::<ConnectInfo<SocketAddr>>() {
            return Some((*address).into());
        }
        if let Some(MockConnectInfo(address)) = head.extensions.get::<MockConnectInfo<SocketAddr>>() {
            return Some((*address).into());
        }
    }
    None
}

/// A head whose peer can be found.
pub(crate) struct Seen<'r, 'p> {
    pub(crate) head: RequestHead<'r>,
    pub(crate) peer: Option<&'p PeerFn>,
}

impl Head for Seen<'_, '_> {
    fn method(&self) -> &str {
        self.head.method.as_str()
    }

    fn path(&self) -> &str {
        self.head.sent().path_and_query().map_or("/", |path| path.as_str())
    }

    fn authority(&self) -> Option<&str> {
        self.head.sent().authority().map(|authority| authority.as_str())
    }

    fn lines(&self, name: &str) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.head.headers.get_all(name).iter().map(|value| value.as_bytes())
    }

    fn peer(&self) -> Option<Peer> {
        match self.peer {
            Some(peer) => peer(self.head),
            None => peer_of(self.head),
        }
    }
}
