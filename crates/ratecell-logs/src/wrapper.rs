//! What transports put around lines: syslog, Docker and CRI.

use std::borrow::Cow;

use crate::json::parse;
use crate::reason::{MAX_LINE_LEN, NoRecord, Reason, Skip};
use crate::text::{Scan, Text};

/// What stands around each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapper {
    None,
    Syslog,
    Docker,
    Cri,
}

impl Wrapper {
    /// In the order in which they are tried.
    pub(crate) const ALL: [Self; 4] = [Self::None, Self::Syslog, Self::Docker, Self::Cri];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Syslog => "syslog",
            Self::Docker => "docker",
            Self::Cri => "cri",
        }
    }

    /// The wrapper in front of a format's name, and that name.
    pub(crate) fn split_off(text: &str) -> (Self, &str) {
        let named = |wrapper: Self| Some((wrapper, text.strip_prefix(wrapper.name())?.strip_prefix('+')?));
        Self::ALL.into_iter().find_map(named).unwrap_or((Self::None, text))
    }
}

/// Takes a wrapper off, and joins the pieces of lines that it cut.
#[derive(Debug)]
pub(crate) struct Unwrapper {
    wrapper: Wrapper,
    /// What each stream has begun.
    begun: Vec<(Option<Vec<u8>>, Vec<u8>)>,
    joined: Vec<u8>,
    repaired: Vec<u8>,
}

/// A container has two streams. Of what claims to be more, the pieces that are oldest are dropped.
const MOST_STREAMS: usize = 8;

impl Unwrapper {
    pub(crate) fn new(wrapper: Wrapper) -> Self {
        Self { wrapper, begun: Vec::new(), joined: Vec::new(), repaired: Vec::new() }
    }

    /// The line inside.
    pub(crate) fn open<'l>(&'l mut self, text: &'l [u8]) -> Result<Text<'l>, NoRecord> {
        let piece = match self.wrapper {
            Wrapper::None => return Ok(Cow::Borrowed(text)),
            Wrapper::Syslog => return Ok(Cow::Borrowed(syslog(text).ok_or(Reason::Wrapper)?)),
            Wrapper::Docker => docker(text, &mut self.repaired)?,
            Wrapper::Cri => cri(text).ok_or(Reason::Wrapper)?,
        };
        let begun = self.begun.iter().position(|(stream, _)| stream.as_deref() == piece.stream.as_deref());
        if begun.is_none() && piece.is_last {
            return Ok(piece.text.strip_suffix(b"\r").map(<[u8]>::to_vec).map_or(piece.text, Cow::Owned));
        }
        let mut joined = begun.map(|place| self.begun.remove(place).1).unwrap_or_default();
        joined.extend_from_slice(&piece.text);
        if joined.len() > MAX_LINE_LEN {
            return Err(Reason::TooLong.into());
        }
        if !piece.is_last {
            if self.begun.len() == MOST_STREAMS {
                self.begun.remove(0);
            }
            self.begun.push((piece.stream.map(Cow::into_owned), joined));
            return Err(Skip::Part.into());
        }
        self.joined = joined;
        Ok(Cow::Borrowed(self.joined.strip_suffix(b"\r").unwrap_or(&self.joined)))
    }
}

/// A piece of a line of one stream.
struct Piece<'l> {
    stream: Option<Text<'l>>,
    text: Text<'l>,
    is_last: bool,
}

/// `{"log":"…\n","stream":"stdout"}`.
fn docker<'l>(text: &'l [u8], repaired: &'l mut Vec<u8>) -> Result<Piece<'l>, Reason> {
    let object = parse(text, repaired)?;
    let log = object.get(b"log").and_then(|log| log.string()).ok_or(Reason::Wrapper)?;
    let is_last = log.ends_with(b"\n");
    let len = log.len() - usize::from(is_last);
    let text = match log {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..len]),
        Cow::Owned(mut text) => {
            text.truncate(len);
            Cow::Owned(text)
        }
    };
    Ok(Piece { stream: object.scalar(b"stream"), text, is_last })
}

/// `time stdout F line`.
fn cri(text: &[u8]) -> Option<Piece<'_>> {
    let scan = &mut Scan::of(text);
    iso_stamp(scan)?;
    scan.literal(b" ")?;
    let stream = scan.word().filter(|stream| matches!(*stream, b"stdout" | b"stderr"))?;
    scan.literal(b" ")?;
    let is_last = scan.one_of(b"PF")? == b'F';
    if scan.literal(b":").is_some() {
        scan.any_of(|byte| byte.is_ascii_uppercase() || byte == b':');
    }
    scan.literal(b" ")?;
    Some(Piece { stream: Some(Cow::Borrowed(stream)), text: Cow::Borrowed(scan.rest), is_last })
}

/// `2026-03-27T13:06:56.5Z`, of which nothing is used.
fn iso_stamp(scan: &mut Scan<'_>) -> Option<()> {
    scan.digits(4)?;
    scan.literal(b"-")?;
    scan.digits(2)?;
    scan.literal(b"-")?;
    scan.digits(2)?;
    scan.literal(b"T")?;
    scan.some_of(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'))?;
    if scan.literal(b"Z").is_none() {
        scan.one_of(b"+-")?;
        scan.digits(2)?;
        scan.literal(b":")?;
        scan.digits(2)?;
    }
    Some(())
}

/// What follows the header of RFC 5424, or of RFC 3164 with its own or an ISO stamp.
fn syslog(text: &[u8]) -> Option<&[u8]> {
    let scan = &mut Scan::of(text);
    if scan.literal(b"<").is_some() {
        scan.some_of(|byte| byte.is_ascii_digit()).filter(|priority| priority.len() <= 3)?;
        scan.literal(b">")?;
    }
    let mut modern = *scan;
    if modern_header(&mut modern).is_some() {
        return Some(modern.rest);
    }
    let mut stamp = *scan;
    if traditional_stamp(&mut stamp).is_some() {
        *scan = stamp;
    } else {
        iso_stamp(scan)?;
    }
    scan.literal(b" ")?;
    scan.word()?;
    scan.literal(b" ")?;
    scan.some_of(|byte| !matches!(byte, b' ' | b':' | b'['))?;
    if scan.literal(b"[").is_some() {
        scan.some_of(|byte| byte.is_ascii_digit())?;
        scan.literal(b"]")?;
    }
    scan.literal(b":")?;
    scan.literal(b" ");
    Some(scan.rest)
}

/// `Mar 27 13:06:56`.
fn traditional_stamp(scan: &mut Scan<'_>) -> Option<()> {
    let [b'A'..=b'Z', b'a'..=b'z', b'a'..=b'z', b' ', b' ' | b'0'..=b'9', b'0'..=b'9', b' ', rest @ ..] =
        scan.rest
    else {
        return None;
    };
    scan.rest = rest;
    scan.digits(2)?;
    scan.literal(b":")?;
    scan.digits(2)?;
    scan.literal(b":")?;
    scan.digits(2)?;
    Some(())
}

/// RFC 5424: the version, five words, and structured data.
fn modern_header(scan: &mut Scan<'_>) -> Option<()> {
    scan.literal(b"1 ")?;
    for _ in 0..5 {
        scan.word()?;
        scan.literal(b" ")?;
    }
    if scan.literal(b"-").is_none() {
        structured_data(scan)?;
        while scan.rest.starts_with(b"[") {
            structured_data(scan)?;
        }
    }
    scan.literal(b" ")?;
    scan.literal("\u{feff}".as_bytes());
    Some(())
}

/// `[id name="value"]`.
fn structured_data(scan: &mut Scan<'_>) -> Option<()> {
    scan.literal(b"[")?;
    loop {
        scan.any_of(|byte| !matches!(byte, b']' | b'"'));
        if scan.literal(b"]").is_some() {
            return Some(());
        }
        scan.literal(b"\"")?;
        let (end, _) = crate::text::closing_quote(scan.rest)?;
        scan.rest = &scan.rest[end + 1..];
    }
}
