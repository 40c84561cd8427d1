//! Clients: the networks of conditions, and the text of a client in a key.

use std::fmt::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The first 96 bits of networks whose addresses are IPv4: `::ffff:0:0/96`, and `64:ff9b::/96` of RFC 6052.
const AS_IPV4: [u128; 2] = [0xffff, 0x0064_ff9b << 64];

/// A network; an address alone is one of its full length. Bits beyond the length may be set in a client's, not in a
/// condition's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Network {
    pub(crate) is_v6: bool,
    /// The address in the low 32 or 128 bits.
    pub(crate) bits: u128,
    pub(crate) length: u8,
}

/// Why a condition's text is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Unreadable,
    BitsBeyond,
    IsIpv4,
}

impl Network {
    /// `ADDRESS` or `ADDRESS/LENGTH`, without a zone, a port or leading zeros; `None` of anything else.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let (is_v6, bits) = match address.parse().ok()? {
            IpAddr::V4(v4) => (false, u128::from(v4.to_bits())),
            IpAddr::V6(v6) => (true, v6.to_bits()),
        };
        let whole = width(is_v6);
        let length = match length.map(str::as_bytes) {
            None => whole,
            Some([b'0', _, ..] | []) => return None,
            Some(digits) if digits.iter().all(u8::is_ascii_digit) => {
                str::from_utf8(digits).ok()?.parse().ok().filter(|length| *length <= whole)?
            }
            Some(_) => return None,
        };
        if is_v6 && length >= 96 && AS_IPV4.contains(&(bits >> 32)) {
            return Some(Self { is_v6: false, bits: bits & u128::from(u32::MAX), length: length - 96 });
        }
        Some(Self { is_v6, bits, length })
    }

    /// The network of a condition.
    pub(crate) fn of_condition(text: &str) -> Result<Self, Refused> {
        let network = Self::read(text.as_bytes()).ok_or(Refused::Unreadable)?;
        if text.contains(':') && !network.is_v6 {
            return Err(Refused::IsIpv4);
        }
        let first = network.shortened(network.length);
        if first == network { Ok(network) } else { Err(Refused::BitsBeyond) }
    }

    /// Its first `length` bits, or all if it has fewer; the others are zero.
    pub(crate) fn shortened(self, length: u8) -> Self {
        let length = self.length.min(length);
        let dropped = u32::from(width(self.is_v6) - length);
        let mask = u128::MAX.checked_shl(dropped).unwrap_or(0);
        Self { bits: self.bits & mask, length, ..self }
    }

    /// Whether all its addresses are in `other`, which has no bits beyond its length.
    #[inline]
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.is_v6 == other.is_v6
            && self.length >= other.length
            && self.shortened(other.length).bits == other.bits
    }
}

/// The bits of an address.
fn width(is_v6: bool) -> u8 {
    if is_v6 { 128 } else { 32 }
}

/// How many bits of an address are the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Widths {
    pub(crate) v4: u8,
    pub(crate) v6: u8,
}

impl Default for Widths {
    fn default() -> Self {
        Self { v4: 32, v6: 64 }
    }
}

/// The longest text: an IPv6 address of 39 characters, and `/127`.
const MAX_TEXT: usize = 43;

/// A client's network as text, kept in place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientText {
    text: [u8; MAX_TEXT],
    length: u8,
}

impl ClientText {
    /// The network of a client as a key of these widths has it.
    pub(crate) fn of(client: Network, widths: Widths) -> Self {
        let network = client.shortened(if client.is_v6 { widths.v6 } else { widths.v4 });
        let mut text = Self { text: [0; MAX_TEXT], length: 0 };
        let written = text.write(network);
        debug_assert_eq!(written, Ok(()), "a network fits");
        text
    }

    fn write(&mut self, Network { is_v6, bits, length }: Network) -> fmt::Result {
        match u32::try_from(bits) {
            Ok(bits) if !is_v6 => write!(self, "{}", Ipv4Addr::from_bits(bits))?,
            _ => write!(self, "{}", Ipv6Addr::from_bits(bits))?,
        }
        if length < width(is_v6) { write!(self, "/{length}") } else { Ok(()) }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.text.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl fmt::Write for ClientText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = usize::from(self.length);
        let end = start + text.len();
        self.text.get_mut(start..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = u8::try_from(end).map_err(|_| fmt::Error)?;
        Ok(())
    }
}
