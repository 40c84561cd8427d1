//! Why a line is no record.

use std::fmt;

/// A line is dropped from this length on, in bytes.
pub const MAX_LINE_LEN: usize = 1 << 20;

/// Why a line that is no fault is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// Nothing but spaces and tabs.
    Blank,
    /// It begins with `#`.
    Comment,
    /// A piece of a line that a container runtime cut.
    Part,
    /// A line of the same log that is no request.
    Other,
}

impl Skip {
    /// The reason as one word.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::Comment => "comment",
            Self::Part => "part",
            Self::Other => "other",
        }
    }
}

/// Why a line is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The line is longer than [`MAX_LINE_LEN`].
    TooLong,
    /// The wrapper around the line is not the expected one.
    Wrapper,
    /// No time.
    NoTime,
    /// A time that is impossible or in no known form.
    BadTime,
    /// A time without an offset, and no zone was given.
    NoZone,
    /// No `client ident user` before the time.
    Who,
    /// A bracket is not closed.
    Bracket,
    /// A quote is not closed.
    Quote,
    /// The request is not there, or is not closed.
    Request,
    /// The status is no number of three digits.
    Status,
    /// The bytes are no number.
    Bytes,
    /// Other fields than the format has.
    Fields,
    /// No `#Fields:` before the line.
    NoFields,
    /// Not a JSON object.
    Json,
    /// A JSON object with a time that says nothing of a request.
    NoRequest,
    /// The line does not fit the format string.
    Literal,
}

impl Reason {
    /// The reason as one word.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.words().0
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::TooLong => ("too_long", "the line is longer than 1 MiB"),
            Self::Wrapper => ("wrapper", "the wrapper around the line is another or none"),
            Self::NoTime => ("no_time", "no time"),
            Self::BadTime => ("bad_time", "the time is impossible or in no known form"),
            Self::NoZone => ("no_zone", "the time has no offset from UTC"),
            Self::Who => ("who", "expected `client ident user` before the [time]"),
            Self::Bracket => ("bracket", "a bracket is not closed"),
            Self::Quote => ("quote", "a quote is not closed"),
            Self::Request => ("request", "the \"request\" is not there or not closed"),
            Self::Status => ("status", "the status is no number of three digits"),
            Self::Bytes => ("bytes", "the bytes are no number"),
            Self::Fields => ("fields", "other fields than the format has"),
            Self::NoFields => ("no_fields", "no #Fields: before the line"),
            Self::Json => ("json", "not a JSON object"),
            Self::NoRequest => ("no_request", "nothing in it is of a request"),
            Self::Literal => ("literal", "the line does not fit the format string"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, words) = self.words();
        write!(f, "{code}: {words}")
    }
}

/// Why a format made no record of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRecord {
    Skipped(Skip),
    Malformed(Reason),
}

impl From<Reason> for NoRecord {
    fn from(reason: Reason) -> Self {
        Self::Malformed(reason)
    }
}

impl From<Skip> for NoRecord {
    fn from(skip: Skip) -> Self {
        Self::Skipped(skip)
    }
}
