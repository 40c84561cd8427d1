//! What each rule did. Memory grows with the denied keys, and with the records of one window.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result};
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use ratecell::rules::RulesLimiter;
use ratecell_rules::{Mode, Rules, Scratch};

use crate::log::{Assumptions, Timeline, When};

/// A request's attributes: names and values.
pub(super) type Pairs = Vec<(String, Vec<u8>)>;

/// What a rule did.
#[derive(Debug, Default)]
pub(super) struct RuleTally {
    /// Requests that it applied to; not those that it exempts as "unlimited".
    pub(super) matched: u64,
    /// Of these, those that were allowed.
    pub(super) allowed: u64,
    /// Of these, those that this rule denied.
    pub(super) denied: u64,
    /// Of these, those that it would have denied if it enforced.
    pub(super) shadow_denied: u64,
    /// How often each key was denied by it, or would have been.
    pub(super) denied_keys: IndexMap<Box<[u8]>, u64, RandomState>,
}

/// The limiter, and what was decided.
#[derive(Debug)]
struct Decider {
    limiter: RulesLimiter,
    scratch: Scratch,
    by_rule: Vec<RuleTally>,
    allowed: u64,
    unclear: u64,
}

/// The decisions of a replay.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) assumptions: Assumptions,
    pub(super) timeline: Timeline<Pairs>,
    /// Until the first record says what the limiter counts from.
    rules: Option<Rules>,
    max_keys: usize,
    decider: Option<Decider>,
}

impl Tally {
    pub(super) fn new(rules: Rules, max_keys: usize, assumptions: Assumptions) -> Self {
        Self {
            assumptions,
            timeline: Timeline::new(assumptions),
            rules: Some(rules),
            max_keys,
            decider: None,
        }
    }

    /// The next request of the log.
    pub(super) fn decide(&mut self, time_ns: u64, digits: u8, request: Pairs) -> Result<()> {
        self.timeline.note(time_ns);
        if let (Some(rules), Some(period)) = (self.rules.take(), self.timeline.period) {
            let epoch = UNIX_EPOCH + Duration::from_nanos(period.epoch_ns);
            self.decider = Some(Decider::new(rules, self.max_keys, epoch).context("--max-keys")?);
        }
        if let Some(decider) = &mut self.decider {
            let decide = |when: When, request: Pairs| decider.decide(when.now_ns, &request);
            self.timeline.push(time_ns, digits, request, decide);
        }
        Ok(())
    }

    /// Decides what is left.
    pub(super) fn finish(&mut self) {
        if let Some(decider) = &mut self.decider {
            self.timeline.finish(|when, request| decider.decide(when.now_ns, &request));
        }
    }

    /// Requests that were allowed.
    pub(super) fn allowed(&self) -> u64 {
        self.decider.as_ref().map_or(0, |decider| decider.allowed)
    }

    /// Requests whose path is unclear, in a file that refuses that.
    pub(super) fn unclear(&self) -> u64 {
        self.decider.as_ref().map_or(0, |decider| decider.unclear)
    }

    /// How often the state of a key was lost for want of room.
    pub(super) fn evicted(&self) -> u64 {
        self.decider.as_ref().map_or(0, |decider| decider.limiter.stats_at(0).evicted)
    }

    /// The name, the mode and the tally of each rule, in the order of the file.
    pub(super) fn rules(&self) -> Vec<(String, Mode, &RuleTally)> {
        let Some(decider) = &self.decider else { return Vec::new() };
        let rules = decider.limiter.rules();
        let named = rules.iter().zip(&decider.by_rule);
        named.map(|(rule, tally)| (rule.name().to_owned(), rule.mode(), tally)).collect()
    }
}

impl Decider {
    fn new(
        rules: Rules,
        max_keys: usize,
        epoch: std::time::SystemTime,
    ) -> Result<Self, ratecell::BuildError> {
        let by_rule = rules.iter().map(|_| RuleTally::default()).collect();
        let limiter = RulesLimiter::builder(rules).max_keys(max_keys).epoch(epoch).build()?;
        Ok(Self { limiter, scratch: Scratch::default(), by_rule, allowed: 0, unclear: 0 })
    }

    fn decide(&mut self, now_ns: u64, request: &Pairs) {
        let decision = self.limiter.decide_at(request, now_ns);
        self.allowed += u64::from(decision.is_allowed());
        self.unclear += u64::from(decision.is_unclear_path());
        // The same claims once more, for their keys.
        let evaluation = decision.rules().evaluate(request, &mut self.scratch);
        let by_rule = &mut self.by_rule;
        let (mut before, mut shadow_before) = (None, None);
        let mut shadows = decision.shadow.iter();
        for claim in evaluation.claims() {
            let Some(tally) = by_rule.get_mut(claim.rule) else { continue };
            // A rule has several claims on a path that can be read in several ways.
            if before.replace(claim.rule) != Some(claim.rule) {
                tally.matched += 1;
                tally.allowed += u64::from(decision.is_allowed());
                tally.denied += u64::from(decision.rule == Some(claim.rule));
            }
            let is_denied = match claim.mode {
                Mode::Shadow => {
                    let is_denied =
                        shadows.next().is_some_and(|(_, outcome)| *outcome != ratecell::Outcome::Allowed);
                    if is_denied && shadow_before.replace(claim.rule) != Some(claim.rule) {
                        tally.shadow_denied += 1;
                    }
                    is_denied
                }
                _ => decision.rule == Some(claim.rule),
            };
            if is_denied {
                match tally.denied_keys.get_mut(claim.key) {
                    Some(count) => *count += 1,
                    None => drop(tally.denied_keys.insert(claim.key.into(), 1)),
                }
            }
        }
        if let Some(tally) = evaluation.skip().and_then(|rule| by_rule.get_mut(rule)) {
            tally.matched += 1;
            tally.allowed += u64::from(decision.is_allowed());
        }
    }
}
