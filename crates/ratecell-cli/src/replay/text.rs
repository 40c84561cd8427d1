//! A report as text for a person.

use std::fmt;

use super::report::{PolicyReport, Report};
use crate::output::table;

/// Keys and lines are shown up to here.
const SHOWN_CHARS: usize = 80;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "records    {}", self.records)?;
        writeln!(f, "malformed  {}", self.malformed)?;
        writeln!(f, "first      {}", self.first)?;
        writeln!(f, "last       {}", self.last)?;
        writeln!(f, "span       {:#}", self.span)?;
        let rows = self.policies.iter().map(summary).collect();
        let heading = ["policy", "allowed", "denied", "denied %", "keys", "keys denied"];
        write!(f, "\n{}", table(heading, 1, rows))?;
        for policy in &self.policies {
            top_denied(f, policy)?;
        }
        for warning in self.warnings() {
            write!(f, "\n\nwarning: {warning}")?;
        }
        Ok(())
    }
}

fn summary(policy: &PolicyReport) -> [String; 6] {
    [
        policy.policy.clone(),
        policy.allowed.to_string(),
        policy.denied.to_string(),
        percent(policy.denied, policy.allowed),
        policy.keys.to_string(),
        policy.keys_denied.to_string(),
    ]
}

fn top_denied(f: &mut fmt::Formatter<'_>, policy: &PolicyReport) -> fmt::Result {
    if policy.top_denied.is_empty() {
        return Ok(());
    }
    let rows = policy.top_denied.iter().map(|key| {
        let denied_percent = percent(key.denied, key.allowed);
        [printable(key.key.as_bytes()), key.denied.to_string(), key.allowed.to_string(), denied_percent]
    });
    let table = table(["key", "denied", "allowed", "denied %"], 1, rows.collect());
    write!(f, "\n\nmost denied by {}\n{table}", policy.policy)
}

fn percent(denied: u64, allowed: u64) -> String {
    format!("{:.2}", 100.0 * denied as f64 / (denied + allowed) as f64)
}

/// Text of a log, safe for a terminal: whoever sends requests can write escape sequences into it.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut chars = text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    let mut shown: String = chars.by_ref().take(SHOWN_CHARS).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}
