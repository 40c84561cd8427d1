//! Requests.

use core::fmt;

use memchr::memchr;
use smallvec::SmallVec;

/// The words of a request, in the bytes that were read.
pub(crate) type Arguments<'b> = SmallVec<[&'b [u8]; 8]>;

/// The longest line of words.
const MAX_LINE: usize = 1024;
/// The bytes of the longest number of the protocol, with the end of its line.
const MAX_NUMBER: usize = 21;

/// What a request has at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Words.
    arguments: usize,
    /// Bytes.
    pub(crate) bytes: usize,
}

impl Bounds {
    /// Of those who may do anything.
    pub(crate) const KNOWN: Self = Self { arguments: 1024, bytes: 16 * 1024 };
    /// Of those who have not given the password.
    pub(crate) const STRANGER: Self = Self { arguments: 10, bytes: 4 * 1024 };
}

/// Bytes that are no request. Nobody knows where the next one would begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtocolError {
    Count,
    Length,
    Dollar(u8),
    End,
    Line,
    Quote,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        match self {
            Self::Count => f.write_str("invalid multibulk length"),
            Self::Length => f.write_str("invalid bulk length"),
            Self::Dollar(byte) => write!(f, "expected '$', got '{}'", byte.escape_ascii()),
            Self::End => f.write_str("expected the end of a line behind a bulk string"),
            Self::Line => f.write_str("too big inline request"),
            Self::Quote => f.write_str("quotes in an inline request, expected an array of bulk strings"),
        }
    }
}

/// Reads the request with which `input` begins, and returns how many bytes it takes; `None` if it is not whole. A request
/// without words is nothing to answer.
pub(crate) fn parse<'b>(
    input: &'b [u8],
    bounds: &Bounds,
    arguments: &mut Arguments<'b>,
) -> Result<Option<usize>, ProtocolError> {
    arguments.clear();
    match input {
        [] => Ok(None),
        [b'*', rest @ ..] => array(input, rest, bounds, arguments),
        line => words(line, bounds, arguments),
    }
}

fn array<'b>(
    input: &'b [u8],
    mut rest: &'b [u8],
    bounds: &Bounds,
    arguments: &mut Arguments<'b>,
) -> Result<Option<usize>, ProtocolError> {
    let Some(count) = number(&mut rest).ok_or(ProtocolError::Count)? else { return Ok(None) };
    // An array of nothing, or none, is no request.
    let count = usize::try_from(count).unwrap_or(0);
    if count > bounds.arguments {
        return Err(ProtocolError::Count);
    }
    for _ in 0..count {
        match rest {
            [] => return Ok(None),
            [b'$', ..] => rest = &rest[1..],
            [byte, ..] => return Err(ProtocolError::Dollar(*byte)),
        }
        let Some(length) = number(&mut rest).ok_or(ProtocolError::Length)? else { return Ok(None) };
        let begun = input.len() - rest.len();
        let length =
            usize::try_from(length).ok().filter(|length| *length <= bounds.bytes.saturating_sub(begun));
        let length = length.ok_or(ProtocolError::Length)?;
        let Some((argument, behind)) = rest.split_at_checked(length) else { return Ok(None) };
        match behind {
            [b'\r', b'\n', ..] => rest = &behind[2..],
            [] | [b'\r'] => return Ok(None),
            _ => return Err(ProtocolError::End),
        }
        arguments.push(argument);
    }
    Ok(Some(input.len() - rest.len()))
}

/// A number and the end of its line, which are taken from `input`. `Some(None)` if they are not whole, and `None` if they
/// are none.
fn number(input: &mut &[u8]) -> Option<Option<i64>> {
    let (is_negative, from) = match input {
        [b'-', ..] => (true, 1),
        _ => (false, 0),
    };
    let mut value = 0_i64;
    for (at, byte) in input.iter().enumerate().skip(from) {
        match byte {
            b'0'..=b'9' if at < MAX_NUMBER => {
                value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
            }
            b'\r' if at > from => {
                return match input.get(at + 1) {
                    None => Some(None),
                    Some(b'\n') => {
                        *input = &input[at + 2..];
                        Some(Some(if is_negative { -value } else { value }))
                    }
                    Some(_) => None,
                };
            }
            _ => return None,
        }
    }
    Some(None)
}

fn words<'b>(
    input: &'b [u8],
    bounds: &Bounds,
    arguments: &mut Arguments<'b>,
) -> Result<Option<usize>, ProtocolError> {
    let seen = &input[..input.len().min(MAX_LINE)];
    let Some(end) = memchr(b'\n', seen) else {
        return if seen.len() < MAX_LINE { Ok(None) } else { Err(ProtocolError::Line) };
    };
    for word in input[..end].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        if word.contains(&b'"') || word.contains(&b'\'') {
            return Err(ProtocolError::Quote);
        }
        if arguments.len() == bounds.arguments {
            return Err(ProtocolError::Count);
        }
        arguments.push(word);
    }
    Ok(Some(end + 1))
}

#[cfg(test)]
mod tests;
