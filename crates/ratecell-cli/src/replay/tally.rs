//! What each policy did to each key. Memory grows with the distinct keys, not with the records.

use anyhow::{Context, Result};
use indexmap::IndexSet;
use jiff::{SignedDuration, Timestamp};
use ratecell::{Limiter, Policy};

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// The requests of one key by one policy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) allowed: u64,
    pub(crate) denied: u64,
}

/// A policy, its limiter and its counts by the number of the key.
#[derive(Debug)]
pub(crate) struct PolicyTally {
    pub(crate) limiter: Limiter,
    pub(crate) by_key: Vec<Counts>,
}

/// A replay: the keys seen, numbered in the order of their first record, and the policies' tallies.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) keys: IndexSet<Box<[u8]>>,
    pub(crate) policies: Vec<PolicyTally>,
    pub(crate) records: u64,
    pub(crate) period: Option<Period>,
}

/// The times of the records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    /// Nanosecond zero of the limiters.
    epoch: Timestamp,
    /// In the order of the decisions.
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) earliest: Timestamp,
    pub(crate) latest: Timestamp,
    /// Records that are earlier than one before them, and the furthest that one of them is.
    pub(crate) out_of_order: u64,
    pub(crate) furthest_back: SignedDuration,
}

impl Period {
    fn from(first: Timestamp) -> Self {
        // The midnight before belongs to the day before; the records of a log that steps back a little
        // are still after it.
        let day = first.as_second().div_euclid(DAY_SECONDS) - 1;
        let epoch = Timestamp::from_second(day * DAY_SECONDS).unwrap_or(Timestamp::MIN);
        Self {
            epoch,
            first,
            last: first,
            earliest: first,
            latest: first,
            out_of_order: 0,
            furthest_back: SignedDuration::ZERO,
        }
    }

    fn extend(&mut self, time: Timestamp) {
        self.last = time;
        if time < self.latest {
            self.out_of_order += 1;
            self.furthest_back = self.furthest_back.max(self.latest.duration_since(time));
        }
        self.earliest = self.earliest.min(time);
        self.latest = self.latest.max(time);
    }

    fn now_ns(&self, time: Timestamp) -> u64 {
        let ns = time.as_nanosecond() - self.epoch.as_nanosecond();
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }
}

impl Tally {
    pub(crate) fn new(policies: Vec<Policy>, max_keys: usize) -> Result<Self> {
        let tally = |policy: Policy| {
            let limiter = Limiter::builder(policy).max_keys(max_keys).build().context("--max-keys")?;
            Ok(PolicyTally { limiter, by_key: Vec::new() })
        };
        let policies = policies.into_iter().map(tally).collect::<Result<_>>()?;
        Ok(Self { keys: IndexSet::new(), policies, records: 0, period: None })
    }

    /// The number of a key.
    pub(crate) fn number(&mut self, key: &[u8]) -> usize {
        match self.keys.get_index_of(key) {
            Some(number) => number,
            None => {
                for policy in &mut self.policies {
                    policy.by_key.push(Counts::default());
                }
                self.keys.insert_full(key.into()).0
            }
        }
    }

    /// Decides a record of the key with that number by each policy.
    pub(crate) fn decide(&mut self, number: usize, time: Timestamp) {
        self.records += 1;
        let period = self.period.get_or_insert_with(|| Period::from(time));
        period.extend(time);
        let now = period.now_ns(time);
        let key = &self.keys[number];
        for policy in &mut self.policies {
            let counts = &mut policy.by_key[number];
            match policy.limiter.check_at(key, 1, now).is_allowed() {
                true => counts.allowed += 1,
                false => counts.denied += 1,
            }
        }
    }
}
