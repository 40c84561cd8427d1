//! A suggestion as text for a person.

use std::collections::BTreeSet;
use std::fmt;

use super::report::{PartReport, PolicyReport, RateReport, Report};
use crate::output::{percent, printable, table};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.log)?;
        let rows = self.rates.iter().map(rate).collect();
        let heading = ["window", "half of clients", "90 %", "99 %", "99.9 %", "most", "by"];
        writeln!(f, "\nunits in the busiest window of each client\n{}", table(heading, 1, rows))?;
        writeln!(f, "\nwish       {}", self.wish)?;
        writeln!(f, "behaves    {}", self.behaviour())?;
        writeln!(f, "fitted     before {}, tried from then on", self.cut)?;
        if self.crowded == Some(0) {
            write!(f, "\nall clients together never asked for more before {}: no limit is needed", self.cut)?;
        }
        if !self.policies.is_empty() {
            let rows = self.policies.iter().map(policy).collect();
            let heading = [
                "policy",
                "denied %",
                "keys denied",
                "tried: denied %",
                "keys denied",
                "of keys at most %",
                "holds",
            ];
            write!(f, "\n{}", table(heading, 1, rows))?;
        }
        let mut kinds = BTreeSet::new();
        for policy in self.policies.iter().filter(|policy| kinds.insert(policy.kind)) {
            most_denied(f, policy)?;
        }
        if !self.too_loose.is_empty() && !self.policies.is_empty() {
            write!(f, "\n\nallow too much: {}", self.too_loose.join(", "))?;
        }
        for warning in self.warnings() {
            write!(f, "\n\nwarning: {warning}")?;
        }
        let Some(best) = self.policies.first().filter(|policy| policy.holds) else { return Ok(()) };
        write!(f, "\n\n{}", reasons(best, self.crowded.is_some()))?;
        write!(f, "\n\nsuggested  {}", best.policy)
    }
}

fn rate(rate: &RateReport) -> [String; 7] {
    let RateReport { window, p50, p90, p99, p999, most, most_by } = rate;
    let by = printable(most_by.as_bytes());
    [
        (*window).to_owned(),
        p50.to_string(),
        p90.to_string(),
        p99.to_string(),
        p999.to_string(),
        most.to_string(),
        by,
    ]
}

fn policy(policy: &PolicyReport) -> [String; 7] {
    let PolicyReport { fitted, rest, .. } = policy;
    let share = |part: &PartReport| {
        if part.requests == 0 { String::new() } else { percent(part.denied, part.requests) }
    };
    [
        policy.policy.clone(),
        share(fitted),
        format!("{} of {}", fitted.keys_denied, fitted.keys),
        share(rest),
        format!("{} of {}", rest.keys_denied, rest.keys),
        policy.at_most.map(|share| format!("{:.2}", 100.0 * share)).unwrap_or_default(),
        if policy.holds { "yes" } else { "no" }.to_owned(),
    ]
}

fn most_denied(f: &mut fmt::Formatter<'_>, policy: &PolicyReport) -> fmt::Result {
    if policy.top_denied.is_empty() {
        return Ok(());
    }
    let rows = policy
        .top_denied
        .iter()
        .map(|key| [printable(key.key.as_bytes()), key.denied.to_string(), key.allowed.to_string()]);
    write!(
        f,
        "\n\nmost denied by {}\n{}",
        policy.policy,
        table(["key", "denied", "allowed"], 1, rows.collect())
    )
}

/// Why a policy is the one that is suggested.
fn reasons(policy: &PolicyReport, is_protecting: bool) -> String {
    let PolicyReport { fitted, rest, .. } = policy;
    let neighbour = match &policy.neighbour {
        Some(neighbour) if is_protecting => format!("{neighbour}, the next one, would allow too much"),
        Some(neighbour) => format!("{neighbour}, the next one, would deny too much"),
        None => "no limit is tighter".to_owned(),
    };
    let at_most = policy.at_most.map_or_else(String::new, |share| {
        format!(
            ", so that at most {:.2} % of {} are denied, with a confidence of 95 %",
            100.0 * share,
            policy.at_most_of,
        )
    });
    format!(
        "{} denies {} of {} requests that it was fitted on; {neighbour}. Of {} requests that it was not fitted on it \
         denies {}: of {} of {} clients, and of {} of the {} that behave{at_most}.",
        policy.policy,
        fitted.denied,
        fitted.requests,
        rest.requests,
        rest.denied,
        rest.keys_denied,
        rest.keys,
        rest.behaving_denied,
        rest.behaving,
    )
}
