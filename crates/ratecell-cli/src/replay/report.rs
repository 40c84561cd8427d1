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
    /// The times of the first and the last record in the order of the log.
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
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
            span: period.latest.duration_since(period.earliest),
            policies: tally.policies.iter().map(|policy| PolicyReport::new(tally, policy, top)).collect(),
        }
    }

    /// What is to be said about counts that are not exact: one line a policy.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.policies.iter().filter(|policy| policy.evicted > 0).map(|policy| {
            format!(
                "{}: the state of {} keys was evicted for want of room, so that its counts are not exact: try --max-keys {}",
                policy.policy,
                policy.evicted,
                policy.keys.saturating_mul(2),
            )
        })
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
