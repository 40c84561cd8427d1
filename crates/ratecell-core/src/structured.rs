//! Structured fields, RFC 9651: the bare items in which limits are given.

use core::fmt::{self, Write as _};

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

/// A number of units as a structured integer, which has 15 digits; a larger one is written as the largest.
pub(crate) struct Integer(pub(crate) u64);

impl Integer {
    pub(crate) const MAX: u64 = 999_999_999_999_999;
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.min(Self::MAX))
    }
}

/// Bytes as a structured byte sequence.
pub(crate) struct ByteSequence<'b>(pub(crate) &'b [u8]);

impl fmt::Display for ByteSequence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}:", Base64Display::new(self.0, &STANDARD))
    }
}

/// Printable ASCII as a structured string.
pub(crate) struct QuotedString<T>(pub(crate) T);

impl<T: fmt::Display> fmt::Display for QuotedString<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        write!(Escaping(f), "{}", self.0)?;
        f.write_char('"')
    }
}

struct Escaping<'f, 'b>(&'f mut fmt::Formatter<'b>);

impl fmt::Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const ESCAPED: [char; 2] = ['"', '\\'];
        for part in text.split_inclusive(ESCAPED) {
            let before = part.strip_suffix(ESCAPED).unwrap_or(part);
            self.0.write_str(before)?;
            if let Some(character) = part.strip_prefix(before).filter(|rest| !rest.is_empty()) {
                self.0.write_char('\\')?;
                self.0.write_str(character)?;
            }
        }
        Ok(())
    }
}
