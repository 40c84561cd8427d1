//! A report as text for a person.

use std::fmt;

use super::report::{PolicyReport, Report};
use crate::output::{percent, printable, table};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.log)?;
        let rows = self.policies.iter().map(summary).collect();
        let heading = ["policy", "allowed", "denied", "denied %", "keys", "keys denied"];
        write!(f, "\n{}", table(heading, 1, rows))?;
        let rows = self.policies.iter().map(|policy| other(policy, self.log.records)).collect();
        let heading = ["policy", "denied", "denied %", "other answers", "other answers %"];
        write!(f, "\n\nwith {} instead\n{}", self.other, table(heading, 1, rows))?;
        let rows: Vec<_> =
            self.policies.iter().filter_map(|policy| together(policy, self.log.records)).collect();
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
