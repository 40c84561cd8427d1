//! The key of a client: one text for an address, the same in every program that shares a table.
//!
//! | key | the client |
//! | --- | --- |
//! | `203.0.113.7` | an IPv4 address |
//! | `203.0.113.0/24` | IPv4, where the width is less than 32 |
//! | `2001:db8:1:2::/64` | IPv6: the network of the first 64 bits |
//! | `2001:db8:1:2::5` | IPv6, where the width is 128 |
//! | `unix` | all peers on Unix sockets, as long as no trusted proxy says more |
//! | `unknown` | all peers whose address cannot be read |
//!
//! There is always a key, of at most 43 ASCII characters, and it is never text that a client has written.
//! IPv4-mapped addresses are IPv4, for trust and for the key; those behind NAT64 (`64:ff9b::/96`) are IPv4 in
//! the key alone.
//!
//! The client is looked for from the right: the peer is hop 0, hop *i* the *i*-th address from the right in
//! the field, and each hop is read as long as the one before it is trusted. Where that ends early, at a
//! malformed element for instance, the key is that of the last good hop: anybody can have written the text
//! further left.
//!
//! ```
//! use ratecell_core::client_key::{ClientField, Clients, FieldKind, Width};
//!
//! // One proxy of our own, which adds its peer to X-Forwarded-For.
//! let trust = ClientField::new("X-Forwarded-For", FieldKind::List)?.hops(1)?;
//! let clients = Clients::new(Width::default(), Some(trust));
//!
//! let lines = [("Host", "example.org"), ("X-Forwarded-For", "6.6.6.6, 2001:db8:1:2:3::4")];
//! assert_eq!(clients.key("10.0.0.9:4711", lines).as_str(), "2001:db8:1:2::/64");
//! # Ok::<(), ratecell_core::client_key::ClientsError>(())
//! ```

use core::fmt::{self, Write as _};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::ops::Range;
use core::str;

mod address;
mod configuration;
mod elements;
mod error;
mod forwarded;

pub use configuration::{ClientField, FieldKind, Trust, Width};
pub use error::{ClientsError, ClientsErrorKind};

use address::node;
use elements::{Element, Elements};
use forwarded::forwarded_for;

/// The most elements that are taken from a field, empty ones among them.
const MAX_ELEMENTS: usize = 64;

/// The longest key: an IPv6 address of 39 characters, and `/127`.
const MAX_KEY: usize = 43;

/// The first 96 bits of `64:ff9b::/96`, RFC 6052.
const NAT64: u128 = 0x0064_ff9b << 64;

/// Reads the keys of clients off their requests. Made once; [`key`](Self::key) allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clients {
    width: Width,
    trust: Option<Trust>,
}

/// The peer of a connection, as a server gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(Hop);

/// A place that a request has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hop {
    /// IPv4-mapped addresses are IPv4.
    Address(IpAddr),
    Unix,
    Unknown,
}

/// Why the search for the client ended where it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchEnd {
    /// At a hop that is not trusted to name another: the client.
    Client,
    /// The field has no more elements.
    Short,
    /// The next element is malformed, or hides its client.
    Malformed,
    /// All of the 64 elements that are taken are trusted.
    Long,
}

impl SearchEnd {
    /// The stable name, as in the published vectors: `"end"`, `"short"`, `"malformed"` or `"long"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "end",
            Self::Short => "short",
            Self::Malformed => "malformed",
            Self::Long => "long",
        }
    }
}

impl Clients {
    /// Without `trust` the peer is the client.
    #[must_use]
    pub fn new(width: Width, trust: Option<Trust>) -> Self {
        Self { width, trust }
    }

    /// The name of the field in which proxies name the client, as it was configured: for servers that look up the lines of one
    /// field. `None` where the peer is the client.
    #[must_use]
    pub fn field_name(&self) -> Option<&str> {
        self.trust.as_ref().map(Trust::field_name)
    }

    /// The key of the client of a request.
    ///
    /// `lines` are the lines of the request's header, name and value, in their order; those of other fields
    /// than the configured one are passed over. The work is bounded: at most 65 elements of at most 257 bytes
    /// are read, and the white space around each line.
    pub fn key<N, V, L>(&self, peer: impl Into<Peer>, lines: L) -> ClientKey
    where
        N: AsRef<[u8]>,
        V: AsRef<[u8]>,
        L: IntoIterator<Item = (N, V), IntoIter: DoubleEndedIterator>,
    {
        self.search(peer, lines).0
    }

    /// The key as [`key`](Self::key) gives it, and why it is that one: for a program's own log.
    pub fn search<N, V, L>(&self, peer: impl Into<Peer>, lines: L) -> (ClientKey, SearchEnd)
    where
        N: AsRef<[u8]>,
        V: AsRef<[u8]>,
        L: IntoIterator<Item = (N, V), IntoIter: DoubleEndedIterator>,
    {
        let Peer(peer) = peer.into();
        let (hop, end) = match &self.trust {
            Some(trust) if trust.is_trusted(peer, 0) => {
                let lines = lines.into_iter().rev();
                let lines = lines.filter_map(|(name, value)| trust.is_field(name.as_ref()).then_some(value));
                match trust.kind() {
                    FieldKind::Single => single(peer, lines),
                    FieldKind::List => walk(trust, peer, Elements::new(lines, false), node),
                    FieldKind::Forwarded => walk(trust, peer, Elements::new(lines, true), forwarded_for),
                }
            }
            _ => (peer, SearchEnd::Client),
        };
        (ClientKey::of(hop, self.width), end)
    }
}

/// The one address of a field that the proxy overwrites.
fn single<V: AsRef<[u8]>>(peer: Hop, mut lines: impl Iterator<Item = V>) -> (Hop, SearchEnd) {
    let Some(line) = lines.next() else {
        return (peer, SearchEnd::Short);
    };
    if lines.next().is_some() {
        return (peer, SearchEnd::Malformed);
    }
    match trimmed(line.as_ref()) {
        [] => (peer, SearchEnd::Short),
        text => match node(text) {
            Some(address) => (Hop::Address(address), SearchEnd::Client),
            None => (peer, SearchEnd::Malformed),
        },
    }
}

fn walk<V: AsRef<[u8]>>(
    trust: &Trust,
    peer: Hop,
    mut elements: Elements<impl Iterator<Item = V>>,
    address_of: impl Fn(&[u8]) -> Option<IpAddr>,
) -> (Hop, SearchEnd) {
    let (mut hop, mut number) = (peer, 0);
    for taken in 0.. {
        let element = elements.next();
        let text = match element {
            None => break,
            Some(_) if taken == MAX_ELEMENTS => return (hop, SearchEnd::Long),
            Some(Element::TooLong) => return (hop, SearchEnd::Malformed),
            Some(Element::Text([])) => continue,
            Some(Element::Text(text)) => text,
        };
        let Some(address) = address_of(text) else {
            return (hop, SearchEnd::Malformed);
        };
        hop = Hop::Address(address);
        number += 1;
        if !trust.is_trusted(hop, number) {
            return (hop, SearchEnd::Client);
        }
    }
    (hop, SearchEnd::Short)
}

impl From<&[u8]> for Peer {
    /// An address that may have a port. Without one: a Unix socket where the text is empty or begins with
    /// `@`, `/` or `unix:`, as servers give it; otherwise unknown.
    fn from(text: &[u8]) -> Self {
        Self(match text {
            [] | [b'@' | b'/', ..] | [b'u', b'n', b'i', b'x', b':', ..] => Hop::Unix,
            _ => node(text).map_or(Hop::Unknown, Hop::Address),
        })
    }
}

impl From<&str> for Peer {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        Self(Hop::Address(address.to_canonical()))
    }
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        address.ip().into()
    }
}

/// The key of a client: ASCII text of at most 43 characters, kept in place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientKey {
    /// ASCII; zero from `length` on.
    text: [u8; MAX_KEY],
    length: u8,
}

impl ClientKey {
    fn of(hop: Hop, width: Width) -> Self {
        let mut key = Self { text: [0; MAX_KEY], length: 0 };
        let written = match hop {
            Hop::Unix => key.write_str("unix"),
            Hop::Unknown => key.write_str("unknown"),
            Hop::Address(address) => key.write_network(address, width),
        };
        debug_assert_eq!(written, Ok(()), "a key fits");
        key
    }

    fn write_network(&mut self, address: IpAddr, width: Width) -> fmt::Result {
        let address = match address {
            IpAddr::V6(v6) if v6.to_bits() >> 32 == NAT64 => {
                let [.., a, b, c, d] = v6.octets();
                IpAddr::from([a, b, c, d])
            }
            _ => address,
        };
        let (bits, whole) = match address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX << (32 - width.v4());
                write!(self, "{}", Ipv4Addr::from_bits(v4.to_bits() & mask))?;
                (width.v4(), 32)
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX << (128 - width.v6());
                write!(self, "{}", Ipv6Addr::from_bits(v6.to_bits() & mask))?;
                (width.v6(), 128)
            }
        };
        if bits < whole { write!(self, "/{bits}") } else { Ok(()) }
    }

    /// The key of an address that may have a port; `None` where `text` is none.
    #[must_use]
    pub fn of_address(text: &[u8], width: Width) -> Option<Self> {
        node(text).map(|address| Self::of(Hop::Address(address), width))
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The key's text as bytes, as a limiter takes a key.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.text.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl fmt::Write for ClientKey {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = usize::from(self.length);
        let end = start + text.len();
        self.text.get_mut(start..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = u8::try_from(end).map_err(|_| fmt::Error)?;
        Ok(())
    }
}

impl AsRef<[u8]> for ClientKey {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<str> for ClientKey {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// White space in a field, RFC 9110, section 5.6.3.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// A token's byte, RFC 9110, section 5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Without the white space around it.
fn trimmed(text: &[u8]) -> &[u8] {
    &text[trimmed_range(text)]
}

fn trimmed_range(text: &[u8]) -> Range<usize> {
    let is_text = |byte: &u8| !is_blank(*byte);
    let start = text.iter().position(is_text).unwrap_or(text.len());
    let end = text.iter().rposition(is_text).map_or(start, |last| last + 1);
    start..end
}
