//! The elements of a list from the right, over all lines of its field, without allocation.

use core::iter::{Fuse, Peekable};
use core::ops::Range;

use super::{trimmed, trimmed_range};

/// The longest element, with the white space around it.
pub(super) const MAX_ELEMENT: usize = 256;

/// An element of a list.
pub(super) enum Element<'e> {
    /// Without the white space around it; may be empty.
    Text(&'e [u8]),
    /// Longer than [`MAX_ELEMENT`]; none follows.
    TooLong,
}

/// The elements, the last one first.
pub(super) struct Elements<I: Iterator<Item: AsRef<[u8]>>> {
    bytes: Peekable<JoinedBytes<I>>,
    /// Whether a comma in a quoted string separates nothing.
    is_quoted: bool,
    is_ended: bool,
    /// The element, at its end: a string may reach over several lines, so no line holds it whole.
    buffer: [u8; MAX_ELEMENT],
}

impl<V: AsRef<[u8]>, I: Iterator<Item = V>> Elements<I> {
    /// Of the field's lines, the last one first.
    pub(super) fn new(lines: I, is_quoted: bool) -> Self {
        let bytes = JoinedBytes { lines: lines.fuse(), line: None, left: 0..0 }.peekable();
        Self { bytes, is_quoted, is_ended: false, buffer: [0; MAX_ELEMENT] }
    }

    /// The next element to the left. Quotes are matched from the right: read from the left, one open quote of
    /// the client's would swallow what the proxies have added.
    pub(super) fn next(&mut self) -> Option<Element<'_>> {
        if self.is_ended {
            return None;
        }
        let mut start = MAX_ELEMENT;
        let mut is_inside = false;
        loop {
            let Some(byte) = self.bytes.next() else {
                self.is_ended = true;
                break;
            };
            if self.is_quoted && byte == b'"' {
                let is_escaped = is_inside && self.bytes.peek() == Some(&b'\\');
                is_inside ^= !is_escaped;
            } else if byte == b',' && !is_inside {
                break;
            }
            if start == 0 {
                self.is_ended = true;
                return Some(Element::TooLong);
            }
            start -= 1;
            self.buffer[start] = byte;
        }
        Some(Element::Text(trimmed(&self.buffer[start..])))
    }
}

/// The bytes of all lines from the right, as if the lines were joined by commas.
struct JoinedBytes<I: Iterator> {
    lines: Fuse<I>,
    /// The line that is being read.
    line: Option<I::Item>,
    /// Its bytes that are left, without the white space around it.
    left: Range<usize>,
}

impl<V: AsRef<[u8]>, I: Iterator<Item = V>> Iterator for JoinedBytes<I> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        loop {
            if let Some(at) = self.left.next_back() {
                return self.line.as_ref()?.as_ref().get(at).copied();
            }
            let line = self.lines.next()?;
            let is_joined = self.line.is_some();
            self.left = trimmed_range(line.as_ref());
            self.line = Some(line);
            if is_joined {
                return Some(b',');
            }
        }
    }
}
