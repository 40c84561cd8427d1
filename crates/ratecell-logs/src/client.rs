//! The text of a client: as it is logged, and as the key by which it is limited.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use memchr::memchr;

use crate::text::{Text, is_digits, part, rsplit_once, some, split_once, trim_end, trim_start};

/// `1.2.3.4:5`, `[::1]:5` and `[::1]` without what is not the address.
pub(crate) fn without_port(text: Text<'_>) -> Text<'_> {
    if let Some(inner) = text.strip_prefix(b"[")
        && let Some((inner, port)) = split_once(inner, b']')
        && (port.is_empty() || port.strip_prefix(b":").is_some_and(is_digits))
    {
        return part(&text, 1..1 + inner.len());
    }
    match split_once(&text, b':') {
        Some((head, port)) if is_digits(port) => part(&text, 0..head.len()),
        _ => text,
    }
}

/// A host without its port; none where it is `-` or empty.
pub(crate) fn host(text: Text<'_>) -> Option<Text<'_>> {
    let end = match rsplit_once(&text, b':') {
        // More colons are those of an IPv6 address, which has a port only behind its bracket.
        Some((head, port))
            if (port.is_empty() || is_digits(port))
                && (head.ends_with(b"]") || memchr(b':', head).is_none()) =>
        {
            head.len()
        }
        _ => text.len(),
    };
    some(part(&text, 0..end))
}

/// The last address of a list such as X-Forwarded-For, the only one that the server itself saw.
pub(crate) fn last_hop(list: Option<Text<'_>>) -> Option<Text<'_>> {
    let list = list?;
    let last = rsplit_once(&list, b',').map_or(&*list, |(_, last)| last);
    let last = trim_start(trim_end(last, b' '), b' ');
    let start = crate::text::offset_in(&list, last);
    some(without_port(part(&list, start..start + last.len())))
}

/// What can only be an address, perhaps with a port or in brackets; not whether it is a valid one.
pub(crate) fn is_like_address(text: &[u8]) -> bool {
    is_like_v4(text) || is_like_v6(text)
}

fn is_like_v4(text: &[u8]) -> bool {
    let (mut dots, mut digits) = (0, 0);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' if digits < 3 => digits += 1,
            b'.' if digits > 0 && dots < 3 => (dots, digits) = (dots + 1, 0),
            b':' if digits > 0 && dots == 3 => return is_digits(&text[at + 1..]),
            _ => return false,
        }
    }
    digits > 0 && dots == 3
}

fn is_like_v6(text: &[u8]) -> bool {
    let hex = |text: &[u8]| {
        memchr(b':', text).is_some()
            && text.iter().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
    };
    if let Some(inner) = text.strip_prefix(b"[") {
        return split_once(inner, b']').is_some_and(|(address, port)| {
            hex(address) && (port.is_empty() || port.strip_prefix(b":").is_some_and(is_digits))
        });
    }
    let (address, scope) = split_once(text, b'%').unwrap_or((text, &[]));
    hex(address) && memchr(b' ', scope).is_none()
}

/// What can be the name of a client.
pub(crate) fn is_like_name(text: &[u8]) -> bool {
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    text == b"unix:" || (!text.is_empty() && text.iter().all(in_name))
}

/// Bits of an IPv6 address that are one client: sites have at least so many of their own.
const IPV6_NETWORK_BITS: u32 = 64;

/// The key of a client: of an IPv4 address, also one that is written as IPv6, its text; of an IPv6 address the
/// network of its first 64 bits; of anything else what is logged.
#[must_use]
pub fn client_key<'l>(logged: &Text<'l>) -> Text<'l> {
    // Without a colon it is IPv4, whose only text this is, or a name.
    if memchr(b':', logged).is_none() {
        return logged.clone();
    }
    match node(logged) {
        Some(address) => Cow::Owned(key_of(address).into_bytes()),
        None => logged.clone(),
    }
}

enum Address {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

/// An address that may have a port, and with it brackets if it is IPv6.
fn node(text: &[u8]) -> Option<Address> {
    if let Some(inner) = text.strip_prefix(b"[") {
        let (address, port) = split_once(inner, b']')?;
        let port_fits = port.is_empty() || port.strip_prefix(b":").is_some_and(is_port);
        return v6(address).filter(|_| port_fits);
    }
    match rsplit_once(text, b':') {
        Some((head, port)) if memchr(b':', head).is_none() => {
            let address = std::str::from_utf8(head).ok()?.parse().ok()?;
            is_port(port).then_some(Address::V4(address))
        }
        _ => v6(text),
    }
}

fn is_port(text: &[u8]) -> bool {
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match text {
        [b'_', name @ ..] => (1..=63).contains(&name.len()) && name.iter().all(in_name),
        digits => digits.len() <= 5 && is_digits(digits),
    }
}

/// An IPv6 address, which may have a zone; where it is IPv4 in another text, that.
fn v6(text: &[u8]) -> Option<Address> {
    let (address, zone) =
        split_once(text, b'%').map_or((text, None), |(address, zone)| (address, Some(zone)));
    let in_zone = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'~' | b'-');
    if zone.is_some_and(|zone| !(1..=63).contains(&zone.len()) || !zone.iter().all(in_zone)) {
        return None;
    }
    let address: Ipv6Addr = std::str::from_utf8(address).ok()?.parse().ok()?;
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0xFFFF, high, low] | [0x64, 0xFF9B, 0, 0, 0, 0, high, low] => {
            Address::V4((u32::from(high) << 16 | u32::from(low)).into())
        }
        _ => Address::V6(address),
    })
}

fn key_of(address: Address) -> String {
    match address {
        Address::V4(address) => address.to_string(),
        Address::V6(address) => {
            let network = address.to_bits() & (u128::MAX << (128 - IPV6_NETWORK_BITS));
            format!("{}/{IPV6_NETWORK_BITS}", Ipv6Addr::from_bits(network))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_one_key_however_it_is_written() {
        for (logged, key) in [
            ("203.0.113.7", "203.0.113.7"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("::FFFF:cb00:7107", "203.0.113.7"),
            ("64:ff9b::203.0.113.7", "203.0.113.7"),
            ("203.0.113.7:80", "203.0.113.7"),
            ("2001:DB8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::5", "2001:db8:1:2::/64"),
            ("[2001:db8:1:2::5]:_x", "2001:db8:1:2::/64"),
            ("fe80::1%eth0", "fe80::/64"),
            ("::1", "::/64"),
            ("64:ff9b:1::1.2.3.4", "64:ff9b:1::/64"),
            // What is no address is a name.
            ("example.org", "example.org"),
            ("unix:", "unix:"),
            ("203.0.113.07", "203.0.113.07"),
            ("203.0.113.7:", "203.0.113.7:"),
            ("fe80::1%", "fe80::1%"),
            ("[1.2.3.4]", "[1.2.3.4]"),
            ("1::2::3", "1::2::3"),
        ] {
            assert_eq!(*client_key(&Cow::Borrowed(logged.as_bytes())), *key.as_bytes(), "{logged}");
        }
    }
}
