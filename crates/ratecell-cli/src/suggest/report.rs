//! What is suggested: what `--json` prints, and what the tables are made of.

use jiff::Timestamp;
use ratecell_study::{Candidate, Found, Kind, LEEWAY, Part, SCALES, Spread, Study, Suggestion, Wish};
use serde::Serialize;

use crate::log::{Keys, LogReport, Period};

/// The fields and their order are the documented ones.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    pub(super) log: LogReport,
    pub(super) rates: Vec<RateReport>,
    pub(super) wish: String,
    /// The most units in a window of a client that behaves, by the length of the window.
    pub(super) behaves: Vec<BehaviourReport>,
    /// From here on policies are not fitted, but tried.
    pub(super) cut: Timestamp,
    /// Windows of the fitted part in which all clients together ask for more than `--protect`.
    pub(super) crowded: Option<usize>,
    /// The best one first.
    pub(super) policies: Vec<PolicyReport>,
    /// The tightest policies that still allow too much.
    pub(super) too_loose: Vec<String>,
    /// The best one.
    pub(super) suggested: Option<String>,
}

/// The units in the busiest window of each client.
#[derive(Debug, Serialize)]
pub(super) struct RateReport {
    pub(super) window: &'static str,
    pub(super) p50: u64,
    pub(super) p90: u64,
    pub(super) p99: u64,
    pub(super) p999: u64,
    pub(super) most: u64,
    pub(super) most_by: String,
}

#[derive(Debug, Serialize)]
pub(super) struct BehaviourReport {
    pub(super) window: &'static str,
    pub(super) most: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct PolicyReport {
    pub(super) policy: String,
    pub(super) fitted: PartReport,
    pub(super) rest: PartReport,
    /// Whether it does what is wished on the rest, too.
    pub(super) holds: bool,
    /// The share of clients that are denied at most, with a confidence of 95 %.
    pub(super) at_most: Option<f64>,
    /// Of which clients that is.
    #[serde(skip)]
    pub(super) at_most_of: &'static str,
    /// The next policy that does not do what is wished.
    pub(super) neighbour: Option<String>,
    pub(super) top_denied: Vec<KeyReport>,
    #[serde(skip)]
    pub(super) kind: Kind,
}

#[derive(Debug, Serialize)]
pub(super) struct PartReport {
    pub(super) requests: u64,
    pub(super) denied: u64,
    pub(super) keys: u64,
    pub(super) keys_denied: u64,
    pub(super) behaving: u64,
    pub(super) behaving_denied: u64,
    /// With `--protect`, the most units that it allowed in a window in which more was asked for.
    pub(super) most_allowed: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct KeyReport {
    pub(super) key: String,
    pub(super) denied: u64,
    pub(super) allowed: u64,
}

impl Report {
    pub(super) fn new(
        log: LogReport,
        study: &Study,
        suggestion: &Suggestion,
        keys: &Keys,
        period: Period,
    ) -> Self {
        let wish = study.wish();
        let is_protecting = matches!(wish, Wish::Protect { .. });
        let policies = suggestion.found.iter().map(|found| PolicyReport::new(found, wish, keys));
        let policies: Vec<_> = policies.collect();
        Self {
            log,
            rates: study.spreads().iter().map(|spread| RateReport::new(spread, keys)).collect(),
            wish: wish.to_string(),
            behaves: SCALES
                .iter()
                .zip(study.behaviour().most)
                .map(|(scale, most)| BehaviourReport { window: scale.text, most })
                .collect(),
            cut: period.at(study.cut_ns()),
            crowded: is_protecting.then(|| study.crowded()),
            suggested: policies.first().filter(|policy| policy.holds).map(|policy| policy.policy.clone()),
            too_loose: suggestion.none.iter().filter_map(text).collect(),
            policies,
        }
    }

    /// What is to be said of the log, and of suggestions that nothing can be built on.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let none_holds = (!self.policies.is_empty() && self.suggested.is_none()).then(|| {
            format!(
                "no policy that was fitted before {} does what is wished after it: clients changed, so give a longer log or a weaker wish",
                self.cut,
            )
        });
        // They are in the order of their periods.
        let tightest = self.too_loose.last().filter(|_| self.policies.is_empty());
        let none_found = tightest.map(|tightest| {
            format!("even {tightest} allows more than what is wished: limit all clients together, by a rule with an empty key")
        });
        let is_needed = self.crowded != Some(0);
        let none_is_loose = (self.policies.is_empty() && self.too_loose.is_empty() && is_needed).then(|| {
            format!(
                "no limit below 2^32 in any of these periods is loose enough: choose another --cost than {}",
                self.log.assumed.cost,
            )
        });
        self.log.warnings().chain(none_holds).chain(none_found).chain(none_is_loose)
    }

    /// Who behaves, in words.
    pub(super) fn behaviour(&self) -> String {
        let bounds = self.behaves.iter().map(|bound| format!("{} in {}", bound.most, bound.window));
        let bounds: Vec<_> = bounds.collect();
        format!(
            "a client with at most {}: {LEEWAY} times the busiest window of the client at the 99th percentile",
            bounds.join(", "),
        )
    }
}

impl RateReport {
    fn new(spread: &Spread, keys: &Keys) -> Self {
        let [p50, p90, p99, p999] = spread.percentiles;
        let (most, client) = spread.most;
        Self { window: spread.scale.text, p50, p90, p99, p999, most, most_by: key(keys, client) }
    }
}

impl PolicyReport {
    fn new(found: &Found, wish: Wish, keys: &Keys) -> Self {
        let denied = found.trial.most_denied.iter().map(|denied| KeyReport {
            key: key(keys, denied.client),
            denied: denied.denied,
            allowed: denied.requests - denied.denied,
        });
        Self {
            policy: found.policy.to_string(),
            fitted: PartReport::new(&found.trial.fitted, wish),
            rest: PartReport::new(&found.trial.rest, wish),
            holds: found.holds,
            at_most: found.at_most(wish),
            at_most_of: match wish {
                Wish::DenyNobody => "clients that behave",
                Wish::DenyAtMost { .. } | Wish::Protect { .. } => "all clients",
            },
            neighbour: found.neighbour.as_ref().and_then(text),
            top_denied: denied.collect(),
            kind: found.candidate.kind,
        }
    }
}

impl PartReport {
    fn new(part: &Part, wish: Wish) -> Self {
        Self {
            requests: part.requests,
            denied: part.denied,
            keys: part.clients,
            keys_denied: part.clients_denied,
            behaving: part.behaving,
            behaving_denied: part.behaving_denied,
            most_allowed: matches!(wish, Wish::Protect { .. }).then_some(part.most_allowed),
        }
    }
}

fn text(candidate: &Candidate) -> Option<String> {
    candidate.policy().ok().map(|policy| policy.to_string())
}

/// A key by its number.
fn key(keys: &Keys, number: usize) -> String {
    keys.get_index(number).map(|key| String::from_utf8_lossy(key).into_owned()).unwrap_or_default()
}
