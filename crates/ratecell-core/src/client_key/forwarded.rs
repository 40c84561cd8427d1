//! One element of Forwarded, RFC 7239.

use core::net::IpAddr;

use super::address::node;
use super::elements::MAX_ELEMENT;
use super::{is_blank, is_token_byte};

/// The most pairs that an element can hold: three bytes each, and a `;` between two.
const MAX_PAIRS: usize = (MAX_ELEMENT + 1) / 4;

/// The address that `for` gives; `None` where the element is malformed or its client is hidden or unknown.
pub(super) fn forwarded_for(element: &[u8]) -> Option<IpAddr> {
    let mut names: [&[u8]; MAX_PAIRS] = [&[]; MAX_PAIRS];
    let mut pairs = 0;
    let mut client = None;
    let mut rest = element;
    loop {
        let (_, at_name) = split_while(rest, is_blank);
        let (name, after) = split_while(at_name, is_token_byte);
        rest = after;
        if !name.is_empty() {
            rest = rest.strip_prefix(b"=")?;
            if names[..pairs].iter().any(|earlier| earlier.eq_ignore_ascii_case(name)) {
                return None;
            }
            *names.get_mut(pairs)? = name;
            pairs += 1;
            let mut unquoted = [0; MAX_ELEMENT];
            let value = match rest.strip_prefix(b"\"") {
                Some(quoted) => {
                    let (length, after) = unquote(quoted, &mut unquoted)?;
                    rest = after;
                    &unquoted[..length]
                }
                None => {
                    let (value, after) = split_while(rest, is_bare_byte);
                    rest = after;
                    if value.is_empty() {
                        return None;
                    }
                    value
                }
            };
            if name.eq_ignore_ascii_case(b"for") {
                client = node(value);
            }
        }
        let (_, at_end) = split_while(rest, is_blank);
        rest = match at_end {
            [] => return client,
            [b';', after @ ..] => after,
            _ => return None,
        };
    }
}

/// A byte of a bare value: a token's bytes, and those of an address with a port.
fn is_bare_byte(byte: u8) -> bool {
    is_token_byte(byte) || b":[]".contains(&byte)
}

/// Reads a quoted string from behind its opening quote: the length of its value, and the text behind it.
fn unquote<'t>(text: &'t [u8], value: &mut [u8; MAX_ELEMENT]) -> Option<(usize, &'t [u8])> {
    let mut length = 0;
    let mut rest = text;
    loop {
        let (byte, after) = match rest {
            [b'"', after @ ..] => return Some((length, after)),
            [b'\\', byte, after @ ..] | [byte, after @ ..] => (*byte, after),
            [] => return None,
        };
        if !matches!(byte, b'\t' | b' '..=b'~' | 0x80..=0xff) {
            return None;
        }
        *value.get_mut(length)? = byte;
        length += 1;
        rest = after;
    }
}

fn split_while(text: &[u8], belongs: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let length = text.iter().position(|byte| !belongs(*byte)).unwrap_or(text.len());
    text.split_at(length)
}
