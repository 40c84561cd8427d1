//! What can be wrong with a policy. Nothing else in the crate is an `Err`.

use alloc::string::String;
use core::fmt;

/// The ways in which a policy can be refused, each with the code it has in the vectors.
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
    /// A parameter that the algorithm needs is absent.
    MissingParameter,
    /// The offset of a fixed window is not below the window.
    BadOffset,
    /// A number is outside its range, or the state does not fit one 64-bit word for the horizon.
    Range,
    /// The rate is too fine to be kept within a thousandth of itself.
    Precision,
    /// No algorithm, or no variant of one, has this name.
    UnknownAlgorithm,
    /// No layer, more than eight, or a layer of layers.
    BadLayers,
}

impl PolicyErrorKind {
    /// Every kind there is.
    pub const ALL: [Self; 10] = [
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
        }
    }
}

/// Why a policy was refused: a code, a sentence, and for text the place.
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

    /// The same error, of the parameter of that name.
    pub fn about(self, param: &'static str) -> Self {
        Self { param: Some(param), ..self }
    }

    /// The parameter that is wrong, if it is one.
    pub fn param(&self) -> Option<&'static str> {
        self.param
    }

    /// The same error, placed in the policy's text unless a closer place is known.
    pub fn at(mut self, offset: usize) -> Self {
        self.column.get_or_insert(offset + 1);
        self
    }

    /// Which of the ways it was.
    #[must_use]
    pub fn kind(&self) -> PolicyErrorKind {
        self.kind
    }

    /// Where in the policy's text, as a column counted in bytes from 1; `None` if it was not text.
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
