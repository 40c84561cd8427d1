//! The errors of a file of rules.

use std::fmt;

/// The kind of a [`RulesError`]. Each has a code in the published vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RulesErrorKind {
    /// The file is not TOML 1.0, or not UTF-8.
    Syntax,
    /// `ratecell_rules` is not 1.
    BadVersion,
    /// A required field is absent.
    MissingField,
    /// A field has no meaning where it stands.
    UnknownField,
    /// A value is not of the type that its field takes.
    WrongType,
    /// A word is none of those that its field takes.
    BadValue,
    /// A name or a group's name is malformed.
    BadName,
    /// Two rules have one name.
    DuplicateName,
    /// In `attributes`, a name is malformed, taken, or there twice.
    BadAttribute,
    /// An attribute is used that the file does not name.
    UnknownAttribute,
    /// A condition is an empty list, or a table that is no condition.
    BadMatch,
    /// A pattern is malformed, or could never hold.
    BadPattern,
    /// An address or a network is malformed, or could never hold.
    BadCidr,
    /// A key has a malformed reference, one reference twice, or more than eight parts.
    BadKey,
    /// The reference that a limit is chosen by is malformed.
    BadLimit,
    /// The reference of a cost is malformed, or a number is out of range.
    BadCost,
    /// A policy is refused; [`why`](RulesError::why) has the policy's own code.
    BadPolicy,
    /// The policies of a shared limit cannot count in one cell.
    MixedLimit,
    /// A skip has a field that it cannot have.
    NotInSkip,
    /// An earlier rule, named by [`why`](RulesError::why), leaves this one no request.
    Unreachable,
    /// The file has more than 65,536 rules.
    TooMany,
}

impl RulesErrorKind {
    /// The stable name, as in the published vectors: `"bad_pattern"`, `"unreachable"`, …
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::BadVersion => "bad_version",
            Self::MissingField => "missing_field",
            Self::UnknownField => "unknown_field",
            Self::WrongType => "wrong_type",
            Self::BadValue => "bad_value",
            Self::BadName => "bad_name",
            Self::DuplicateName => "duplicate_name",
            Self::BadAttribute => "bad_attribute",
            Self::UnknownAttribute => "unknown_attribute",
            Self::BadMatch => "bad_match",
            Self::BadPattern => "bad_pattern",
            Self::BadCidr => "bad_cidr",
            Self::BadKey => "bad_key",
            Self::BadLimit => "bad_limit",
            Self::BadCost => "bad_cost",
            Self::BadPolicy => "bad_policy",
            Self::MixedLimit => "mixed_limit",
            Self::NotInSkip => "not_in_skip",
            Self::Unreachable => "unreachable",
            Self::TooMany => "too_many",
        }
    }
}

/// The rule that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleLabel {
    /// By its name.
    Name(String),
    /// By its number in the file, counted from 1: it has no valid name.
    Number(usize),
}

impl fmt::Display for RuleLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "rule {name}"),
            Self::Number(number) => write!(f, "rule number {number}"),
        }
    }
}

/// The reason why a file of rules was refused: a kind, the place, and a sentence that names what was wrong and what was
/// expected.
///
/// `Display` prints all of it on one line, without the file's name, which the caller knows:
///
/// ```
/// let error = ratecell_rules::Rules::parse("ratecell_rules = 1\n[[rule]]\nname = \"api\"\nkey = []\nlimit = \"0/s\"\n");
/// let error = error.unwrap_err();
/// assert_eq!((error.code(), error.line(), error.field()), ("bad_policy", Some(5), Some("limit")));
/// assert!(error.to_string().starts_with("line 5: rule api, limit: bad_policy: `0/s`: zero_limit "), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesError {
    pub(crate) kind: RulesErrorKind,
    pub(crate) rule: Option<RuleLabel>,
    pub(crate) field: Option<String>,
    pub(crate) why: Option<String>,
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
}

impl RulesError {
    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> RulesErrorKind {
        self.kind
    }

    /// The [code](RulesErrorKind::code) of its kind.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// The rule that it is about; `None` if it is about the file.
    #[must_use]
    pub fn rule(&self) -> Option<&RuleLabel> {
        self.rule.as_ref()
    }

    /// The field that it is about, such as `match.path` or `limit.of.pro`; `None` if the file is no TOML.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// For a refused policy, the policy's own error code; for an unreachable rule, the name of the rule that covers it.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// The line in the file, counted from 1, on which the wrong value stands; in a file that is not UTF-8, that of the first
    /// byte which is not. `None` if the file is no TOML and its reader names no place.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// All that `Display` prints but the line: for a program that prints `FILE:LINE: ` before it.
    pub fn without_line(&self) -> impl fmt::Display {
        Sentence(self)
    }

    /// What was wrong and what was expected, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        Sentence(self).fmt(f)
    }
}

struct Sentence<'e>(&'e RulesError);

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        match (&error.rule, &error.field) {
            (Some(rule), Some(field)) => write!(f, "{rule}, {field}: ")?,
            (Some(rule), None) => write!(f, "{rule}: ")?,
            (None, Some(field)) => write!(f, "{field}: ")?,
            (None, None) => {}
        }
        write!(f, "{}: {}", error.code(), error.message)
    }
}

impl std::error::Error for RulesError {}
