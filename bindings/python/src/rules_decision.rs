//! `RulesDecision`: the answer of rules.

use std::time::{SystemTime, UNIX_EPOCH};

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arguments::NowUnix;
use crate::decision::{member, name, seconds};
use crate::fields::chosen;

/// The answer of rules to one request: true if it may go. Its figures are those of `rule`.
///
/// It keeps the rules that it was decided by, whatever they are changed to: drop it when the response is sent.
#[pyclass(frozen, module = "ratecell")]
pub(crate) struct RulesDecision {
    decision: ratecell::rules::RulesDecision,
}

impl From<ratecell::rules::RulesDecision> for RulesDecision {
    fn from(decision: ratecell::rules::RulesDecision) -> Self {
        Self { decision }
    }
}

#[pymethods]
impl RulesDecision {
    fn __bool__(&self) -> bool {
        self.decision.is_allowed()
    }

    /// Whether the request may go: what `bool(decision)` says.
    #[getter]
    fn allowed(&self) -> bool {
        self.decision.is_allowed()
    }

    /// How the request was decided: the gravest outcome of the rules that limit it, ALLOWED if there is none.
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        member(py, self.decision.outcome)
    }

    /// The name of the rule that refused; of an allowed request, that of the rule which runs out first. `limit`, `remaining`
    /// and `reset_after` are its. None, and they are 0, if no rule limits the request, or its path is unclear.
    #[getter]
    fn rule(&self) -> Option<&str> {
        self.decision.rule_name().or_else(|| self.decision.shown_name())
    }

    /// Whether the path can be read in several ways, which the file refuses. Nothing was charged; the answer is 400.
    #[getter]
    fn is_unclear_path(&self) -> bool {
        self.decision.is_unclear_path()
    }

    /// Seconds until the same request would be allowed, with no other traffic on its keys: 0.0 if it was allowed, None
    /// if it never can be.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.retry_after_ns().map(seconds)
    }

    /// `retry_after` in nanoseconds.
    #[getter]
    fn retry_after_ns(&self) -> Option<u64> {
        self.decision.retry_after().map(|_| self.decision.retry_after_ns)
    }

    /// Seconds to hold the allowed request before it goes on: 0.0 except where a `leaky_queue` limits it.
    #[getter]
    fn delay(&self) -> f64 {
        seconds(self.decision.delay_ns)
    }

    /// `delay` in nanoseconds.
    #[getter]
    fn delay_ns(&self) -> u64 {
        self.decision.delay_ns
    }

    /// The most units that can pass the rule at one instant.
    #[getter]
    fn limit(&self) -> u64 {
        self.decision.shown.map_or(0, |shown| shown.limit)
    }

    /// Units that the rule would allow at this same instant, after this decision.
    #[getter]
    fn remaining(&self) -> u64 {
        self.decision.shown.map_or(0, |shown| shown.remaining)
    }

    /// Seconds until the rule's key is as good as never used.
    #[getter]
    fn reset_after(&self) -> f64 {
        seconds(self.reset_after_ns())
    }

    /// `reset_after` in nanoseconds.
    #[getter]
    fn reset_after_ns(&self) -> u64 {
        self.decision.shown.map_or(0, |shown| shown.reset_after_ns)
    }

    /// The name and the outcome of each shadow rule that applies, in the order of the file.
    #[getter]
    fn shadow<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&str, Bound<'py, PyAny>)>> {
        self.decision.shadows().map(|(rule, outcome)| Ok((rule, member(py, outcome)?))).collect()
    }

    /// The fields of the response in these styles, one name or several, as (name, value), of the rules that limit the
    /// request, each named by its rule. `now_unix_ns` is the time of the decision in nanoseconds since 1970, None is now;
    /// it is for the styles that write an instant. Shadow rules and blocked requests have no fields.
    #[pyo3(
        signature = (styles=None, *, now_unix_ns=None),
        text_signature = "($self, styles='draft11', *, now_unix_ns=None)"
    )]
    fn fields(
        &self,
        styles: Option<&Bound<'_, PyAny>>,
        now_unix_ns: Option<NowUnix>,
    ) -> PyResult<Vec<(&'static str, String)>> {
        let names = match styles {
            None => vec!["draft11".to_owned()],
            Some(styles) if styles.is_instance_of::<PyString>() => vec![styles.extract()?],
            Some(styles) => styles.try_iter()?.map(|style| style?.extract()).collect::<PyResult<Vec<_>>>()?,
        };
        let now_unix_ns = now_unix_ns.map_or_else(unix_ns, |NowUnix(now)| now);
        let fields = self.decision.fields(chosen(&names)?, now_unix_ns);
        Ok(fields.iter().map(|(name, value)| (name, value.to_string())).collect())
    }

    fn __repr__(&self) -> String {
        let rule = self.rule().map_or_else(String::new, |rule| {
            format!(": {rule} limit={} remaining={}", self.limit(), self.remaining())
        });
        let outcome = if self.is_unclear_path() { "unclear_path" } else { name(self.decision.outcome) };
        format!("<RulesDecision {outcome}{rule}>")
    }
}

/// Nanoseconds since 1970; 0 before.
fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
