//! What is counted of each rule, as envoyproxy/ratelimit counts it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ratecell::rules::Rule;

/// The share of a limit from which it is nearly used up.
const NEAR: (u64, u64) = (4, 5);

/// Counts of one rule since the service began. Each is in hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleCounts {
    /// The name of the rule.
    pub name: String,
    /// Its group, which of imported rules is the domain.
    pub group: Option<String>,
    /// All.
    pub total_hits: u64,
    /// Of descriptors that were not refused.
    pub within_limit: u64,
    /// Of these, above 80 % of the limit.
    pub near_limit: u64,
    /// Of descriptors that were refused, or would be by a shadow.
    pub over_limit: u64,
    /// Of descriptors that a shadow would refuse.
    pub shadow_mode: u64,
}

#[derive(Debug, Default)]
struct Counters {
    group: Option<Box<str>>,
    total: AtomicU64,
    within: AtomicU64,
    near: AtomicU64,
    over: AtomicU64,
    shadow: AtomicU64,
}

/// The counts of a service.
#[derive(Debug, Default)]
pub struct Counts {
    /// By the name of the rule.
    rules: RwLock<BTreeMap<Box<str>, Arc<Counters>>>,
    requests: AtomicU64,
    errors: AtomicU64,
    loaded: AtomicU64,
    not_loaded: AtomicU64,
}

// Relaxed everywhere: counts are read by themselves, and nothing is done by them.
fn add(counter: &AtomicU64, hits: u64) {
    counter.fetch_add(hits, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Counts {
    fn of(&self, rule: &Rule) -> Arc<Counters> {
        // A panic under the lock would leave whole entries.
        if let Some(counters) = self.rules.read().unwrap_or_else(PoisonError::into_inner).get(rule.name()) {
            return Arc::clone(counters);
        }
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Counters { group: rule.group().map(Box::from), ..Counters::default() });
        Arc::clone(rules.entry(rule.name().into()).or_insert_with(new))
    }

    /// A descriptor that the rule allowed, with what it has left of its limit.
    pub(crate) fn within(&self, rule: &Rule, hits: u64, limit: u64, remaining: u64) {
        let counters = self.of(rule);
        let near = u128::from(limit) * u128::from(NEAR.0) / u128::from(NEAR.1);
        let used = u128::from(limit.saturating_sub(remaining));
        add(&counters.total, hits);
        add(&counters.within, hits);
        add(&counters.near, u64::try_from(used.saturating_sub(near)).unwrap_or(u64::MAX).min(hits));
    }

    /// A descriptor that the rule refused.
    pub(crate) fn over(&self, rule: &Rule, hits: u64) {
        let counters = self.of(rule);
        add(&counters.total, hits);
        add(&counters.over, hits);
    }

    /// A descriptor for which the rule is a shadow.
    pub(crate) fn shadow(&self, rule: &Rule, hits: u64, would_refuse: bool) {
        let counters = self.of(rule);
        add(&counters.total, hits);
        if would_refuse {
            add(&counters.over, hits);
            add(&counters.shadow, hits);
        } else {
            add(&counters.within, hits);
        }
    }

    pub(crate) fn request(&self) {
        add(&self.requests, 1);
    }

    pub(crate) fn error(&self) {
        add(&self.errors, 1);
    }

    /// Rules were read, or could not be.
    pub fn load(&self, is_good: bool) {
        add(if is_good { &self.loaded } else { &self.not_loaded }, 1);
    }

    /// Requests, and those that were answered with an error.
    #[must_use]
    pub fn requests(&self) -> (u64, u64) {
        (read(&self.requests), read(&self.errors))
    }

    /// How often rules were read, and how often they could not be.
    #[must_use]
    pub fn loads(&self) -> (u64, u64) {
        (read(&self.loaded), read(&self.not_loaded))
    }

    /// The counts of each rule that ever limited a descriptor, by name.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleCounts> {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        let counts = |name: &str, counters: &Counters| RuleCounts {
            name: name.to_owned(),
            group: counters.group.as_deref().map(str::to_owned),
            total_hits: read(&counters.total),
            within_limit: read(&counters.within),
            near_limit: read(&counters.near),
            over_limit: read(&counters.over),
            shadow_mode: read(&counters.shadow),
        };
        rules.iter().map(|(name, counters)| counts(name, counters)).collect()
    }
}

#[cfg(test)]
mod tests {
    use ratecell::rules::Rules;

    use super::*;

    #[test]
    fn hits_above_four_fifths_are_near() {
        let rules = "ratecell_rules = 1\n[[rule]]\nname = 'r'\ngroup = 'd'\nkey = []\nlimit = '10/s'\n\
                     [[rule]]\nname = 's'\nkey = []\nlimit = '10/s'\n";
        let rules = Rules::parse(rules).expect("rules");
        let (r, s) = (rules.rule(0), rules.rule(1));
        let counts = Counts::default();
        counts.within(r, 3, 10, 2);
        assert_eq!(counts.rules()[0].near_limit, 0);
        counts.within(r, 1, 10, 1);
        assert_eq!(counts.rules()[0].near_limit, 1);
        counts.within(r, 5, 10, 0);
        counts.over(r, 2);
        counts.shadow(s, 4, true);
        counts.shadow(s, 1, false);
        let text = |text: &str| text.to_owned();
        let expected = [
            RuleCounts {
                name: text("r"),
                group: Some(text("d")),
                total_hits: 11,
                within_limit: 9,
                near_limit: 3,
                over_limit: 2,
                shadow_mode: 0,
            },
            RuleCounts {
                name: text("s"),
                total_hits: 5,
                within_limit: 1,
                over_limit: 4,
                shadow_mode: 4,
                ..RuleCounts::default()
            },
        ];
        assert_eq!(counts.rules(), expected);
    }
}
