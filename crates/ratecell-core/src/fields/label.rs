//! A policy's name, unit and partition in fields: checked once, when it is made.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// The longest name, and the longest partition, in bytes.
const MAX_LENGTH: usize = 256;

/// The unit that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Unit {
    /// Requests: the unit of fields that name none.
    #[default]
    Requests,
    /// Bytes of content.
    ContentBytes,
    /// Requests that are under way at the same time.
    ConcurrentRequests,
}

impl Unit {
    /// Every unit there is.
    pub const ALL: [Self; 3] = [Self::Requests, Self::ContentBytes, Self::ConcurrentRequests];

    /// As it is written: `requests`, `content-bytes` or `concurrent-requests`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::ContentBytes => "content-bytes",
            Self::ConcurrentRequests => "concurrent-requests",
        }
    }
}

impl FromStr for Unit {
    type Err = LabelError;

    fn from_str(name: &str) -> Result<Self, LabelError> {
        Self::ALL.into_iter().find(|unit| unit.name() == name).ok_or_else(|| {
            let name = shown(name);
            let message =
                format!("the unit is `{name}`: expected requests, content-bytes or concurrent-requests");
            LabelError { kind: LabelErrorKind::BadUnit, message }
        })
    }
}

/// The name, the unit and the partition of a policy, as fields give them; by default none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Label<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) unit: Unit,
    pub(super) partition: Option<&'a [u8]>,
}

impl<'a> Label<'a> {
    /// Without a name, each layer is called by its text: `"100/s burst=200"`.
    #[must_use]
    pub const fn new() -> Self {
        Self { name: None, unit: Unit::Requests, partition: None }
    }

    /// Names the policy; of several layers, each `name-1`, `name-2` and so on.
    ///
    /// # Errors
    /// [`BadName`](LabelErrorKind::BadName) where it is not 1 to 256 characters of printable ASCII.
    pub fn named(self, name: &'a str) -> Result<Self, LabelError> {
        let is_printable = name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if !(1..=MAX_LENGTH).contains(&name.len()) || !is_printable {
            let name = shown(name);
            let message =
                format!("the name is `{name}`: expected 1 to {MAX_LENGTH} characters of printable ASCII");
            return Err(LabelError { kind: LabelErrorKind::BadName, message });
        }
        Ok(Self { name: Some(name), ..self })
    }

    /// Gives the unit that is counted.
    #[must_use]
    pub const fn unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    /// Gives the partition of the clients that the limit is for. Every client that asks reads it: it must
    /// hold no address, nor a hash of one without a key.
    ///
    /// # Errors
    /// [`BadPartition`](LabelErrorKind::BadPartition) where it has more than 256 bytes.
    pub fn partition(self, partition: &'a [u8]) -> Result<Self, LabelError> {
        if partition.len() > MAX_LENGTH {
            let message =
                format!("the partition has {} bytes: expected at most {MAX_LENGTH}", partition.len());
            return Err(LabelError { kind: LabelErrorKind::BadPartition, message });
        }
        Ok(Self { partition: Some(partition), ..self })
    }
}

/// As much of a text as an error shows.
fn shown(text: &str) -> String {
    const MOST: usize = 64;
    let mut shown: String = text.escape_debug().take(MOST).collect();
    if text.chars().count() > MOST {
        shown.push_str("...");
    }
    shown
}

/// The ways in which a label can be refused, each with the code it has in the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LabelErrorKind {
    /// The name is empty, too long or not printable ASCII.
    BadName,
    /// No unit has this name.
    BadUnit,
    /// The partition is too long.
    BadPartition,
}

impl LabelErrorKind {
    /// The stable name, as in the published vectors: `"bad_name"`, `"bad_unit"` or `"bad_partition"`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::BadName => "bad_name",
            Self::BadUnit => "bad_unit",
            Self::BadPartition => "bad_partition",
        }
    }
}

/// Why a label was refused: a code, and a sentence that names what was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelError {
    kind: LabelErrorKind,
    message: String,
}

impl LabelError {
    /// Which of the ways it was.
    #[must_use]
    pub fn kind(&self) -> LabelErrorKind {
        self.kind
    }
}

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.code(), self.message)
    }
}

impl core::error::Error for LabelError {}
