//! The text of a client: as it is logged, and as the key by which it is limited.

use std::borrow::Cow;

use memchr::memchr;
use ratecell_core::client_key::{ClientKey, Width};

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

/// The key of a client: of an address that of [`ClientKey`], of anything else what is logged.
#[must_use]
pub fn client_key<'l>(logged: &Text<'l>) -> Text<'l> {
    // Without a colon it is IPv4, whose only text this is, or a name.
    if memchr(b':', logged).is_none() {
        return logged.clone();
    }
    match ClientKey::of_address(logged, Width::default()) {
        Some(key) => Cow::Owned(key.as_bytes().to_vec()),
        None => logged.clone(),
    }
}
