//! Pieces of lines: words, quoted and bracketed text, and the escapes that servers write.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memrchr};

use crate::reason::Reason;

/// Bytes of a line, or bytes made of them where something was escaped.
pub type Text<'l> = Cow<'l, [u8]>;

/// `None` for what servers write where they have no value.
pub(crate) fn some(text: Text<'_>) -> Option<Text<'_>> {
    (!is_none(&text)).then_some(text)
}

pub(crate) fn is_none(text: &[u8]) -> bool {
    matches!(text, b"" | b"-")
}

/// What is before the first `byte` and what is after it.
pub(crate) fn split_once(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    memchr(byte, text).map(|at| (&text[..at], &text[at + 1..]))
}

/// What is before the last `byte` and what is after it.
pub(crate) fn rsplit_once(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    memrchr(byte, text).map(|at| (&text[..at], &text[at + 1..]))
}

pub(crate) fn trim_start(mut text: &[u8], byte: u8) -> &[u8] {
    while let [first, rest @ ..] = text
        && *first == byte
    {
        text = rest;
    }
    text
}

pub(crate) fn trim_end(mut text: &[u8], byte: u8) -> &[u8] {
    while let [rest @ .., last] = text
        && *last == byte
    {
        text = rest;
    }
    text
}

/// Without the spaces and tabs at its ends.
pub(crate) fn trim_blank(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

pub(crate) fn is_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// The same part of `whole`: borrowed from it where `whole` is borrowed.
pub(crate) fn part<'l>(whole: &Text<'l>, range: std::ops::Range<usize>) -> Text<'l> {
    match whole {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[range]),
        Cow::Owned(bytes) => Cow::Owned(bytes[range].to_vec()),
    }
}

/// Where `inner`, a part of `outer`, begins in it.
pub(crate) fn offset_in(outer: &[u8], inner: &[u8]) -> usize {
    inner.as_ptr() as usize - outer.as_ptr() as usize
}

/// Where a quoted text ends, and whether a backslash is in it; the opening quote is not part of `text`.
/// A backslash takes the next byte with it.
pub(crate) fn closing_quote(text: &[u8]) -> Option<(usize, bool)> {
    let mut from = 0;
    let mut escaped = false;
    loop {
        let at = from + memchr2(b'"', b'\\', text.get(from..)?)?;
        if text[at] == b'"' {
            return Some((at, escaped));
        }
        escaped = true;
        from = at + 2;
    }
}

/// The quoted text at the front of `text`, whose opening quote is taken off, and what follows it.
pub(crate) fn quoted(text: &[u8]) -> Option<(Text<'_>, &[u8])> {
    let (end, escaped) = closing_quote(text)?;
    let inside = &text[..end];
    Some((if escaped { unescape(inside) } else { Cow::Borrowed(inside) }, &text[end + 1..]))
}

/// Undoes what Apache and nginx escape; any other backslash stands for itself.
pub(crate) fn unescape(text: &[u8]) -> Text<'_> {
    let Some(first) = memchr(b'\\', text) else { return Cow::Borrowed(text) };
    let mut out = Vec::with_capacity(text.len());
    out.extend_from_slice(&text[..first]);
    let mut rest = &text[first..];
    while let Some((byte, after)) = rest.split_first() {
        let (byte, after) = match (byte, after) {
            (b'\\', [b'x', high, low, after @ ..]) if hex(*high, *low).is_some() => {
                (hex(*high, *low).unwrap_or_default(), after)
            }
            (b'\\', [escape, after @ ..]) => match named_escape(*escape) {
                Some(byte) => (byte, after),
                None => (b'\\', rest.get(1..).unwrap_or_default()),
            },
            (byte, after) => (*byte, after),
        };
        out.push(byte);
        rest = after;
    }
    Cow::Owned(out)
}

/// The byte that two hexadecimal digits stand for.
pub(crate) fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

fn named_escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 0x08,
        b'v' => 0x0B,
        b'f' => 0x0C,
        b'"' | b'\\' => byte,
        _ => return None,
    })
}

/// How a word is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Plain,
    Quoted,
    Bracketed,
}

/// A word, without its marks.
#[derive(Clone, Debug)]
pub(crate) struct Word<'l> {
    pub(crate) mark: Mark,
    pub(crate) text: Text<'l>,
}

impl<'l> Word<'l> {
    fn plain(text: &'l [u8]) -> (Self, &'l [u8]) {
        let end = memchr(b' ', text).unwrap_or(text.len());
        (Self { mark: Mark::Plain, text: Cow::Borrowed(&text[..end]) }, &text[end..])
    }
}

/// All words of `text`, separated by spaces.
///
/// # Errors
/// `quote` or `bracket` for what is not closed, `fields` for what follows a closing mark at once.
pub(crate) fn words(text: &[u8]) -> Result<Vec<Word<'_>>, Reason> {
    let mut words = Vec::new();
    let mut rest = trim_start(text, b' ');
    while let Some((first, after)) = rest.split_first() {
        let (word, after) = match first {
            b'"' => {
                let (text, after) = quoted(after).ok_or(Reason::Quote)?;
                (Word { mark: Mark::Quoted, text }, after)
            }
            // `[::1]:5` is a plain word.
            b'[' => match memchr(b']', after) {
                None => return Err(Reason::Bracket),
                Some(end) if matches!(after.get(end + 1), None | Some(b' ')) => {
                    (Word { mark: Mark::Bracketed, text: Cow::Borrowed(&after[..end]) }, &after[end + 1..])
                }
                Some(_) => Word::plain(rest),
            },
            _ => Word::plain(rest),
        };
        if !matches!(after.first(), None | Some(b' ')) {
            return Err(Reason::Fields);
        }
        words.push(word);
        rest = trim_start(after, b' ');
    }
    Ok(words)
}

/// The words of `text` without refusal: what is not closed runs to the end, and a closing mark ends its word.
#[derive(Debug)]
pub(crate) struct LooseWords<'l> {
    rest: &'l [u8],
}

impl<'l> LooseWords<'l> {
    pub(crate) fn of(text: &'l [u8]) -> Self {
        Self { rest: text }
    }
}

impl<'l> Iterator for LooseWords<'l> {
    type Item = Word<'l>;

    fn next(&mut self) -> Option<Word<'l>> {
        let rest = trim_start(self.rest, b' ');
        let (first, after) = rest.split_first()?;
        let (word, rest) = match first {
            b'"' => {
                let (text, rest) = quoted(after).unwrap_or_else(|| (unescape(after), &[]));
                (Word { mark: Mark::Quoted, text }, rest)
            }
            b'[' => {
                let (text, rest) = split_once(after, b']').unwrap_or((after, &[]));
                (Word { mark: Mark::Bracketed, text: Cow::Borrowed(text) }, rest)
            }
            _ => Word::plain(rest),
        };
        self.rest = rest;
        Some(word)
    }
}

/// Reads a text from its front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'l> {
    pub(crate) rest: &'l [u8],
}

impl<'l> Scan<'l> {
    pub(crate) fn of(text: &'l [u8]) -> Self {
        Self { rest: text }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes the next byte, if it is one of `bytes`.
    pub(crate) fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        bytes.contains(first).then(|| {
            self.rest = rest;
            *first
        })
    }

    pub(crate) fn literal(&mut self, literal: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(literal)?;
        Some(())
    }

    /// Takes at least one byte: all that `take`.
    pub(crate) fn some_of(&mut self, mut take: impl FnMut(u8) -> bool) -> Option<&'l [u8]> {
        let taken = self.any_of(&mut take);
        (!taken.is_empty()).then_some(taken)
    }

    /// Takes all bytes that `take`.
    pub(crate) fn any_of(&mut self, mut take: impl FnMut(u8) -> bool) -> &'l [u8] {
        let end = self.rest.iter().position(|byte| !take(*byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Takes a word that is not empty, and not the space that ends it.
    pub(crate) fn word(&mut self) -> Option<&'l [u8]> {
        let end = memchr(b' ', self.rest).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// Takes exactly `count` digits, at most nine.
    pub(crate) fn digits(&mut self, count: usize) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(count)?;
        let mut number = 0;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            number = number * 10 + u32::from(digit - b'0');
        }
        self.rest = rest;
        Some(number)
    }
}
