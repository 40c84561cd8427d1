//! The attributes of a request, as a program gives them.

use std::borrow::Cow;
use std::fmt;

/// An attribute that a file of rules uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attribute<'n> {
    /// The method, as it was sent.
    Method,
    /// The path of the request target, as it was sent: still encoded, with or without its query. A framework that has
    /// only a decoded path encodes it again: each byte but A-Z a-z 0-9 `-._~/` as `%XX`.
    Path,
    /// The host, with or without its port. Letters may be of any case.
    Host,
    /// The client: the key of `ratecell_core::client_key`, for the widths 32 and 128.
    Client,
    /// The header field of this name, which is in small letters. The values of several lines are joined by `, `.
    Header(&'n str),
    /// An attribute of the program's own: a name that the file lists under `attributes`.
    Own(&'n str),
}

impl<'n> Attribute<'n> {
    /// The attribute that a file calls so.
    #[must_use]
    pub fn named(name: &'n str) -> Self {
        match name {
            "method" => Self::Method,
            "path" => Self::Path,
            "host" => Self::Host,
            "client" => Self::Client,
            _ => name.strip_prefix(HEADER).map_or(Self::Own(name), Self::Header),
        }
    }
}

/// What a file calls it.
impl fmt::Display for Attribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method => f.write_str("method"),
            Self::Path => f.write_str("path"),
            Self::Host => f.write_str("host"),
            Self::Client => f.write_str("client"),
            Self::Header(name) => write!(f, "{HEADER}{name}"),
            Self::Own(name) => f.write_str(name),
        }
    }
}

/// The attributes of one request. Each is absent, or has one value, which is bytes; an empty value is present.
///
/// An evaluation asks once for each attribute that the file uses. The pairs of names and values in a slice are
/// attributes, by the names that a file uses:
///
/// ```
/// use ratecell_rules::{Attribute, Attributes};
///
/// let request = [("method", "GET"), ("path", "/api/v1"), ("header:x-api-key", "live_1"), ("user", "ann")];
/// assert_eq!(request.value(Attribute::Header("x-api-key")).as_deref(), Some(&b"live_1"[..]));
/// assert_eq!(request.value(Attribute::Host), None);
/// ```
pub trait Attributes {
    /// The value, or `None` if the attribute is absent.
    fn value(&self, attribute: Attribute<'_>) -> Option<Cow<'_, [u8]>>;
}

impl<N: AsRef<str>, V: AsRef<[u8]>> Attributes for [(N, V)] {
    fn value(&self, attribute: Attribute<'_>) -> Option<Cow<'_, [u8]>> {
        let found = self.iter().find(|(name, _)| Attribute::named(name.as_ref()) == attribute);
        found.map(|(_, value)| Cow::Borrowed(value.as_ref()))
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>, const COUNT: usize> Attributes for [(N, V); COUNT] {
    fn value(&self, attribute: Attribute<'_>) -> Option<Cow<'_, [u8]>> {
        self.as_slice().value(attribute)
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> Attributes for Vec<(N, V)> {
    fn value(&self, attribute: Attribute<'_>) -> Option<Cow<'_, [u8]>> {
        self.as_slice().value(attribute)
    }
}

impl<A: Attributes + ?Sized> Attributes for &A {
    fn value(&self, attribute: Attribute<'_>) -> Option<Cow<'_, [u8]>> {
        (**self).value(attribute)
    }
}

/// An attribute's number in a file of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) u32);

impl Id {
    pub(crate) const PATH: Self = Self(0);
    pub(crate) const METHOD: Self = Self(1);
    pub(crate) const HOST: Self = Self(2);
    pub(crate) const CLIENT: Self = Self(3);

    pub(crate) fn index(self) -> usize {
        // A usize has 32 bits or more wherever a file of that many attributes fits.
        self.0 as usize
    }
}

/// The attributes of a file, by number.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    names: Vec<(Kind, Box<str>)>,
    used: Vec<bool>,
}

/// What an attribute's name says of it, so that an evaluation looks at no names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Method,
    Path,
    Host,
    Client,
    Header,
    Own,
}

/// What stands before a header's name.
const HEADER: &str = "header:";

impl Default for Names {
    fn default() -> Self {
        let names =
            [(Kind::Path, "path"), (Kind::Method, "method"), (Kind::Host, "host"), (Kind::Client, "client")];
        let names = names.map(|(kind, name)| (kind, Box::from(name))).to_vec();
        Self { used: vec![false; names.len()], names }
    }
}

impl Names {
    /// The number of an attribute that was not used before, and is from now on.
    pub(crate) fn push(&mut self, name: &str) -> Id {
        let kind = if name.starts_with(HEADER) { Kind::Header } else { Kind::Own };
        self.names.push((kind, name.into()));
        self.used.push(true);
        Id(u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX))
    }

    pub(crate) fn used(&mut self, id: Id) {
        self.used[id.index()] = true;
    }

    pub(crate) fn name(&self, id: Id) -> &str {
        &self.names[id.index()].1
    }

    /// Every attribute in the order of the numbers; `None` for one that no rule uses.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<Attribute<'_>>> {
        self.names.iter().zip(&self.used).map(|((kind, name), used)| {
            used.then(|| match kind {
                Kind::Method => Attribute::Method,
                Kind::Path => Attribute::Path,
                Kind::Host => Attribute::Host,
                Kind::Client => Attribute::Client,
                Kind::Header => Attribute::Header(name.get(HEADER.len()..).unwrap_or_default()),
                Kind::Own => Attribute::Own(name),
            })
        })
    }
}

/// A header's value without the spaces and tabs around it.
pub(crate) fn without_blanks(value: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let start = value.iter().position(is_text).unwrap_or(value.len());
    let end = value.iter().rposition(is_text).map_or(start, |last| last + 1);
    match value {
        Cow::Borrowed(value) => Cow::Borrowed(&value[start..end]),
        Cow::Owned(mut value) => {
            value.truncate(end);
            value.drain(..start);
            Cow::Owned(value)
        }
    }
}

/// The host without its port and without one final dot; its letters are as they were.
pub(crate) fn bare_host(value: &[u8]) -> &[u8] {
    let is_port = |tail: &[u8]| matches!(tail, [b':', digits @ ..] if digits.iter().all(u8::is_ascii_digit));
    // In brackets, as IPv6 addresses are, a colon is none of a port.
    let bracketed = match value {
        [b'[', ..] => value.iter().position(|byte| *byte == b']').map(|at| value.split_at(at + 1)),
        _ => None,
    };
    let host = match (bracketed, value.iter().position(|byte| *byte == b':')) {
        (Some((host, port)), _) if is_port(port) => host,
        (_, Some(colon)) if is_port(&value[colon..]) => &value[..colon],
        _ => value,
    };
    host.strip_suffix(b".").unwrap_or(host)
}

/// Writes the host as rules compare it.
pub(crate) fn host_text(value: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(bare_host(value));
    out.make_ascii_lowercase();
}
