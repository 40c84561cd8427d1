//! What the core refuses, as errors whose text is parts: the kind, what the kind has, and the sentence.

use std::path::Path;

use napi::{Error, Status};
use ratecell::rules::{RuleLabel, RulesError};
use ratecell::{BuildError, PolicyError, RegionError};

/// It is between the parts, and in none of them: the sentence is the last.
const BETWEEN: char = '\u{1f}';

fn of_parts(parts: &[&str]) -> Error {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text.push(BETWEEN);
        }
        text.push_str(part);
    }
    Error::new(Status::GenericFailure, text)
}

/// A value that is refused.
pub(crate) fn of_value(text: &str) -> Error {
    of_parts(&["value", text])
}

pub(crate) fn of_policy(error: &PolicyError) -> Error {
    let column = error.column().map_or_else(String::new, |column| column.to_string());
    refused(error.kind().code(), &column, &error.to_string())
}

fn refused(code: &str, column: &str, text: &str) -> Error {
    of_parts(&["policy", code, column, text])
}

pub(crate) fn of_build(error: &BuildError) -> Error {
    let text = error.to_string();
    match error {
        BuildError::Policy(error) => of_policy(error),
        BuildError::Change(error) => refused(error.code(), "", &text),
        BuildError::InRule { error, .. } => match &**error {
            BuildError::Policy(error) => refused(error.kind().code(), "", &text),
            BuildError::Change(error) => refused(error.code(), "", &text),
            BuildError::Memory(_) => of_parts(&["memory", &text]),
            _ => of_value(&text),
        },
        BuildError::Memory(_) => of_parts(&["memory", &text]),
        BuildError::File { path, error: RegionError::Io { errno, .. }, .. } => of_file(path, *errno, &text),
        _ => of_value(&text),
    }
}

/// A file that the system refuses.
pub(crate) fn of_file(path: &Path, errno: Option<i32>, text: &str) -> Error {
    let errno = errno.map_or_else(String::new, |errno| errno.to_string());
    of_parts(&["system", &errno, &path.to_string_lossy(), text])
}

/// A file of rules, whose name is `path` if it was not given as a text.
pub(crate) fn of_rules(path: Option<&Path>, error: &RulesError) -> Error {
    let text = match (path, error.line()) {
        (None, _) => error.to_string(),
        (Some(path), Some(line)) => format!("{}:{line}: {}", path.display(), error.without_line()),
        (Some(path), None) => format!("{}: {error}", path.display()),
    };
    let line = error.line().map_or_else(String::new, |line| line.to_string());
    let rule = match error.rule() {
        None => String::new(),
        Some(RuleLabel::Name(name)) => format!("={name}"),
        Some(RuleLabel::Number(number)) => number.to_string(),
    };
    of_parts(&["rules", error.code(), &line, &rule, error.field().unwrap_or_default(), &text])
}
