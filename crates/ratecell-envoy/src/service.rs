//! The service: a request's answer by the rules.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ratecell::BuildError;
use ratecell::fields::Style;
#[cfg(doc)]
use ratecell::rules::RulesLimiterBuilder;
use ratecell::rules::{Rules, RulesDecision, RulesLimiter};
use tonic::Status;

use crate::counts::Counts;
use crate::descriptor::Described;
use crate::proto::{
    self, Code, DescriptorStatus, HeaderValue, RateLimit, RateLimitRequest, RateLimitResponse, Unit,
};

/// The fields that responses to clients get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseFields {
    /// None: Envoy can write some itself.
    #[default]
    None,
    /// `RateLimit` and `RateLimit-Policy`, of draft 11.
    Draft,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`, in seconds from now.
    Legacy,
}

/// The zero of the limiter's times: a Monday, as for all limiters, from which windows of 30 and of 365 days are those from
/// 1970 on.
const EPOCH: Duration = Duration::from_secs(6_570 * 86_400);

/// Begins a limiter whose windows of any length are aligned as those of envoyproxy/ratelimit: whole ones since 1970. It has
/// no effect in a file, which has an epoch of its own.
///
/// # Errors
/// As [`RulesLimiterBuilder::build`], or with a file [`RulesLimiterBuilder::open`].
pub fn limiter(
    rules: Rules,
    max_keys: Option<usize>,
    file: Option<&Path>,
) -> Result<RulesLimiter, BuildError> {
    let mut builder = RulesLimiter::builder(rules);
    if let Some(max_keys) = max_keys {
        builder = builder.max_keys(max_keys);
    }
    match file {
        // The rules of this service hold, as after a change of them.
        Some(file) => builder.change().open(file),
        None => builder.epoch(UNIX_EPOCH + EPOCH).build(),
    }
}

/// Envoy's rate limit service by a limiter.
#[derive(Debug)]
pub struct Service {
    limiter: RulesLimiter,
    fields: Option<Style>,
    counts: Counts,
}

impl Service {
    /// Decides by this limiter, which is not one that only reserves.
    #[must_use]
    pub fn new(limiter: RulesLimiter, fields: ResponseFields) -> Self {
        let fields = match fields {
            ResponseFields::None => None,
            ResponseFields::Draft => Some(Style::Draft11),
            ResponseFields::Legacy => Some(Style::X),
        };
        Self { limiter, fields, counts: Counts::default() }
    }

    /// What it decides by.
    #[must_use]
    pub fn limiter(&self) -> &RulesLimiter {
        &self.limiter
    }

    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// `ShouldRateLimit`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: no domain, no descriptor, a limit of the request's own, or hits to give back. Nothing is charged.
    pub fn should_rate_limit(&self, request: &RateLimitRequest) -> Result<RateLimitResponse, Status> {
        self.counts.request();
        check(request).inspect_err(|_| self.counts.error())?;
        let mut response =
            RateLimitResponse { overall_code: Code::Ok.into(), ..RateLimitResponse::default() };
        let mut shown: Option<(bool, u64, RulesDecision)> = None;
        for descriptor in &request.descriptors {
            let described = Described::new(request, descriptor);
            let decision = self.limiter.decide(&described);
            self.count(&decision, described.hits());
            let status = status(&decision);
            if !decision.is_allowed() {
                response.overall_code = Code::OverLimit.into();
            }
            response.statuses.push(status);
            // What refused, or what runs out first.
            let rank = (decision.is_allowed(), decision.shown.map_or(u64::MAX, |shown| shown.remaining));
            if shown.as_ref().is_none_or(|(allowed, remaining, _)| rank < (*allowed, *remaining)) {
                shown = Some((rank.0, rank.1, decision));
            }
        }
        if let (Some(style), Some((_, _, decision))) = (self.fields, &shown) {
            let fields = decision.fields(style, unix_ns());
            let field = |(name, value): (&str, ratecell::fields::Value<'_>)| HeaderValue {
                key: name.to_owned(),
                value: value.to_string(),
            };
            response.response_headers_to_add = fields.iter().map(field).collect();
        }
        Ok(response)
    }

    fn count(&self, decision: &RulesDecision, hits: u64) {
        let rules = decision.rules();
        match (decision.rule, decision.shown) {
            (Some(rule), _) => self.counts.over(rules.rule(rule), hits),
            (None, Some(shown)) => {
                self.counts.within(rules.rule(shown.rule), hits, shown.limit, shown.remaining);
            }
            (None, None) => {}
        }
        for (rule, outcome) in &decision.shadow {
            self.counts.shadow(rules.rule(*rule), hits, *outcome != ratecell::Outcome::Allowed);
        }
    }
}

/// What is wrong with a request.
fn check(request: &RateLimitRequest) -> Result<(), Status> {
    let wrong = |why| Err(Status::invalid_argument(why));
    if request.domain.is_empty() {
        return wrong("the domain is empty: expected that of the limits");
    }
    if request.descriptors.is_empty() {
        return wrong("no descriptor: expected at least one");
    }
    if request.descriptors.iter().any(|one| one.limit.is_some()) {
        return wrong("a descriptor with a limit of its own: expected none, the rules have the limits");
    }
    if request.descriptors.iter().any(|one| one.is_negative_hits) {
        return wrong("a descriptor with negative hits: expected hits to charge");
    }
    Ok(())
}

fn status(decision: &RulesDecision) -> DescriptorStatus {
    let code = if decision.is_allowed() { Code::Ok } else { Code::OverLimit };
    let Some(shown) = decision.shown else {
        return DescriptorStatus { code: code.into(), ..DescriptorStatus::default() };
    };
    let rules = decision.rules();
    let policies = rules.policies();
    let first = policies.partition_point(|policy| policy.rule() < shown.rule);
    let of_rule = policies[first..].iter().take_while(|policy| policy.rule() == shown.rule);
    // Of a rule with tiers, that whose capacity it is.
    let policy = of_rule.map(|policy| policy.policy()).find(|policy| policy.capacity() == shown.limit);
    let (requests, period_ns) = match policy.map(|policy| policy.layers()) {
        Some([layer]) => layer.rate(),
        _ => (shown.limit, 0),
    };
    let reset_ns = if decision.is_allowed() { shown.reset_after_ns } else { decision.retry_after_ns };
    DescriptorStatus {
        code: code.into(),
        current_limit: Some(RateLimit {
            requests_per_unit: u32::try_from(requests).unwrap_or(u32::MAX),
            unit: Unit::of(period_ns).into(),
            name: rules.rule(shown.rule).name().to_owned(),
        }),
        limit_remaining: u32::try_from(shown.remaining).unwrap_or(u32::MAX),
        duration_until_reset: (reset_ns != ratecell::Decision::NEVER).then(|| duration(reset_ns)),
    }
}

fn duration(ns: u64) -> proto::Duration {
    const SECOND: u64 = 1_000_000_000;
    // Below 2^35 seconds, and below a second.
    proto::Duration {
        seconds: i64::try_from(ns / SECOND).unwrap_or(i64::MAX),
        nanos: i32::try_from(ns % SECOND).unwrap_or(0),
    }
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
