//! The result of a replay: what `--json` prints, and what the tables are made of.

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::tally::{Period, PolicyTally, Tally};

/// The fields and their order are the documented ones.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) records: u64,
    pub(crate) malformed: u64,
    /// The times of the first and the last record in the order of the decisions.
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    /// Records that are earlier than one before them, and by how many seconds at most.
    pub(crate) out_of_order: u64,
    pub(crate) out_of_order_by_s: f64,
    #[serde(skip)]
    pub(crate) furthest_back: SignedDuration,
    /// From the earliest to the latest record.
    #[serde(skip)]
    pub(crate) span: SignedDuration,
    pub(crate) policies: Vec<PolicyReport>,
}

#[derive(Debug, Serialize)]
pub(crate) struct PolicyReport {
    pub(crate) policy: String,
    pub(crate) allowed: u64,
    pub(crate) denied: u64,
    pub(crate) keys: usize,
    pub(crate) keys_denied: usize,
    pub(crate) top_denied: Vec<KeyReport>,
    /// Keys whose state was lost: the counts are then not exact.
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
    pub(crate) fn new(tally: &Tally, period: Period, malformed: u64, top: usize) -> Self {
        Self {
            records: tally.records,
            malformed,
            first: period.first,
            last: period.last,
            out_of_order: period.out_of_order,
            out_of_order_by_s: period.furthest_back.as_secs_f64(),
            furthest_back: period.furthest_back,
            span: period.latest.duration_since(period.earliest),
            policies: tally.policies.iter().map(|policy| PolicyReport::new(tally, policy, top)).collect(),
        }
    }

    /// What is to be said about counts that do not show what the policies would have done: one line about
    /// the order of the records, and one for each policy that had too little room.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let out_of_order = (self.out_of_order > 0).then(|| {
            format!(
                "{} of {} records are earlier than one before them, by up to {:#}; they may be denied for that alone: sort the log by time, or use --sort",
                self.out_of_order, self.records, self.furthest_back,
            )
        });
        let evicted = self.policies.iter().filter(|policy| policy.evicted > 0).map(|policy| {
            format!(
                "{}: the state of {} keys was evicted for want of room, so that its counts are not exact: try --max-keys {}",
                policy.policy,
                policy.evicted,
                policy.keys.saturating_mul(2),
            )
        });
        out_of_order.into_iter().chain(evicted)
    }
}

impl PolicyReport {
    fn new(tally: &Tally, policy: &PolicyTally, top: usize) -> Self {
        let by_key = || tally.keys.iter().zip(&policy.by_key);
        let mut denied: Vec<_> = by_key().filter(|(_, counts)| counts.denied > 0).collect();
        denied.sort_unstable_by_key(|(key, counts)| (Reverse(counts.denied), *key));
        let top_denied = denied.iter().take(top).map(|(key, counts)| KeyReport {
            key: String::from_utf8_lossy(key).into_owned(),
            denied: counts.denied,
            allowed: counts.allowed,
        });
        Self {
            policy: policy.limiter.policy().to_string(),
            allowed: by_key().map(|(_, counts)| counts.allowed).sum(),
            denied: by_key().map(|(_, counts)| counts.denied).sum(),
            keys: tally.keys.len(),
            keys_denied: denied.len(),
            top_denied: top_denied.collect(),
            evicted: policy.limiter.stats_at(0).evicted,
        }
    }
}
