//! A report as text for a person.

use std::fmt;

use super::assumptions::duration;
use super::report::{FileReport, PolicyReport, Report};
use crate::output::table;

/// Keys and lines are shown up to here.
const SHOWN_CHARS: usize = 80;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "records    {}", self.records)?;
        for (name, count) in [
            ("malformed ", self.malformed),
            ("skipped   ", self.skipped),
            ("filtered  ", self.filtered),
            ("no key    ", self.no_key),
            ("no cost   ", self.no_cost),
        ] {
            if count > 0 {
                writeln!(f, "{name} {count}")?;
            }
        }
        writeln!(f, "first      {}", self.first)?;
        writeln!(f, "last       {}", self.last)?;
        writeln!(f, "span       {:#}", self.span)?;
        for file in &self.files {
            write_file(f, file)?;
        }
        writeln!(f, "key        {}", self.assumed.key)?;
        writeln!(f, "cost       {}", self.assumed.cost)?;
        if !self.assumed.filters.is_empty() {
            writeln!(f, "where      {}", self.assumed.filters.join(" and "))?;
        }
        if let Some(zone) = &self.assumed.zone {
            writeln!(f, "zone       {zone} where a time has no offset")?;
        }
        let sharer = self.assumptions.ordered().sharer();
        writeln!(f, "shared     {} records share their stamp with {sharer}", self.assumed.sharing)?;
        let known = if self.assumed.no_duration > 0 { " where that is known" } else { "" };
        writeln!(f, "decided    at the {}{known}, {}", self.assumed.at, self.assumptions)?;
        if let Some(step) = self.assumed.step_back_ns.filter(|step| *step > 0) {
            writeln!(f, "           times step back by up to {}", duration(step))?;
        }
        let rows = self.policies.iter().map(summary).collect();
        let heading = ["policy", "allowed", "denied", "denied %", "keys", "keys denied"];
        write!(f, "\n{}", table(heading, 1, rows))?;
        let rows = self.policies.iter().map(|policy| other(policy, self.records)).collect();
        let heading = ["policy", "denied", "denied %", "other answers", "other answers %"];
        write!(f, "\n\nwith {} instead\n{}", self.other, table(heading, 1, rows))?;
        let rows: Vec<_> = self.policies.iter().filter_map(|policy| together(policy, self.records)).collect();
        if !rows.is_empty() {
            let table = table(["policy", "denied", "denied %"], 1, rows);
            write!(f, "\n\nwith --order time --spread together instead\n{table}")?;
        }
        for policy in &self.policies {
            top_denied(f, policy)?;
        }
        for warning in self.warnings() {
            write!(f, "\n\nwarning: {warning}")?;
        }
        Ok(())
    }
}

pub(super) fn write_file(f: &mut fmt::Formatter<'_>, file: &FileReport) -> fmt::Result {
    let Some(format) = &file.format else {
        return writeln!(f, "file       {}: {}", file.name, file.no_lines());
    };
    write!(f, "file       {}: {format}", file.name)?;
    if let (Some(stamp), Some(resolution)) = (file.stamp, file.resolution_ns) {
        write!(f, ", stamps of the {stamp} of requests in steps of {}", duration(resolution))?;
    }
    writeln!(f, ", {} records", file.records)?;
    for (what, counts) in [("malformed", &file.malformed), ("skipped", &file.skipped)] {
        if !counts.is_empty() {
            let counts: Vec<_> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
            writeln!(f, "           {what}: {}", counts.join(", "))?;
        }
    }
    for malformed in &file.first_malformed {
        writeln!(f, "           line {}: {}: {}", malformed.line, malformed.why, malformed.text)?;
    }
    Ok(())
}

fn summary(policy: &PolicyReport) -> [String; 6] {
    [
        policy.policy.clone(),
        policy.allowed.to_string(),
        policy.denied.to_string(),
        percent(policy.denied, policy.allowed + policy.denied),
        policy.keys.to_string(),
        policy.keys_denied.to_string(),
    ]
}

fn other(policy: &PolicyReport, records: u64) -> [String; 5] {
    [
        policy.policy.clone(),
        policy.other_denied.to_string(),
        percent(policy.other_denied, records),
        policy.differ.to_string(),
        percent(policy.differ, records),
    ]
}

fn together(policy: &PolicyReport, records: u64) -> Option<[String; 3]> {
    let denied = policy.together_denied?;
    Some([policy.policy.clone(), denied.to_string(), percent(denied, records)])
}

fn top_denied(f: &mut fmt::Formatter<'_>, policy: &PolicyReport) -> fmt::Result {
    if policy.top_denied.is_empty() {
        return Ok(());
    }
    let rows = policy.top_denied.iter().map(|key| {
        let denied_percent = percent(key.denied, key.allowed + key.denied);
        [printable(key.key.as_bytes()), key.denied.to_string(), key.allowed.to_string(), denied_percent]
    });
    let table = table(["key", "denied", "allowed", "denied %"], 1, rows.collect());
    write!(f, "\n\nmost denied by {}\n{table}", policy.policy)
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    format!("{:.2}", 100.0 * part as f64 / whole as f64)
}

/// Text of a log, safe for a terminal: a client can write escape sequences into it.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut chars = text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    let mut shown: String = chars.by_ref().take(SHOWN_CHARS).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}
