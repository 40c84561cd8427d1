//! Policies as text: what each is read as, or why it is refused.

use anyhow::{Context, Result, bail};
use ratecell::Policy;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::policy::policy;
use super::{Failures, Tally};

const VERSION: u64 = 3;

#[derive(Debug, Deserialize)]
struct Header {
    ratecell_vectors: u64,
    kind: String,
}

/// Whether a first line is that of such a file.
pub(crate) fn is_header(line: &[u8]) -> Result<bool> {
    match serde_json::from_slice(line) {
        Ok(Header { ratecell_vectors: VERSION, kind }) => Ok(kind == "grammar"),
        Ok(Header { ratecell_vectors, kind }) if kind == "grammar" => {
            bail!("ratecell_vectors is {ratecell_vectors}, expected {VERSION} for the kind grammar")
        }
        _ => Ok(false),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
enum Row {
    Accepted { text: String, canonical: String, policy: Map<String, Value> },
    Refused { text: String, error: String, column: usize, message: String },
}

/// Replays the lines behind the first, each with its number.
pub(crate) fn replay<'a>(
    name: &str,
    lines: impl Iterator<Item = (usize, &'a [u8])>,
    failures: &mut Failures,
) -> Result<Tally> {
    let mut tally = Tally::default();
    for (number, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let row: Row = serde_json::from_slice(line).with_context(|| {
            format!("{name}:{number}: expected a text and what it is read as, or its error")
        })?;
        tally.rows += 1;
        match wrong(&row) {
            None => tally.passed += 1,
            Some(wrong) => {
                tally.failed += 1;
                failures.show(&format!("{name}:{number}: {wrong}"))?;
            }
        }
    }
    Ok(tally)
}

/// What does not hold of a row.
fn wrong(row: &Row) -> Option<String> {
    let shown = |text: &str| match text.parse::<Policy>() {
        Ok(policy) => policy.to_string(),
        Err(error) => error.to_string(),
    };
    let (text, expected) = match row {
        Row::Accepted { text, canonical, .. } => (text, canonical.clone()),
        Row::Refused { text, error, column, message } => {
            (text, format!("{error} at column {column}: {message}"))
        }
    };
    let got = shown(text);
    if got != expected {
        return Some(format!("{text:?}: expected {expected}, got {got}"));
    }
    let Row::Accepted { canonical, policy: json, .. } = row else { return None };
    let meant = policy(json);
    if meant != text.parse() || meant != canonical.parse() {
        let meant = meant.map_or_else(|error| error.to_string(), |policy| policy.to_string());
        return Some(format!("{text:?}: expected {meant}, got {got}"));
    }
    None
}
