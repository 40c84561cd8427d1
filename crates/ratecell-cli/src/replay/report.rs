//! The result of a replay: what `--json` prints, and what the tables are made of.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use ratecell_logs::{StampIs, resolution_ns};
use serde::Serialize;

use super::Question;
use super::assumptions::{Assumptions, duration};
use super::input::{Input, no_lines};
use super::pipeline::Keys;
use super::tally::{Period, PolicyTally, Tally};
use super::text::printable;
use crate::cli::At;

const NS: f64 = 1e9;

/// The fields and their order are the documented ones.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Requests that were decided.
    pub(crate) records: u64,
    pub(crate) malformed: u64,
    pub(crate) skipped: u64,
    /// Records that were not decided: those that `--where` left out, and those without a key.
    pub(crate) filtered: u64,
    pub(crate) no_key: u64,
    /// Requests that were decided at no cost, as the field of the cost is not there or no number.
    pub(crate) no_cost: u64,
    /// The times of the earliest and the latest request.
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) files: Vec<FileReport>,
    pub(crate) assumed: Assumed,
    /// The options of what the answers are compared with.
    pub(crate) other: String,
    pub(crate) policies: Vec<PolicyReport>,
    #[serde(skip)]
    pub(crate) span: SignedDuration,
    #[serde(skip)]
    pub(crate) assumptions: Assumptions,
}

#[derive(Debug, Serialize)]
pub(crate) struct FileReport {
    pub(crate) name: String,
    /// `None` for a file without lines.
    pub(crate) format: Option<String>,
    /// Which instant its stamps are: `start` or `end`.
    pub(crate) stamp: Option<&'static str>,
    pub(crate) resolution_ns: Option<u64>,
    pub(crate) records: u64,
    /// By reason.
    pub(crate) malformed: BTreeMap<&'static str, u64>,
    pub(crate) first_malformed: Vec<MalformedReport>,
    pub(crate) skipped: BTreeMap<&'static str, u64>,
    #[serde(skip)]
    pub(crate) warning: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct MalformedReport {
    pub(crate) line: u64,
    pub(crate) reason: &'static str,
    pub(crate) text: String,
    #[serde(skip)]
    pub(crate) why: String,
}

/// What was asked, and what was assumed of the times.
#[derive(Debug, Serialize)]
pub(crate) struct Assumed {
    /// The options, as they were written.
    pub(crate) key: String,
    pub(crate) cost: String,
    #[serde(rename = "where")]
    pub(crate) filters: Vec<String>,
    /// `stamp` or `arrival`.
    pub(crate) at: &'static str,
    /// Requests that were decided at their stamps, as they have no duration by which their arrival is known.
    pub(crate) no_duration: u64,
    /// Of times that are written without an offset, as `+hh:mm`, if it was given.
    pub(crate) zone: Option<String>,
    /// `time` or `file`.
    order: &'static str,
    window_s: Option<f64>,
    /// Records that came too late for the window, and one that would have been wide enough.
    late: u64,
    enough_window_s: Option<f64>,
    /// In the order of the files, the furthest that a time was behind one before it.
    step_back_s: Option<f64>,
    spread: &'static str,
    /// Records that share their stamp with another one; where they are decided in the order of the files, with a neighbour.
    pub(crate) sharing: u64,
    #[serde(skip)]
    enough_window_ns: u64,
    #[serde(skip)]
    pub(crate) step_back_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct PolicyReport {
    pub(crate) policy: String,
    pub(crate) allowed: u64,
    pub(crate) denied: u64,
    pub(crate) keys: usize,
    pub(crate) keys_denied: usize,
    /// By the other assumptions: how many are denied, and how many answers are not the same.
    pub(crate) other_denied: u64,
    pub(crate) differ: u64,
    pub(crate) differ_share: f64,
    /// How many are denied if those of one stamp come together, where that is a question.
    pub(crate) together_denied: Option<u64>,
    pub(crate) top_denied: Vec<KeyReport>,
    /// How often the state of a key was lost: the counts are then not exact.
    #[serde(skip)]
    pub(crate) evicted: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct KeyReport {
    pub(crate) key: String,
    pub(crate) denied: u64,
    pub(crate) allowed: u64,
}

impl Report {
    /// The report of a tally over `period`, with up to `top` denied keys of each policy.
    pub(crate) fn new(
        keys: &Keys,
        tally: &Tally,
        period: Period,
        question: &Question,
        files: &[Input],
        top: usize,
    ) -> Self {
        let time = |ns: u64| Timestamp::from_nanosecond(ns.into()).unwrap_or_default();
        let (first, last) = (time(period.first_ns), time(period.last_ns));
        Self {
            records: tally.records,
            malformed: files.iter().map(|file| file.found.malformed_count()).sum(),
            skipped: files.iter().map(|file| file.found.skipped_count()).sum(),
            filtered: question.counts.filtered,
            no_key: question.counts.no_key,
            no_cost: question.counts.no_cost,
            first,
            last,
            files: files.iter().map(FileReport::new).collect(),
            assumed: Assumed::new(tally, question),
            other: tally.assumptions.other().options(),
            policies: tally
                .policies
                .iter()
                .map(|policy| PolicyReport::new(keys, tally.records, policy, top))
                .collect(),
            span: last.duration_since(first),
            assumptions: tally.assumptions,
        }
    }

    /// What is to be said about counts that do not show what the policies would have done: a line for each format
    /// that does not fit, one about requests without a cost, one about those without a duration, one about a window that was too small, and one for each policy that had too little room.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let formats = self.files.iter().filter_map(|file| file.warning.clone());
        let no_cost = (self.no_cost > 0).then(|| {
            format!(
                "{} of {} records have no number for --cost {} and were decided at no cost",
                self.no_cost, self.records, self.assumed.cost,
            )
        });
        let no_duration = (self.assumed.no_duration > 0).then(|| {
            format!(
                "{} of {} records have no duration: decided at their stamps",
                self.assumed.no_duration, self.records,
            )
        });
        let late = (self.assumed.late > 0).then(|| {
            format!(
                "{} of {} records came too late for the window and were decided later than their stamps: --window {} would have been enough",
                self.assumed.late,
                self.records,
                duration(self.assumed.enough_window_ns),
            )
        });
        let evicted = self.policies.iter().filter(|policy| policy.evicted > 0).map(|policy| {
            format!(
                "{}: the state of a key was evicted {} times for want of room, so that its counts are not exact: try --max-keys {}",
                policy.policy,
                policy.evicted,
                policy.keys.saturating_mul(2),
            )
        });
        formats.chain(no_cost).chain(no_duration).chain(late).chain(evicted)
    }
}

impl FileReport {
    /// What a file without a format has.
    pub(crate) fn no_lines(&self) -> &'static str {
        no_lines(&self.skipped)
    }

    pub(crate) fn new(file: &Input) -> Self {
        let has_lines = file.reader.is_some();
        Self {
            name: file.name.clone(),
            format: file.format.as_ref().filter(|_| has_lines).map(ToString::to_string),
            stamp: file.stamp.map(|stamp| match stamp {
                StampIs::Start => "start",
                StampIs::End => "end",
            }),
            resolution_ns: file.stamp.map(|_| resolution_ns(file.digits)),
            records: file.found.records,
            malformed: file.found.malformed.clone(),
            first_malformed: (file.found.first_malformed.iter())
                .map(|malformed| MalformedReport {
                    line: malformed.line,
                    reason: malformed.reason.code(),
                    text: printable(&malformed.text),
                    why: malformed.reason.to_string(),
                })
                .collect(),
            skipped: file.found.skipped.clone(),
            warning: file.warning.clone(),
        }
    }
}

impl Assumed {
    fn new(tally: &Tally, question: &Question) -> Self {
        let Assumptions { at, zone, window_ns, .. } = tally.assumptions;
        // Without a window of their own, the records still went through that of the other assumptions.
        let late = tally.late().filter(|_| window_ns.is_some()).unwrap_or_default();
        let step_back_ns = window_ns.is_none().then_some(tally.furthest_back_ns);
        // Whole seconds, so that it can be typed.
        let enough_window_ns = tally.furthest_back_ns.div_ceil(1_000_000_000).saturating_mul(1_000_000_000);
        Self {
            key: question.key.text.clone(),
            cost: question.cost.text.clone(),
            filters: question.filters.iter().map(|filter| filter.text.clone()).collect(),
            at: match at {
                At::Stamp => "stamp",
                At::Arrival => "arrival",
            },
            no_duration: question.counts.no_duration,
            zone: zone.map(|zone| zone.to_string()),
            order: if window_ns.is_some() { "time" } else { "file" },
            window_s: window_ns.map(|ns| ns as f64 / NS),
            late,
            enough_window_s: (late > 0).then_some(enough_window_ns as f64 / NS),
            step_back_s: step_back_ns.map(|ns| ns as f64 / NS),
            spread: tally.assumptions.spread_word(),
            sharing: tally.sharing(),
            enough_window_ns,
            step_back_ns,
        }
    }
}

impl PolicyReport {
    fn new(keys: &Keys, records: u64, policy: &PolicyTally, top: usize) -> Self {
        let by_key = || keys.iter().zip(&policy.by_key);
        let mut denied: Vec<_> = by_key().filter(|(_, counts)| counts.denied > 0).collect();
        denied.sort_unstable_by_key(|(key, counts)| (Reverse(counts.denied), &***key));
        let top_denied = denied.iter().take(top).map(|(key, counts)| KeyReport {
            key: String::from_utf8_lossy(key).into_owned(),
            denied: counts.denied,
            allowed: counts.allowed,
        });
        Self {
            policy: policy.name(),
            allowed: by_key().map(|(_, counts)| counts.allowed).sum(),
            denied: by_key().map(|(_, counts)| counts.denied).sum(),
            keys: keys.len(),
            keys_denied: denied.len(),
            other_denied: policy.other_denied,
            differ: policy.differ,
            differ_share: policy.differ as f64 / records as f64,
            together_denied: policy.together_denied,
            top_denied: top_denied.collect(),
            evicted: policy.evicted(),
        }
    }
}
