//! What an operation refuses: Java makes an exception of it.

use std::path::Path;

use ratecell::rules::{RuleLabel, RulesError};
use ratecell::{BuildError, PolicyError, RegionError};

use crate::message::Writer;

/// A reply's first byte: 0 is a success, the others are kinds of faults.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Kind {
    Argument = 1,
    Policy,
    Rules,
    File,
    Memory,
    System,
    Internal,
}

/// What was wrong, with what its exception has of its own.
pub(crate) struct Fault {
    kind: Kind,
    text: String,
    code: String,
    /// Of a policy's text, from 1; 0 for none.
    column: u32,
    /// Of a file of rules, from 1; 0 for none.
    line: u32,
    rule: String,
    field: String,
    path: String,
    /// Of the system; 0 for none.
    number: i32,
}

impl Fault {
    fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            code: String::new(),
            column: 0,
            line: 0,
            rule: String::new(),
            field: String::new(),
            path: String::new(),
            number: 0,
        }
    }

    /// An argument that no call can have.
    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(Kind::Argument, text)
    }

    /// A fault of the binding itself.
    #[cold]
    pub(crate) fn internal(text: impl Into<String>) -> Self {
        Self::new(Kind::Internal, text)
    }

    fn policy(text: String, code: &str, column: Option<usize>) -> Self {
        let column = column.and_then(|column| u32::try_from(column).ok()).unwrap_or(0);
        Self { code: code.to_owned(), column, ..Self::new(Kind::Policy, text) }
    }

    fn file(path: &Path, number: Option<i32>, reason: &str) -> Self {
        let path = path.display().to_string();
        Self { path, number: number.unwrap_or(0), ..Self::new(Kind::File, reason) }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self::file(path, error.raw_os_error(), &error.to_string())
    }

    /// Rules that are refused, with the name of their file if they have one.
    pub(crate) fn rules(path: Option<&Path>, error: &RulesError) -> Self {
        let text = match (path, error.line()) {
            (None, _) => error.to_string(),
            (Some(path), Some(line)) => format!("{}:{line}: {}", path.display(), error.without_line()),
            (Some(path), None) => format!("{}: {error}", path.display()),
        };
        let rule = match error.rule() {
            None => String::new(),
            Some(RuleLabel::Name(name)) => name.to_owned(),
            Some(RuleLabel::Number(number)) => number.to_string(),
        };
        Self {
            code: error.code().to_owned(),
            line: error.line().and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
            rule,
            field: error.field().map(ToString::to_string).unwrap_or_default(),
            ..Self::new(Kind::Rules, text)
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.byte(self.kind as u8);
        writer.text(&self.text);
        writer.text(&self.code);
        writer.u32(self.column);
        writer.u32(self.line);
        writer.text(&self.rule);
        writer.text(&self.field);
        writer.text(&self.path);
        writer.u32(self.number.cast_unsigned());
    }
}

impl From<PolicyError> for Fault {
    fn from(error: PolicyError) -> Self {
        Self::policy(error.to_string(), error.kind().code(), error.column())
    }
}

impl From<BuildError> for Fault {
    fn from(error: BuildError) -> Self {
        let text = error.to_string();
        match error {
            BuildError::Policy(error) => error.into(),
            BuildError::Change(error) => Self::policy(text, error.code(), None),
            BuildError::InRule { error, .. } => match *error {
                BuildError::Policy(error) => Self::policy(text, error.kind().code(), None),
                BuildError::Change(error) => Self::policy(text, error.code(), None),
                BuildError::Memory(_) => Self::new(Kind::Memory, text),
                _ => Self::argument(text),
            },
            BuildError::Memory(_) => Self::new(Kind::Memory, text),
            BuildError::NoRandomness { .. } | BuildError::Processor => Self::new(Kind::System, text),
            BuildError::File { path, error: RegionError::Io { errno, reason, .. }, .. } => {
                Self::file(&path, errno, &reason)
            }
            _ => Self::argument(text),
        }
    }
}
