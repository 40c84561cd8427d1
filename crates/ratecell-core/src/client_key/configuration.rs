//! The configuration: widths, and the proxies that are trusted. Checked once, when it is made.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use core::ops::RangeInclusive;
use core::str::FromStr;

use super::address::{ipv4, ipv6, split_at_byte};
use super::error::{ClientsError, ClientsErrorKind as Kind};
use super::{Hop, is_token_byte};

const V4_WIDTHS: RangeInclusive<u32> = 8..=32;
const V6_WIDTHS: RangeInclusive<u32> = 32..=128;
const MAX_NAME: usize = 128;
const MAX_HOPS: u32 = 16;
const MAX_NETWORKS: usize = 256;

/// How many bits of an address are the client: those behind them are zero in its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    v4: u32,
    v6: u32,
}

/// Each IPv4 address, and each IPv6 network of 64 bits, is a client.
impl Default for Width {
    fn default() -> Self {
        Self { v4: 32, v6: 64 }
    }
}

impl Width {
    /// `v4` bits of an IPv4 address, 8 to 32; `v6` bits of an IPv6 address, 32 to 128.
    ///
    /// # Errors
    /// [`BadWidth`](Kind::BadWidth) where either is out of range.
    pub fn new(v4: u32, v6: u32) -> Result<Self, ClientsError> {
        for (name, width, range) in [("IPv4", v4, V4_WIDTHS), ("IPv6", v6, V6_WIDTHS)] {
            if !range.contains(&width) {
                let (least, most) = (range.start(), range.end());
                let message = format!("the width of {name} is {width}: expected {least} to {most}");
                return Err(ClientsError::new(Kind::BadWidth, message));
            }
        }
        Ok(Self { v4, v6 })
    }

    pub(super) fn v4(self) -> u32 {
        self.v4
    }

    pub(super) fn v6(self) -> u32 {
        self.v6
    }
}

/// How a field names addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// Addresses separated by commas, as `X-Forwarded-For` has them: each proxy adds one at the end.
    List,
    /// `Forwarded`, RFC 7239: as a list, each address the `for` of its element.
    Forwarded,
    /// One address, which the proxy overwrites, as `X-Real-IP` and `CF-Connecting-IP` have it.
    Single,
}

impl FieldKind {
    /// Every kind there is.
    pub const ALL: [Self; 3] = [Self::List, Self::Forwarded, Self::Single];

    /// The stable name, as in the published vectors: `"list"`, `"forwarded"` or `"single"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Forwarded => "forwarded",
            Self::Single => "single",
        }
    }
}

impl FromStr for FieldKind {
    type Err = ClientsError;

    fn from_str(name: &str) -> Result<Self, ClientsError> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let message = format!("the kind is `{name}`: expected list, forwarded or single");
            ClientsError::new(Kind::BadField, message)
        })
    }
}

/// The field in which proxies name the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientField {
    name: Box<[u8]>,
    kind: FieldKind,
}

impl ClientField {
    /// The field of that name, which is compared without regard to the case of A-Z.
    ///
    /// # Errors
    /// [`BadField`](Kind::BadField) where the name is not a token (RFC 9110, section 5.6.2) of 1 to 128 bytes.
    pub fn new(name: impl AsRef<[u8]>, kind: FieldKind) -> Result<Self, ClientsError> {
        let name = name.as_ref();
        if !(1..=MAX_NAME).contains(&name.len()) || !name.iter().all(|byte| is_token_byte(*byte)) {
            let shown = shown(name);
            let message = format!("the field is `{shown}`: expected a token of 1 to {MAX_NAME} characters");
            return Err(ClientsError::new(Kind::BadField, message));
        }
        Ok(Self { name: name.into(), kind })
    }

    /// Trusts by position: `hops` proxies of one's own stand before the program, 1 to 16; 1 for a field with a
    /// single address. It is right only if every request passes every proxy.
    ///
    /// # Errors
    /// [`BadHops`](Kind::BadHops) where the number is out of range.
    pub fn hops(self, hops: u32) -> Result<Trust, ClientsError> {
        let most = if self.kind == FieldKind::Single { 1 } else { MAX_HOPS };
        if !(1..=most).contains(&hops) {
            let message = format!("{hops} hops of a {} field: expected 1 to {most}", self.kind.name());
            return Err(ClientsError::new(Kind::BadHops, message));
        }
        Ok(Trust { field: self, proxies: Proxies::Hops(hops) })
    }

    /// Trusts by address: one's own proxies are in these networks, 1 to 256. Each is an address, or an address,
    /// `/` and a length; the word `unix` stands for all Unix sockets.
    ///
    /// # Errors
    /// [`BadNetwork`](Kind::BadNetwork) where one cannot be read, has bits beyond its length, or lies within
    /// `::ffff:0:0/96`, whose addresses are compared as IPv4; or where there are none or too many.
    pub fn networks<N: AsRef<[u8]>>(
        self,
        networks: impl IntoIterator<Item = N>,
    ) -> Result<Trust, ClientsError> {
        let mut read = Vec::new();
        for (text, number) in networks.into_iter().zip(1..) {
            if number > MAX_NETWORKS {
                return Err(too_many_networks("more"));
            }
            read.push(Network::read(text.as_ref())?);
        }
        if read.is_empty() {
            return Err(too_many_networks("none"));
        }
        Ok(Trust { field: self, proxies: Proxies::Networks(read) })
    }

    /// Trusts by position or by address, for a caller whose configuration has a place for either.
    ///
    /// # Errors
    /// [`BadTrust`](Kind::BadTrust) where both are given or neither, otherwise those of [`hops`](Self::hops)
    /// and [`networks`](Self::networks).
    pub fn trusting<N: AsRef<[u8]>>(
        self,
        hops: Option<u32>,
        networks: Option<impl IntoIterator<Item = N>>,
    ) -> Result<Trust, ClientsError> {
        let given = match (hops, networks) {
            (Some(hops), None) => return self.hops(hops),
            (None, Some(networks)) => return self.networks(networks),
            (Some(_), Some(_)) => "both hops and networks are given",
            (None, None) => "neither hops nor networks are given",
        };
        Err(ClientsError::new(Kind::BadTrust, format!("{given}: expected one of them")))
    }
}

fn too_many_networks(found: &str) -> ClientsError {
    ClientsError::new(Kind::BadNetwork, format!("{found}: expected 1 to {MAX_NETWORKS} networks"))
}

/// Which proxies may name the client, and where they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    field: ClientField,
    proxies: Proxies,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Proxies {
    Hops(u32),
    Networks(Vec<Network>),
}

impl Trust {
    /// A token, which is ASCII.
    pub(super) fn field_name(&self) -> &str {
        core::str::from_utf8(&self.field.name).unwrap_or_default()
    }

    pub(super) fn is_field(&self, name: &[u8]) -> bool {
        self.field.name.eq_ignore_ascii_case(name)
    }

    pub(super) fn kind(&self) -> FieldKind {
        self.field.kind
    }

    /// Whether hop `number`, at this place, may name the one before it.
    pub(super) fn is_trusted(&self, hop: Hop, number: u32) -> bool {
        match &self.proxies {
            Proxies::Hops(hops) => number < *hops,
            Proxies::Networks(networks) => networks.iter().any(|network| network.contains(hop)),
        }
    }
}

/// A network: an address whose bits beyond the mask are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    V4 { address: u32, mask: u32 },
    V6 { address: u128, mask: u128 },
    Unix,
}

impl Network {
    fn read(text: &[u8]) -> Result<Self, ClientsError> {
        let refused = |why: &str| {
            let message = format!("the network `{}` {why}", shown(text));
            Err(ClientsError::new(Kind::BadNetwork, message))
        };
        if text == b"unix" {
            return Ok(Self::Unix);
        }
        let (head, length) = match split_at_byte(text, b'/') {
            Some((head, length)) => (head, Some(length)),
            None => (text, None),
        };
        let address =
            if head.contains(&b':') { ipv6(head).map(IpAddr::V6) } else { ipv4(head).map(IpAddr::V4) };
        let Some(address) = address else {
            return refused("cannot be read: expected an address, ADDRESS/LENGTH or unix");
        };
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => whole,
            Some(digits) => match read_length(digits).filter(|length| *length <= whole) {
                Some(length) => length,
                None => {
                    let expected = format!("has no length: expected 0 to {whole} behind the `/`");
                    return refused(&expected);
                }
            },
        };
        let network = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(whole - length).unwrap_or(0);
                Self::V4 { address: address.to_bits(), mask }
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(whole - length).unwrap_or(0);
                Self::V6 { address: address.to_bits(), mask }
            }
        };
        match network {
            Self::V4 { address, mask } if address & !mask != 0 => {
                refused("has bits beyond its length: expected the network's first address")
            }
            Self::V6 { address, mask } if address & !mask != 0 => {
                refused("has bits beyond its length: expected the network's first address")
            }
            Self::V6 { address, .. } if Ipv6Addr::from_bits(address).to_ipv4_mapped().is_some() => {
                refused("would never match, its addresses are compared as IPv4: expected it as IPv4")
            }
            _ => Ok(network),
        }
    }

    fn contains(self, hop: Hop) -> bool {
        match (self, hop) {
            (Self::V4 { address, mask }, Hop::Address(IpAddr::V4(at))) => at.to_bits() & mask == address,
            (Self::V6 { address, mask }, Hop::Address(IpAddr::V6(at))) => at.to_bits() & mask == address,
            (Self::Unix, Hop::Unix) => true,
            _ => false,
        }
    }
}

/// A length without a sign or leading zeros.
fn read_length(digits: &[u8]) -> Option<u32> {
    let is_plain = match digits {
        [b'0', _, ..] | [] => false,
        _ => digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit),
    };
    is_plain.then(|| digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
}

/// As much of a text as an error shows.
fn shown(text: &[u8]) -> String {
    const MOST: usize = 64;
    let shown = text.get(..MOST).unwrap_or(text).escape_ascii();
    if text.len() > MOST { format!("{shown}...") } else { format!("{shown}") }
}
