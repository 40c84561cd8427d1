//! The readings of a path: every way in which a server may take it.
//!
//! Bytes are decoded once. Empty segments go first, then dot segments are resolved, so a reading is the list of its
//! segments, none of which is empty or has a `/`: two readings are the same if and only if their texts are.

use std::ops::Range;

use crate::buffer::{bytes_of, give_back};

/// The readings of one path, in buffers that are used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readings {
    /// `/`, and the segments joined by `/`, of each reading.
    text: Vec<u8>,
    /// The places of the segments in `text`.
    segments: Vec<Range<usize>>,
    ways: Vec<Way>,
    decoded: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Way {
    text: Range<usize>,
    segments: Range<usize>,
}

/// One way to read a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'r> {
    all: &'r [u8],
    text: &'r [u8],
    segments: &'r [Range<usize>],
}

impl<'r> Reading<'r> {
    pub(crate) fn text(&self) -> &'r [u8] {
        self.text
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// The segment of that number, counted from 0.
    #[inline]
    pub(crate) fn segment(&self, number: usize) -> Option<&'r [u8]> {
        self.all.get(self.segments.get(number)?.clone())
    }

    pub(crate) fn segments(&self) -> impl ExactSizeIterator<Item = &'r [u8]> + use<'r> {
        let all = self.all;
        self.segments.iter().map(move |place| &all[place.clone()])
    }
}

/// Which triplets stay encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    None,
    Separators,
    /// The separators, and bytes that no client needs to encode.
    Needless,
}

impl Keep {
    fn keeps(self, byte: u8) -> bool {
        let is_separator = matches!(byte, b'/' | b'\\');
        match self {
            Self::None => false,
            Self::Separators => is_separator,
            Self::Needless => {
                is_separator || byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
            }
        }
    }
}

impl Readings {
    /// Reads `path`, of which what follows the first `?` or `#` does not count. With `ignore_case`, A-Z become a-z.
    pub(crate) fn read(&mut self, path: &[u8], ignore_case: bool) {
        self.text.clear();
        self.segments.clear();
        self.ways.clear();
        let end = path.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(path.len());
        let path = &path[..end];
        if !path.iter().any(|byte| matches!(byte, b'%' | b';' | b'\\')) {
            // All decoding leaves it as it is.
            self.decoded.clear();
            self.decoded.extend_from_slice(path);
            let has_dots = self.has_dots();
            self.push(has_dots, ignore_case);
            if has_dots {
                self.push(false, ignore_case);
            }
            return;
        }
        self.decode_folded(path);
        self.push(true, ignore_case);
        for keep in [Keep::Needless, Keep::Separators, Keep::None] {
            self.decoded.clear();
            decode(path, keep, &mut self.decoded);
            self.push(false, ignore_case);
            if self.has_dots() {
                self.push(true, ignore_case);
            }
        }
    }

    /// The different readings, at most seven. A path that was read has at least one.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Reading<'_>> {
        self.ways.iter().map(|way| Reading {
            all: &self.text,
            text: &self.text[way.text.clone()],
            segments: &self.segments[way.segments.clone()],
        })
    }

    /// Gives back the memory of each part that has more than `bytes`.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let Self { text, segments, ways, decoded } = self;
        give_back(text, bytes);
        give_back(segments, bytes);
        give_back(ways, bytes);
        give_back(decoded, bytes);
    }

    pub(crate) fn bytes(&self) -> usize {
        let Self { text, segments, ways, decoded } = self;
        bytes_of(text) + bytes_of(segments) + bytes_of(ways) + bytes_of(decoded)
    }

    /// Drops each `;` with what follows it up to the next `/`, decodes the rest, and takes `\` for `/`.
    fn decode_folded(&mut self, path: &[u8]) {
        self.decoded.clear();
        for (number, segment) in path.split(|byte| *byte == b'/').enumerate() {
            if number > 0 {
                self.decoded.push(b'/');
            }
            let plain = segment.split(|byte| *byte == b';').next().unwrap_or_default();
            decode(plain, Keep::None, &mut self.decoded);
        }
        for byte in &mut self.decoded {
            if *byte == b'\\' {
                *byte = b'/';
            }
        }
    }

    fn has_dots(&self) -> bool {
        // Most segments do not begin with a dot.
        self.decoded.contains(&b'.')
            && self.decoded.split(|byte| *byte == b'/').any(|segment| matches!(segment, b"." | b".."))
    }

    /// Appends the reading of what is decoded, unless there is an equal one.
    fn push(&mut self, resolve: bool, ignore_case: bool) {
        let (text_start, first) = (self.text.len(), self.segments.len());
        for segment in self.decoded.split(|byte| *byte == b'/') {
            match segment {
                b"" => {}
                b"." if resolve => {}
                b".." if resolve => {
                    if self.segments.len() > first {
                        let dropped = self.segments.pop();
                        self.text.truncate(dropped.map_or(text_start, |place| place.start - 1));
                    }
                }
                _ => {
                    self.text.push(b'/');
                    let start = self.text.len();
                    self.text.extend_from_slice(segment);
                    self.segments.push(start..self.text.len());
                }
            }
        }
        if self.segments.len() == first {
            self.text.push(b'/');
        }
        if ignore_case {
            self.text[text_start..].make_ascii_lowercase();
        }
        let text = text_start..self.text.len();
        if self.ways.iter().any(|way| self.text[way.text.clone()] == self.text[text.clone()]) {
            self.text.truncate(text_start);
            self.segments.truncate(first);
        } else {
            self.ways.push(Way { text, segments: first..self.segments.len() });
        }
    }
}

/// Decodes each `%XX` once, but for those that are kept, which stay in capitals. Any other `%` stands for itself.
fn decode(raw: &[u8], keep: Keep, out: &mut Vec<u8>) {
    let mut rest = raw;
    while let [byte, after @ ..] = rest {
        rest = after;
        if let (b'%', [high, low, behind @ ..]) = (byte, after)
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            let decoded = high << 4 | low;
            if keep.keeps(decoded) {
                out.extend([b'%', HEX[usize::from(high)], HEX[usize::from(low)]]);
            } else {
                out.push(decoded);
            }
            rest = behind;
        } else {
            out.push(*byte);
        }
    }
}

/// The digits of triplets.
pub(crate) const HEX: [u8; 16] = *b"0123456789ABCDEF";

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}
