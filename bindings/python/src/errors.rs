//! What the core refuses, as Python's exceptions.

use std::path::Path;

use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use ratecell::rules::RuleLabel;
use ratecell::{BuildError, ChangeError, RegionError};

pyo3::create_exception!(
    ratecell,
    PolicyError,
    PyValueError,
    "A policy that is refused: a ValueError with `code`, the stable name of what is wrong with it, and `column`, \
     where in its text, counted in bytes from 1, or None."
);

pyo3::create_exception!(
    ratecell,
    RulesError,
    PyValueError,
    "A file of rules that is refused: a ValueError with `code`, the stable name of what is wrong with it; `line`, where \
     in the file, counted from 1, or None; `rule`, the name of the rule, its number where it has none, or None; and \
     `field`, or None."
);

/// How a file of rules was given.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a> {
    Text,
    /// As a text that may be the name of one.
    Name,
    Path(&'a Path),
}

pub(crate) fn of_rules(py: Python<'_>, given: Given<'_>, error: &ratecell::rules::RulesError) -> PyErr {
    let text = match (given, error.line()) {
        (Given::Text, _) => error.to_string(),
        (Given::Name, _) => {
            format!("{error}; this is the text of a file: expected path=... for a file's name")
        }
        (Given::Path(path), Some(line)) => format!("{}:{line}: {}", path.display(), error.without_line()),
        (Given::Path(path), None) => format!("{}: {error}", path.display()),
    };
    let exception = RulesError::new_err(text);
    let value = exception.value(py);
    let named = match error.rule() {
        None => value.setattr("rule", py.None()),
        Some(RuleLabel::Name(name)) => value.setattr("rule", name),
        Some(RuleLabel::Number(number)) => value.setattr("rule", number),
    };
    let described = named
        .and(value.setattr("code", error.code()))
        .and(value.setattr("line", error.line()))
        .and(value.setattr("field", error.field()));
    described.err().unwrap_or(exception)
}

pub(crate) fn of_policy(py: Python<'_>, error: &ratecell::PolicyError) -> PyErr {
    refused(py, error.to_string(), error.kind().code(), error.column())
}

/// A policy that cannot follow the one in force is no fault of its text.
fn of_change(py: Python<'_>, error: &ChangeError) -> PyErr {
    refused(py, error.to_string(), error.code(), None)
}

fn refused(py: Python<'_>, text: String, code: &str, column: Option<usize>) -> PyErr {
    let exception = PolicyError::new_err(text);
    let value = exception.value(py);
    let described = value.setattr("code", code).and(value.setattr("column", column));
    described.err().unwrap_or(exception)
}

pub(crate) fn of_build(py: Python<'_>, error: &BuildError) -> PyErr {
    let text = error.to_string();
    match error {
        BuildError::Policy(error) => of_policy(py, error),
        BuildError::Change(error) => of_change(py, error),
        BuildError::InRule { error, .. } => match &**error {
            BuildError::Policy(error) => refused(py, text, error.kind().code(), None),
            BuildError::Change(error) => refused(py, text, error.code(), None),
            BuildError::Memory(_) => PyMemoryError::new_err(text),
            _ => PyValueError::new_err(text),
        },
        BuildError::Memory(_) => PyMemoryError::new_err(text),
        BuildError::NoRandomness { .. } | BuildError::Processor => PyOSError::new_err(text),
        BuildError::File { path, error: RegionError::Io { errno, reason, .. }, .. } => {
            of_file(path, *errno, reason)
        }
        _ => PyValueError::new_err(text),
    }
}

/// OSError as `open` raises it: of the class that its number has, and with the file's name.
pub(crate) fn of_file(path: &Path, errno: Option<i32>, reason: &str) -> PyErr {
    // What the system would not refuse: a file that is not regular.
    let errno = errno.unwrap_or(libc::EINVAL);
    let number = format!(" (os error {errno})");
    let reason = reason.replacen(&number, "", 1);
    PyOSError::new_err((errno, reason, path.as_os_str().to_owned()))
}
