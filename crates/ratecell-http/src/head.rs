//! What a middleware asks of a request.

use std::borrow::Cow;

use ratecell::client_key::{ClientKey, Clients, Peer, Width};
use ratecell::rules::{Attribute, Attributes};

/// The head of a request, as a server has it.
pub trait Head {
    /// The method, as it was sent.
    fn method(&self) -> &str;

    /// The path and the query, as they were sent: still encoded.
    fn path(&self) -> &str;

    /// The host that the target of the request names, as that of HTTP/2 does: without one, [`host`] takes the field's.
    fn authority(&self) -> Option<&str>;

    /// The lines of the field of this name, in their order. The name is compared without regard to the case of A-Z.
    fn lines(&self, name: &str) -> impl DoubleEndedIterator<Item = &[u8]>;

    /// Who is at the other end of the connection; `None` if the server did not say.
    fn peer(&self) -> Option<Peer>;
}

/// The key of a request's client. `None` if it cannot be known: the server did not say who the peer is, and no field says it
/// in its place.
pub fn client_key(clients: &Clients, head: &(impl Head + ?Sized)) -> Option<ClientKey> {
    let peer = head.peer();
    // As of a peer that cannot be read: by position, it may still be one's own proxy.
    let known = peer.unwrap_or_else(|| Peer::from("unknown"));
    let name = clients.field_name();
    let lines = name.into_iter().flat_map(|name| head.lines(name).map(move |line| (name, line)));
    let key = clients.key(known, lines);
    (peer.is_some() || key.as_str() != "unknown").then_some(key)
}

/// Clients as rules see them: the whole address, for a rule's key has widths of its own.
///
/// # Panics
/// Never: the widths are in range.
#[must_use]
pub fn rule_clients() -> Clients {
    Clients::new(Width::new(32, 128).unwrap_or_default(), None)
}

/// The host that a request is for.
pub fn host(head: &(impl Head + ?Sized)) -> Option<&[u8]> {
    head.authority().map(str::as_bytes).or_else(|| head.lines("host").next())
}

/// Whether the request is a call of gRPC, by its content type: also of gRPC-Web.
pub fn is_grpc(head: &(impl Head + ?Sized)) -> bool {
    const GRPC: &[u8] = b"application/grpc";
    let is_grpc = |value: &[u8]| {
        value.split_at_checked(GRPC.len()).is_some_and(|(begin, rest)| {
            begin.eq_ignore_ascii_case(GRPC) && matches!(rest.first(), None | Some(b'+' | b';' | b'-' | b' '))
        })
    };
    head.lines("content-type").next().is_some_and(is_grpc)
}

/// The attributes that rules see of a request: `method`, `path`, `host`, `client` and `header:NAME`, and what the program
/// adds.
#[derive(Debug)]
pub struct HeadAttributes<'h, H: ?Sized, F> {
    /// The request.
    pub head: &'h H,
    /// The key of its client, for the widths 32 and 128; absent if it is `None`.
    pub client: Option<ClientKey>,
    /// What the program's own attributes are, by their names.
    pub own: F,
}

impl<'h, H: Head + ?Sized, F: Fn(&str) -> Option<Cow<'h, [u8]>>> Attributes for HeadAttributes<'h, H, F> {
    fn value(&self, attribute: Attribute<'_>) -> Option<Cow<'_, [u8]>> {
        match attribute {
            Attribute::Method => Some(self.head.method().as_bytes().into()),
            Attribute::Path => Some(self.head.path().as_bytes().into()),
            Attribute::Host => host(self.head).map(Cow::Borrowed),
            Attribute::Client => self.client.as_ref().map(|key| key.as_bytes().into()),
            Attribute::Header("host") => host(self.head).map(Cow::Borrowed),
            Attribute::Header(name) => joined(self.head.lines(name)),
            Attribute::Own(name) => (self.own)(name),
        }
    }
}

/// The lines of a field as one value.
fn joined<'h>(mut lines: impl Iterator<Item = &'h [u8]>) -> Option<Cow<'h, [u8]>> {
    let first = lines.next()?;
    Some(lines.fold(first.into(), |value, line| [&*value, line].join(&b", "[..]).into()))
}
