//! The result of a replay by rules: what `--json` prints, and what the table is made of.

use std::cmp::Reverse;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::tally::{RuleTally, Tally};
use crate::log::{Assumptions, Counts, FileReport, Input, Period, late, no_duration, write_file};
use crate::output::{percent, printable, table};

/// The fields and their order are the documented ones.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Requests that were decided.
    records: u64,
    allowed: u64,
    denied: u64,
    /// Of the denied, those whose path can be read in several ways, in a file that refuses that.
    unclear_path: u64,
    malformed: u64,
    skipped: u64,
    filtered: u64,
    no_duration: u64,
    /// Records that came too late for the window.
    late: u64,
    /// Records that share their stamp with another one; where they are decided in the order of the files, with a neighbour.
    sharing: u64,
    first: Timestamp,
    last: Timestamp,
    files: Vec<FileReport>,
    #[serde(rename = "where")]
    filters: Vec<String>,
    options: String,
    rules: Vec<RuleReport>,
    #[serde(skip)]
    enough_window_ns: u64,
    #[serde(skip)]
    evicted: u64,
    #[serde(skip)]
    assumptions: Assumptions,
}

#[derive(Debug, Serialize)]
struct RuleReport {
    rule: String,
    mode: &'static str,
    /// Requests that the rule applied to; of these those that were allowed, and that this rule denied.
    matched: u64,
    allowed: u64,
    denied: u64,
    /// Those that a shadow rule would have denied.
    shadow_denied: u64,
    keys_denied: usize,
    top_denied: Vec<KeyReport>,
}

#[derive(Debug, Serialize)]
struct KeyReport {
    key: String,
    denied: u64,
}

impl Report {
    pub(super) fn new(
        tally: &Tally,
        period: Period,
        counts: Counts,
        filters: Vec<String>,
        files: &[Input],
        top: usize,
    ) -> Self {
        let rules = tally.rules().into_iter();
        Self {
            records: tally.timeline.records,
            allowed: tally.allowed(),
            denied: tally.timeline.records - tally.allowed(),
            unclear_path: tally.unclear(),
            malformed: files.iter().map(|file| file.found.malformed_count()).sum(),
            skipped: files.iter().map(|file| file.found.skipped_count()).sum(),
            filtered: counts.filtered,
            no_duration: counts.no_duration,
            late: tally.timeline.late().unwrap_or_default(),
            sharing: tally.timeline.sharing(),
            first: period.first(),
            last: period.last(),
            files: files.iter().map(FileReport::new).collect(),
            filters,
            options: tally.assumptions.options(),
            rules: rules.map(|(name, mode, tally)| RuleReport::new(name, mode.name(), tally, top)).collect(),
            enough_window_ns: tally.timeline.enough_window_ns(),
            evicted: tally.evicted(),
            assumptions: tally.assumptions,
        }
    }

    /// What is to be said about counts that do not show what the rules would have done.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let formats = self.files.iter().filter_map(|file| file.warning.clone());
        let no_duration = no_duration(self.no_duration, self.records);
        let late = late(self.late, self.records, self.enough_window_ns);
        let evicted = (self.evicted > 0).then(|| {
            format!(
                "the state of a key was evicted {} times for want of room, so that the counts are not exact: try a larger \
                 --max-keys",
                self.evicted
            )
        });
        formats.chain(no_duration).chain(late).chain(evicted)
    }
}

impl RuleReport {
    fn new(rule: String, mode: &'static str, tally: &RuleTally, top: usize) -> Self {
        let mut denied: Vec<_> = tally.denied_keys.iter().collect();
        denied.sort_unstable_by_key(|(key, count)| (Reverse(**count), &***key));
        let top_denied = denied.iter().take(top).map(|(key, count)| KeyReport {
            key: String::from_utf8_lossy(key).into_owned(),
            denied: **count,
        });
        Self {
            rule,
            mode,
            matched: tally.matched,
            allowed: tally.allowed,
            denied: tally.denied,
            shadow_denied: tally.shadow_denied,
            keys_denied: denied.len(),
            top_denied: top_denied.collect(),
        }
    }

    fn row(&self) -> [String; 8] {
        [
            self.rule.clone(),
            self.mode.to_owned(),
            self.matched.to_string(),
            self.allowed.to_string(),
            self.denied.to_string(),
            if self.matched == 0 { String::new() } else { percent(self.denied, self.matched) },
            self.shadow_denied.to_string(),
            self.keys_denied.to_string(),
        ]
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "records    {}", self.records)?;
        for (name, count) in [
            ("malformed ", self.malformed),
            ("skipped   ", self.skipped),
            ("filtered  ", self.filtered),
            ("unclear   ", self.unclear_path),
        ] {
            if count > 0 {
                writeln!(f, "{name} {count}")?;
            }
        }
        writeln!(f, "first      {}", self.first)?;
        writeln!(f, "last       {}", self.last)?;
        let span: SignedDuration = self.last.duration_since(self.first);
        writeln!(f, "span       {span:#}")?;
        for file in &self.files {
            write_file(f, file)?;
        }
        if !self.filters.is_empty() {
            writeln!(f, "where      {}", self.filters.join(" and "))?;
        }
        let sharer = self.assumptions.sharer();
        writeln!(f, "shared     {} records share their stamp with {sharer}", self.sharing)?;
        writeln!(f, "decided    {}", self.assumptions)?;
        writeln!(f, "allowed    {}", self.allowed)?;
        writeln!(f, "denied     {} ({} %)", self.denied, percent(self.denied, self.records))?;
        let heading =
            ["rule", "mode", "matched", "allowed", "denied", "denied %", "shadow denied", "keys denied"];
        write!(f, "\n{}", table(heading, 2, self.rules.iter().map(RuleReport::row).collect()))?;
        for rule in self.rules.iter().filter(|rule| !rule.top_denied.is_empty()) {
            let rows = rule.top_denied.iter();
            let rows = rows.map(|key| [printable(key.key.as_bytes()), key.denied.to_string()]);
            write!(f, "\n\nmost denied by {}\n{}", rule.rule, table(["key", "denied"], 1, rows.collect()))?;
        }
        for warning in self.warnings() {
            write!(f, "\n\nwarning: {warning}")?;
        }
        Ok(())
    }
}
