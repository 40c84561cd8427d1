//! Policies as text: what each is read as, or why it is refused.

use anyhow::{Context, Result};
use ratecell::Policy;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::format::Judge;
use super::policy::policy;

/// What judges the rows of a file of texts.
pub(crate) fn judge(kind: &str) -> Option<Judge> {
    (kind == "grammar").then_some(wrong)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
enum Row {
    Accepted { text: String, canonical: String, policy: Map<String, Value> },
    Refused { text: String, error: String, column: usize, message: String },
}

/// What does not hold of a row.
fn wrong(row: &Map<String, Value>) -> Result<Option<String>> {
    let row = Row::deserialize(row).context("expected a text and what it is read as, or its error")?;
    let shown = |text: &str| match text.parse::<Policy>() {
        Ok(policy) => policy.to_string(),
        Err(error) => error.to_string(),
    };
    let (text, expected) = match &row {
        Row::Accepted { text, canonical, .. } => (text, canonical.clone()),
        Row::Refused { text, error, column, message } => {
            (text, format!("{error} at column {column}: {message}"))
        }
    };
    let got = shown(text);
    if got != expected {
        return Ok(Some(format!("expected {expected}, got {got}")));
    }
    let Row::Accepted { canonical, policy: json, .. } = &row else { return Ok(None) };
    let meant = policy(json);
    if meant != text.parse() || meant != canonical.parse() {
        let meant = meant.map_or_else(|error| error.to_string(), |policy| policy.to_string());
        return Ok(Some(format!("expected {meant}, got {got}")));
    }
    Ok(None)
}
