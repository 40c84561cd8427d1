//! The errors of a policy.

use alloc::string::String;
use core::fmt;

/// The kind of a [`PolicyError`]. Each has a code in the published vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PolicyErrorKind {
    /// The text does not follow the grammar.
    Syntax,
    /// The limit (refill, leak) is 0.
    ZeroLimit,
    /// The period (window, interval) is 0.
    ZeroPeriod,
    /// The capacity (burst) is 0.
    ZeroCapacity,
    /// A required parameter of the algorithm is absent.
    MissingParameter,
    /// The offset of a fixed window is not below the window; or of a calendar the time, weekday or day does not exist, or
    /// is of another period.
    BadOffset,
    /// A number is outside its range, or the state does not fit one 64-bit word for the horizon.
    Range,
    /// The rate is too fine to be represented to within a thousandth of itself.
    Precision,
    /// No algorithm, or no variant of one, has this name.
    UnknownAlgorithm,
    /// No layer, more than eight, or a layer of layers.
    BadLayers,
    /// No time zone has this name.
    BadZone,
}

impl PolicyErrorKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Syntax,
        Self::ZeroLimit,
        Self::ZeroPeriod,
        Self::ZeroCapacity,
        Self::MissingParameter,
        Self::BadOffset,
        Self::Range,
        Self::Precision,
        Self::UnknownAlgorithm,
        Self::BadLayers,
        Self::BadZone,
    ];

    /// The stable name, as in the published vectors: `"zero_limit"`, `"range"`, …
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::ZeroLimit => "zero_limit",
            Self::ZeroPeriod => "zero_period",
            Self::ZeroCapacity => "zero_capacity",
            Self::MissingParameter => "bad_type",
            Self::BadOffset => "bad_offset",
            Self::Range => "range",
            Self::Precision => "precision",
            Self::UnknownAlgorithm => "unknown_algorithm",
            Self::BadLayers => "bad_layers",
            Self::BadZone => "bad_zone",
        }
    }
}

/// The reason why a policy was refused: a kind, a sentence, and, for text, the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    kind: PolicyErrorKind,
    message: String,
    param: Option<&'static str>,
    column: Option<usize>,
}

impl PolicyError {
    pub(crate) fn new(kind: PolicyErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), param: None, column: None }
    }

    /// The same error, about the parameter of that name.
    pub fn about(self, param: &'static str) -> Self {
        Self { param: Some(param), ..self }
    }

    /// The name of the wrong parameter, if the error is about one.
    pub fn param(&self) -> Option<&'static str> {
        self.param
    }

    /// The same error at this byte offset in the policy's text, unless it has a place already.
    pub fn at(mut self, offset: usize) -> Self {
        self.column.get_or_insert(offset + 1);
        self
    }

    /// The same error where there is no text.
    pub(crate) fn without_place(self) -> Self {
        Self { column: None, ..self }
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> PolicyErrorKind {
        self.kind
    }

    /// The place in the policy's text, as a column counted in bytes from 1; `None` if the policy was not text.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.column
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(f, "{} at column {column}: {}", self.kind.code(), self.message),
            None => write!(f, "{}: {}", self.kind.code(), self.message),
        }
    }
}

impl core::error::Error for PolicyError {}
