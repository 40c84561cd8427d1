//! The answers of rules, by a limiter.

use std::time::{Duration, UNIX_EPOCH};

use ratecell::rules::{Answer, Rules, RulesLimiter};
use ratecell_vectors::{DecidesRules, Judge, decided_by};

use super::keys::MAX_KEYS;

struct Limits(RulesLimiter);

impl DecidesRules for Limits {
    fn decide(&mut self, attributes: &[(String, String)], now_ns: u64) -> Option<Answer> {
        let decision = self.0.decide_at(attributes, now_ns);
        (!decision.is_unclear_path()).then(|| (*decision).clone())
    }
}

/// What judges the rows of a kind of files.
pub(crate) fn judge(kind: &str) -> Option<Judge> {
    let make = |rules: Rules| {
        // The vectors count from the epoch that a policy without a limiter has.
        let epoch = rules.policies().first().and_then(|one| u64::try_from(one.policy().epoch()).ok());
        let epoch = UNIX_EPOCH + Duration::from_secs(epoch.unwrap_or(0));
        Ok(Limits(RulesLimiter::builder(rules).max_keys(MAX_KEYS).epoch(epoch).build()?))
    };
    (kind == "rules_decide").then(|| decided_by(make))
}
