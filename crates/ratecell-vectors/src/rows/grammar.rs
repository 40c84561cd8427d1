//! Policies as text: what each is read as, or why it is refused.

use anyhow::Result;
use ratecell_core::Policy;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Judged, read};
use crate::policy::timeless;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
enum Row {
    Accepted { text: String, canonical: String, policy: Map<String, Value> },
    Refused { text: String, error: String, column: usize, message: String },
}

pub(super) fn text(row: &Value) -> Result<Judged> {
    let row: Row = read(row, "a text and what it is read as, or its error")?;
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
        return Ok(Judged::compared(&expected, &got));
    }
    let Row::Accepted { canonical, policy: json, .. } = &row else { return Ok(Judged::Right) };
    let meant = timeless(json);
    if meant != text.parse() || meant != canonical.parse() {
        let meant = meant.map_or_else(|error| error.to_string(), |policy| policy.to_string());
        return Ok(Judged::Wrong(format!("expected {meant}, got {got}")));
    }
    Ok(Judged::Right)
}
