//! Addresses as peers and proxies write them. Any text outside the grammar is malformed; nothing is repaired.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str;

/// The longest node: `[`, an IPv6 address of 45, `%` and a zone of 63, `]:`, `_` and a port's name of 63.
const MAX_NODE: usize = 176;

/// An address that may have a port; an IPv6 address may, and with a port must, stand in brackets.
pub(super) fn node(text: &[u8]) -> Option<IpAddr> {
    if text.len() > MAX_NODE {
        return None;
    }
    if let Some(bracketed) = text.strip_prefix(b"[") {
        let (inner, rest) = split_at_byte(bracketed, b']')?;
        let is_ended = rest.is_empty() || rest.strip_prefix(b":").is_some_and(is_port);
        return (inner.contains(&b':') && is_ended).then(|| address(inner))?;
    }
    match split_at_byte(text, b':') {
        Some((host, tail)) if !tail.contains(&b':') => is_port(tail).then(|| ipv4(host).map(IpAddr::V4))?,
        _ => address(text),
    }
}

/// An address alone; a zone is dropped. IPv4-mapped IPv6 is IPv4.
fn address(text: &[u8]) -> Option<IpAddr> {
    if !text.contains(&b':') {
        return ipv4(text).map(IpAddr::V4);
    }
    let text = match split_at_byte(text, b'%') {
        Some((text, zone)) => is_zone(zone).then_some(text)?,
        None => text,
    };
    ipv6(text).map(|address| IpAddr::V6(address).to_canonical())
}

/// Four decimals without leading zeros: the standard library reads exactly these.
pub(super) fn ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// RFC 4291, section 2.2, without a zone: the standard library reads exactly these.
pub(super) fn ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// The text before and behind the first such byte.
pub(super) fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|found| *found == byte)?;
    Some((&text[..at], &text[at + 1..]))
}

fn is_zone(text: &[u8]) -> bool {
    (1..=63).contains(&text.len())
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(byte))
}

fn is_port(text: &[u8]) -> bool {
    match text.strip_prefix(b"_") {
        Some(name) => {
            (1..=63).contains(&name.len())
                && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
        }
        None => (1..=5).contains(&text.len()) && text.iter().all(u8::is_ascii_digit),
    }
}
