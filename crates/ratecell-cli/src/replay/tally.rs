//! What each policy did to each key. Memory grows with the distinct keys, and with the records of one window.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ratecell::{Limiter, Policy, Request};
use ratecell_logs::{Spread, resolution_ns};

use super::layers::forgets_within;
use crate::log::{Assumptions, Decide, Logged, Period, Timeline, When};

/// One bit of a [`Waiting`] for each policy.
const MOST_POLICIES: usize = 64;

/// The requests of one key by one policy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) allowed: u64,
    pub(crate) denied: u64,
}

/// A policy, its limiters, and what they did.
#[derive(Debug)]
pub(crate) struct PolicyTally {
    /// Decides each request at its stamp, in the order of the file.
    at_once: Limiter,
    /// Decides in the order of time, and spread over the stamp, or one of the two.
    ordered: Limiter,
    /// Decides in the order of time, those of one stamp together: for a policy to which that makes a difference.
    together: Option<Limiter>,
    /// By the number of the key.
    pub(crate) by_key: Vec<Counts>,
    pub(crate) other_denied: u64,
    /// Requests that the two assumptions answer differently.
    pub(crate) differ: u64,
    pub(crate) together_denied: Option<u64>,
}

/// A request that was decided at once, and waits for its time.
#[derive(Debug)]
pub(crate) struct Waiting {
    request: Logged,
    /// A bit for each policy that allowed it.
    allowed: u64,
}

/// The decisions of a replay, by the numbers of keys.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) assumptions: Assumptions,
    pub(crate) policies: Vec<PolicyTally>,
    pub(crate) timeline: Timeline<Waiting>,
}

impl Counts {
    pub(crate) fn add(&mut self, is_allowed: bool) {
        *(if is_allowed { &mut self.allowed } else { &mut self.denied }) += 1;
    }

    pub(crate) fn all(&self) -> u64 {
        self.allowed + self.denied
    }
}

impl Tally {
    /// Keys have room for `max_keys`; the stamps of the log have at least `digits` digits after the second.
    pub(crate) fn new(
        policies: Vec<Policy>,
        max_keys: usize,
        assumptions: Assumptions,
        digits: u8,
    ) -> Result<Self> {
        if policies.len() > MOST_POLICIES {
            bail!("{} policies: expected at most {MOST_POLICIES}", policies.len());
        }
        // Its limiters are made before the first record says what they count from.
        if let Some(policy) = policies.iter().find(|policy| policy.boundary_digest().is_some()) {
            bail!("`{policy}`: expected no calendar_window, which a replay cannot place in the log's time");
        }
        let ordered = assumptions.ordered();
        let tries_together = ordered.window_ns.is_some() && ordered.spread == Spread::Even;
        let tally = |policy: Policy| -> Result<PolicyTally> {
            let limiter =
                || Limiter::builder(policy.clone()).max_keys(max_keys).build().context("--max-keys");
            let is_quick = forgets_within(&policy, 10 * resolution_ns(digits));
            Ok(PolicyTally {
                at_once: limiter()?,
                ordered: limiter()?,
                together: (tries_together && is_quick).then(limiter).transpose()?,
                by_key: Vec::new(),
                other_denied: 0,
                differ: 0,
                together_denied: (tries_together && is_quick).then_some(0),
            })
        };
        Ok(Self {
            assumptions,
            policies: policies.into_iter().map(tally).collect::<Result<_>>()?,
            timeline: Timeline::new(ordered),
        })
    }
}

impl Decide for Tally {
    /// Decides the next request by each policy, once at once and once when its time has come.
    fn decide(&mut self, time_ns: u64, request: Logged) {
        let now_ns = self.timeline.note(time_ns);
        let hash = hash(request.key);
        let mut allowed = 0;
        for (place, policy) in self.policies.iter_mut().enumerate() {
            if policy.by_key.len() <= request.key {
                policy.by_key.resize(request.key + 1, Counts::default());
            }
            let is_allowed =
                policy.at_once.decide(Request::hashed(hash).cost(request.cost).at(now_ns)).is_allowed();
            allowed |= u64::from(is_allowed) << place;
        }
        let main_is_ordered = !self.assumptions.is_at_once();
        let policies = &mut self.policies;
        self.timeline.push(time_ns, request.digits, Waiting { request, allowed }, |when, waiting| {
            settle(policies, main_is_ordered, when, &waiting);
        });
    }

    fn finish(&mut self) {
        let main_is_ordered = !self.assumptions.is_at_once();
        let policies = &mut self.policies;
        self.timeline.finish(|when, waiting| settle(policies, main_is_ordered, when, &waiting));
    }

    fn extent(&self) -> (u64, Option<Period>) {
        (self.timeline.records, self.timeline.period)
    }
}

/// Decides a request at its time, and counts what came of it at once and now.
fn settle(policies: &mut [PolicyTally], main_is_ordered: bool, when: When, waiting: &Waiting) {
    let Waiting { request, allowed } = *waiting;
    let asked = Request::hashed(hash(request.key)).cost(request.cost);
    for (place, policy) in policies.iter_mut().enumerate() {
        if let (Some(together), Some(denied)) = (&policy.together, &mut policy.together_denied) {
            *denied += u64::from(!together.decide(asked.at(when.stamp_ns)).is_allowed());
        }
        let at_once = allowed >> place & 1 == 1;
        let ordered = policy.ordered.decide(asked.at(when.now_ns)).is_allowed();
        let (main, other) = if main_is_ordered { (ordered, at_once) } else { (at_once, ordered) };
        policy.by_key[request.key].add(main);
        policy.other_denied += u64::from(!other);
        policy.differ += u64::from(main != other);
    }
}

impl PolicyTally {
    /// The policy as it is written.
    pub(crate) fn name(&self) -> String {
        self.ordered.policy().to_string()
    }

    pub(crate) fn policy(&self) -> Arc<Policy> {
        self.ordered.policy()
    }

    /// The most units that can pass at once.
    pub(crate) fn capacity(&self) -> u64 {
        self.ordered.policy().capacity()
    }

    /// How often the state of a key was lost for want of room, under any of the assumptions.
    pub(crate) fn evicted(&self) -> u64 {
        let limiters = [Some(&self.at_once), Some(&self.ordered), self.together.as_ref()];
        limiters.into_iter().flatten().map(|limiter| limiter.stats_at(0).evicted).max().unwrap_or(0)
    }
}

/// The hash of a key by its number: another one for each. The odd factor and the shifts of SplitMix64's finalizer
/// (Steele, Lea, Flood, 2014) are one-to-one.
pub(super) fn hash(number: usize) -> u64 {
    let mut hash = (number as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ (hash >> 31)
}
