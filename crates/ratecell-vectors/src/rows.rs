//! Rows that stand by themselves, or below a section: kinds of files that each have their own columns.

use std::fmt::Display;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::book::Book;
use crate::holds::Holds;
use ratecell_core::Policy;

mod client_keys;
mod fields;
mod grammar;
mod held;
pub(crate) mod rules;
mod waiting;

/// What came of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It starts a section: nothing is compared.
    Section,
    /// The row is right.
    Right,
    /// The row is wrong, and how.
    Wrong(String),
}

impl Judged {
    /// The row is right if it has what was computed.
    fn compared<T: PartialEq + Display>(expected: &T, got: &T) -> Self {
        if expected == got { Self::Right } else { Self::Wrong(format!("expected {expected}, got {got}")) }
    }
}

/// Judges the lines of a file in turn, all but the first and the blank ones. An error is of a line that is no row.
pub type Judge = Box<dyn FnMut(&Value) -> Result<Judged>>;

/// What judges a kind of files, of those that `ratecell-core` answers.
pub(crate) fn judge(kind: &str) -> Option<Judge> {
    Some(match kind {
        "grammar" => Box::new(grammar::text),
        "client_keys" => client_keys::requests(),
        "client_keys_addresses" => Box::new(client_keys::address),
        "client_keys_construct" => Box::new(client_keys::construct),
        "fields" | "fields_several" => fields::responses(),
        "fields_construct" => Box::new(fields::construct),
        "concurrency_construct" => Box::new(held::construct),
        "reserve" | "reserve_unknown" | "concurrency" | "change" | "change_refused" => {
            held(|policy, _, known| Ok(Box::new(Book::new(policy, known))))
        }
        "rules_construct" => Box::new(rules::construct),
        "rules_decide" => rules::decisions(),
        "rules_evaluate" => rules::evaluations(),
        "rules_path" => Box::new(rules::path),
        "waiting" => waiting::traces(),
        _ => return None,
    })
}

/// What judges the rows about reservations, permits and changes: `make` makes the keys of a section, from its policy, its
/// epoch in seconds after 1970, and whether what was given back is known.
pub fn held(make: impl FnMut(Policy, Option<i64>, bool) -> Result<Box<dyn Holds>> + 'static) -> Judge {
    held::calls(make)
}

/// The row as an object.
///
/// # Errors
///
/// It is none.
pub fn object(row: &Value) -> Result<&Map<String, Value>> {
    row.as_object().with_context(|| format!("not a row, expected an object: {row}"))
}

/// The row as `T`, of which `expected` says what it is.
fn read<'a, T: Deserialize<'a>>(row: &'a Value, expected: &str) -> Result<T> {
    T::deserialize(row).with_context(|| format!("expected {expected}"))
}
