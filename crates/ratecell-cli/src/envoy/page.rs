//! The metrics of the service: under the names of envoyproxy/ratelimit, and ours.

use ratecell::metrics::{self, Kind, Metric, Value};
use ratecell_envoy::{RuleCounts, Service};

use crate::export::{Format, Label, Text};

/// A metric of each rule.
type OfRule = (Metric, fn(&RuleCounts) -> u64);

const fn counter(name: &'static str, help: &'static str) -> Metric {
    Metric::new(name, "", Kind::Counter, help)
}

/// As the exporter of envoyproxy/ratelimit's examples names them, without `_total`.
const RULES: [OfRule; 5] = [
    (counter("ratelimit_service_rate_limit_total_hits", "Hits that the limit applied to."), |rule| {
        rule.total_hits
    }),
    (counter("ratelimit_service_rate_limit_within_limit", "Hits that were not refused."), |rule| {
        rule.within_limit
    }),
    (
        counter(
            "ratelimit_service_rate_limit_near_limit",
            "Hits that were not refused, above 80 % of the limit.",
        ),
        |rule| rule.near_limit,
    ),
    (
        counter(
            "ratelimit_service_rate_limit_over_limit",
            "Hits that were refused, or would be by a shadow.",
        ),
        |rule| rule.over_limit,
    ),
    (counter("ratelimit_service_rate_limit_shadow_mode", "Hits that a shadow would refuse."), |rule| {
        rule.shadow_mode
    }),
];
const REQUESTS: Metric = counter("ratelimit_service_total_requests", "Requests.");
const ERRORS: Metric =
    counter("ratelimit_service_should_rate_limit_error", "Requests that were answered with an error.");
const LOADED: Metric = counter("ratelimit_service_config_load_success", "How often the rules were read.");
const NOT_LOADED: Metric =
    counter("ratelimit_service_config_load_error", "How often the rules could not be read.");
const BUILD: Metric =
    Metric::new("ratecell_build_info", "", Kind::Gauge, "1; the label is the version of the program.");

/// The labels of the parts of a rule's name.
const KEYS: [&str; 8] = ["key1", "key2", "key3", "key4", "key5", "key6", "key7", "key8"];

/// The type and the text. Names of envoyproxy/ratelimit are none of OpenMetrics'.
pub(super) fn metrics(service: &Service) -> (&'static str, String) {
    let mut text = Text::new(Format::Prometheus);
    let counts = service.counts();
    let rules = counts.rules();
    for (metric, of) in &RULES {
        text.family(metric, rules.iter().map(|rule| (labels(rule), Value::Count(of(rule)))));
    }
    let (requests, errors) = counts.requests();
    let (loaded, not_loaded) = counts.loads();
    for (metric, labels, count) in [
        (&REQUESTS, vec![("grpc_method", "ShouldRateLimit")], requests),
        (&ERRORS, vec![("err_type", "service_error")], errors),
        (&LOADED, vec![], loaded),
        (&NOT_LOADED, vec![], not_loaded),
        (&BUILD, vec![("version", env!("CARGO_PKG_VERSION"))], 1),
    ] {
        text.family(metric, [(labels, Value::Count(count))]);
    }
    for sample in metrics::samples(&service.limiter().stats(), None) {
        text.family(sample.metric, [(Vec::new(), sample.value)]);
    }
    (Format::Prometheus.content_type(), text.end())
}

/// The domain and the keys, as the name of an imported rule has them.
fn labels(rule: &RuleCounts) -> Vec<Label<'_>> {
    let domain = rule.group.as_deref().unwrap_or_default();
    let below = || rule.name.strip_prefix(domain)?.strip_prefix('.');
    let keys = below().unwrap_or(&rule.name);
    let keys = KEYS.iter().copied().zip(keys.splitn(KEYS.len(), '.'));
    [("domain", domain)].into_iter().chain(keys).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_parts_of_a_name() {
        let of = |name: &str, group: Option<&str>| {
            let mut rule = RuleCounts::default();
            (rule.name, rule.group) = (name.to_owned(), group.map(str::to_owned));
            labels(&rule).iter().map(|(label, text)| format!("{label}={text}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("rl.foo.bar_x", Some("rl")), "domain=rl key1=foo key2=bar_x");
        assert_eq!(of("api.example.com.user", Some("api.example.com")), "domain=api.example.com key1=user");
        assert_eq!(of("site", None), "domain= key1=site");
        assert_eq!(of("rlx.y", Some("rl")), "domain=rl key1=rlx key2=y");
        assert!(of("d.1.2.3.4.5.6.7.8.9", Some("d")).ends_with("key7=7 key8=8.9"));
    }
}
