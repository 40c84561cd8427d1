//! The words of a policy's text: where each stands, and the numbers and durations among them.

use super::params::Key;
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use alloc::string::String;

mod advice;
mod civil;
mod duration;
mod number;

pub(crate) use advice::number as number_meant;
pub(crate) use civil::{day, time, weekday, zone, zone_named};
pub(crate) use duration::Duration;
#[cfg(test)]
pub(crate) use duration::UNITS;
pub use duration::{WholeUnits, whole_units};
pub(crate) use number::{Decimal, whole};

/// What stands between layers and between options, for errors at a comma, a semicolon or a bar.
pub(crate) const SEPARATORS: &str = "expected & between layers, and white space before an option";

/// A word and where it begins, in bytes of the policy's text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) offset: usize,
}

impl Word<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it begins as an option does.
    pub(crate) fn is_option(&self) -> bool {
        self.text.split_once('=').is_some_and(|(name, _)| Key::ALL.iter().any(|key| key.name() == name))
    }

    /// Whether an option begins in it, or does where white space is missing.
    pub(crate) fn has_option(&self) -> bool {
        self.text
            .split_once('=')
            .is_some_and(|(name, _)| Key::ALL.iter().any(|key| name.ends_with(key.name())))
    }

    /// Whether more is written in it than one value, behind a comma, a semicolon or a bar.
    pub(crate) fn is_list(&self) -> bool {
        let Self { text, .. } = *self;
        text.contains([';', '|']) || text.ends_with(',') || (text.contains(',') && text.contains(['=', '/']))
    }

    /// Refuses the word; the message names it.
    pub(crate) fn refused(&self, message: String) -> PolicyError {
        self.error(Kind::Syntax, message)
    }

    pub(crate) fn error(&self, kind: Kind, message: String) -> PolicyError {
        PolicyError::new(kind, message).at(self.offset)
    }
}

/// What is still to be read of a layer.
#[derive(Clone, Debug)]
pub(crate) struct Words<'a> {
    rest: &'a str,
    /// Where `rest` begins.
    offset: usize,
}

impl<'a> Words<'a> {
    /// The words of `layer`, which begins at `offset`.
    pub(crate) fn new(layer: &'a str, offset: usize) -> Self {
        Self { rest: layer.trim_ascii_end(), offset }
    }

    /// The next word; at the end an empty one that stands there.
    pub(crate) fn next(&mut self) -> Word<'a> {
        self.take(|_| false)
    }

    /// The same; it ends before a slash as well, and is empty where one comes next.
    pub(crate) fn next_before_slash(&mut self) -> Word<'a> {
        self.take(|byte| byte == b'/')
    }

    /// Reads a slash, if one comes next.
    pub(crate) fn slash(&mut self) -> bool {
        let found = self.peek().text.starts_with('/');
        if found {
            self.skip_white_space();
            self.split(1);
        }
        found
    }

    /// What `next` will read.
    pub(crate) fn peek(&self) -> Word<'a> {
        self.clone().next()
    }

    fn take(&mut self, is_end: impl Fn(u8) -> bool) -> Word<'a> {
        self.skip_white_space();
        let end = self.rest.bytes().position(|byte| byte.is_ascii_whitespace() || is_end(byte));
        self.split(end.unwrap_or(self.rest.len()))
    }

    fn skip_white_space(&mut self) {
        self.split(self.rest.len() - self.rest.trim_ascii_start().len());
    }

    /// Takes as many bytes, of which the last ends a character.
    fn split(&mut self, bytes: usize) -> Word<'a> {
        let (text, rest) = self.rest.split_at(bytes);
        let word = Word { text, offset: self.offset };
        self.rest = rest;
        self.offset += bytes;
        word
    }
}
