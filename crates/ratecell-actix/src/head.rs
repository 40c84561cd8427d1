//! The head of a request.

use std::sync::Arc;

use actix_web::dev::ServiceRequest;
use ratecell::client_key::Peer;
use ratecell_http::Head;

/// Finds the peer of a request.
pub(crate) type PeerFn = Arc<dyn Fn(&ServiceRequest) -> Option<Peer> + Send + Sync>;

/// A request whose peer can be found.
pub(crate) struct Seen<'r> {
    pub(crate) request: &'r ServiceRequest,
    pub(crate) peer: Option<&'r PeerFn>,
}

impl Head for Seen<'_> {
    fn method(&self) -> &str {
        self.request.method().as_str()
    }

    fn path(&self) -> &str {
        self.request.uri().path_and_query().map_or("/", |path| path.as_str())
    }

    fn authority(&self) -> Option<&str> {
        self.request.uri().authority().map(|authority| authority.as_str())
    }

    fn lines(&self, name: &str) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.request.headers().get_all(name).map(|value| value.as_bytes())
    }

    fn peer(&self) -> Option<Peer> {
        match self.peer {
            Some(peer) => peer(self.request),
            None => self.request.peer_addr().map(Peer::from),
        }
    }
}
