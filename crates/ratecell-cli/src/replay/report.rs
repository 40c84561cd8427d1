//! The result of a replay: what `--json` prints, and what the tables are made of.

use std::cmp::Reverse;

use serde::Serialize;

use super::tally::{PolicyTally, Tally};
use crate::log::{Decided, Keys, LogReport};

/// The fields and their order are the documented ones.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) log: LogReport,
    /// The options of what the answers are compared with.
    pub(crate) other: String,
    pub(crate) policies: Vec<PolicyReport>,
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
    #[serde(skip)]
    capacity: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct KeyReport {
    pub(crate) key: String,
    pub(crate) denied: u64,
    pub(crate) allowed: u64,
    /// Of the key.
    #[serde(skip)]
    pub(crate) number: usize,
}

impl Report {
    /// The report of a log, with up to `top` denied keys of each policy.
    pub(crate) fn new(decided: &Decided<Tally>, top: usize) -> Self {
        let Decided { keys, decider: tally, .. } = decided;
        let log = LogReport::new(decided, &tally.timeline, tally.assumptions);
        let policies = tally.policies.iter();
        Self {
            policies: policies.map(|policy| PolicyReport::new(keys, log.records, policy, top)).collect(),
            other: tally.assumptions.other().options(),
            log,
        }
    }

    /// What is to be said about counts that do not show what the policies would have done: of the log, a line for each
    /// policy that had too little room, and one for each that nothing fits.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let evicted = self.policies.iter().filter(|policy| policy.evicted > 0).map(|policy| {
            format!(
                "{}: the state of a key was evicted {} times for want of room, so that its counts are not exact: try --max-keys {}",
                policy.policy,
                policy.evicted,
                policy.keys.saturating_mul(2),
            )
        });
        let futile = self.policies.iter().filter(|policy| policy.allowed == 0).map(|policy| {
            format!(
                "{}: denies every request, as each costs more than the {} units that can pass at once: expected a greater limit, or another --cost than {}",
                policy.policy, policy.capacity, self.log.assumed.cost,
            )
        });
        self.log.warnings().chain(evicted).chain(futile)
    }
}

impl PolicyReport {
    fn new(keys: &Keys, records: u64, policy: &PolicyTally, top: usize) -> Self {
        let by_key = || keys.iter().zip(&policy.by_key);
        let mut denied: Vec<_> = by_key().enumerate().filter(|(_, (_, counts))| counts.denied > 0).collect();
        denied.sort_unstable_by_key(|(_, (key, counts))| (Reverse(counts.denied), &***key));
        let top_denied = denied.iter().take(top).map(|(number, (key, counts))| KeyReport {
            key: String::from_utf8_lossy(key).into_owned(),
            denied: counts.denied,
            allowed: counts.allowed,
            number: *number,
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
            capacity: policy.capacity(),
        }
    }
}
