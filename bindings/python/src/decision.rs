//! `Decision`: the answer of a limiter.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use ratecell::Outcome;

use crate::decision_cell::DecisionCell;

/// The answer of a limiter to one request: true if it may go.
///
/// A denial is an answer, not an exception. Times are relative to the request's, exact in the `_ns` twins and
/// the nearest float otherwise.
#[pyclass(frozen, freelist = 64, module = "ratecell")]
pub(crate) struct Decision {
    pub(crate) cell: DecisionCell,
}

impl From<ratecell::Decision> for Decision {
    fn from(decision: ratecell::Decision) -> Self {
        Self { cell: DecisionCell::new(decision) }
    }
}

impl Decision {
    /// The decision itself.
    #[inline]
    pub(crate) fn value(&self) -> ratecell::Decision {
        self.cell.get()
    }
}

/// The nearest float: what a Python program sleeps by.
#[expect(clippy::cast_precision_loss, reason = "seconds are given as the nearest float")]
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// The outcome as the member of `ratecell.Outcome`.
pub(crate) fn member(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyAny>> {
    static ENUM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    ENUM.import(py, "ratecell._outcome", "Outcome")?.call1((outcome as i32,))
}

#[pymethods]
impl Decision {
    fn __bool__(&self) -> bool {
        self.value().is_allowed()
    }

    /// Whether the request may go: what `bool(decision)` says.
    #[getter]
    fn allowed(&self) -> bool {
        self.value().is_allowed()
    }

    /// How the request was decided.
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        member(py, self.value().outcome())
    }

    /// The most units that can pass at one instant; of several layers, that of `layer`.
    #[getter]
    fn limit(&self) -> u64 {
        self.value().limit()
    }

    /// Units that would be allowed at this same instant, after this decision.
    #[getter]
    fn remaining(&self) -> u64 {
        self.value().remaining()
    }

    /// Seconds until the same cost would be allowed, with no other traffic on the key: 0.0 if it was
    /// allowed, None if it never can be.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.retry_after_ns().map(seconds)
    }

    /// `retry_after` in nanoseconds: exact, 1 ns earlier the same cost is still denied.
    #[getter]
    fn retry_after_ns(&self) -> Option<u64> {
        self.value().retry_after().map(|_| self.value().retry_after_ns())
    }

    /// Seconds until the key is as good as never used.
    #[getter]
    fn reset_after(&self) -> f64 {
        seconds(self.value().reset_after_ns())
    }

    /// `reset_after` in nanoseconds.
    #[getter]
    fn reset_after_ns(&self) -> u64 {
        self.value().reset_after_ns()
    }

    /// Seconds to hold the allowed request before it goes on: 0.0 except for a `leaky_queue`. Of a refusal within
    /// a delay, the one that it would be given.
    #[getter]
    fn delay(&self) -> f64 {
        seconds(self.value().delay_ns())
    }

    /// `delay` in nanoseconds.
    #[getter]
    fn delay_ns(&self) -> u64 {
        self.value().delay_ns()
    }

    /// Seconds until one unit more than `remaining` would be allowed, with no other traffic on the key: None where
    /// there is no such time, and where the request did not ask `with_next`.
    #[getter]
    fn next_after(&self) -> Option<f64> {
        self.next_after_ns().map(seconds)
    }

    /// `next_after` in nanoseconds.
    #[getter]
    fn next_after_ns(&self) -> Option<u64> {
        self.value().next_after().map(|_| self.value().next_ns())
    }

    /// Which of the policy's layers has the least `remaining`: the one to name to the client that was refused.
    /// Counted from 0; 0 where there is one layer.
    #[getter]
    fn layer(&self) -> usize {
        self.value().layer()
    }

    /// Whether a full table denied, which had no place for the key, and not the policy.
    #[getter]
    fn without_place(&self) -> bool {
        self.value().is_without_place()
    }

    /// Whether the limiter's units are those of many machines. `remaining` is then a lower bound, and `reset_after` the
    /// end of what this machine holds.
    #[getter]
    fn is_leased(&self) -> bool {
        self.value().is_leased()
    }

    /// Whether the store of many machines did not answer, so that `on_failure` or the end of the wait decided. The
    /// `retry_after` of a denial is then None: it is not known.
    #[getter]
    fn is_unanswered(&self) -> bool {
        self.value().is_unanswered()
    }

    /// Whether it was refused, with NEVER and nothing charged, for it named no zone though the policy has tz=caller.
    #[getter]
    fn without_zone(&self) -> bool {
        self.value().is_without_zone()
    }

    /// How many units a release gave back, of several layers `in_flight` the least; 0 of every other decision.
    #[getter]
    fn given_back(&self) -> u32 {
        self.value().given_back()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Parts,))> {
        Ok((maker(py, "decision")?, (parts(&self.value()),)))
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.value() == other.value()
    }

    fn __hash__(&self) -> u64 {
        let decision = self.value();
        let mut hasher = DefaultHasher::new();
        let numbers = (decision.limit(), decision.remaining(), decision.reset_after_ns());
        (decision.outcome(), numbers).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let decision = self.value();
        let retry_after = self.retry_after().map_or_else(|| "None".to_owned(), |at| format!("{at:?}"));
        format!(
            "<Decision {}: limit={} remaining={} retry_after={retry_after} reset_after={:?}>",
            name(decision.outcome()),
            decision.limit(),
            decision.remaining(),
            self.reset_after()
        )
    }
}

/// A decision as a pickle has it: outcome, limit, remaining, `retry_after_ns`, `reset_after_ns`, `delay_ns`, layer,
/// `next_ns` (0 for none), notes and the units that came back.
pub(crate) type Parts = (i32, u64, u64, u64, u64, u64, u32, u64, u32, u32);

pub(crate) fn parts(decision: &ratecell::Decision) -> Parts {
    let outcome = decision.outcome() as i32;
    let (retry, reset) = (decision.retry_after_ns(), decision.reset_after_ns());
    // There are at most eight layers.
    let layer = u32::try_from(decision.layer()).unwrap_or(u32::MAX);
    let (limit, remaining, delay) = (decision.limit(), decision.remaining(), decision.delay_ns());
    let (next, notes, given_back) = (decision.next_ns(), decision.notes(), decision.given_back());
    (outcome, limit, remaining, retry, reset, delay, layer, next, notes, given_back)
}

pub(crate) fn of_parts(parts: Parts) -> PyResult<ratecell::Decision> {
    let (outcome, limit, remaining, retry, reset, delay, layer, next, notes, given_back) = parts;
    let Some((outcome, _)) = OUTCOMES.into_iter().find(|(known, _)| *known as i32 == outcome) else {
        return Err(PyValueError::new_err(format!("outcome is {outcome}: expected 0 to 4")));
    };
    let decision = ratecell::Decision::new(outcome, limit, remaining, retry, reset, delay, layer);
    Ok(decision.with_next(next).with_notes(notes).with_given_back(given_back))
}

/// The function of this module that makes a pickled object again.
pub(crate) fn maker<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("ratecell._native")?.getattr(name)
}

/// The decision of these parts, as a pickle has them: outcome, limit, remaining, retry_after_ns, reset_after_ns,
/// delay_ns, layer, next_after_ns (0 for none), notes and given_back.
#[pyfunction]
pub(crate) fn decision(parts: Parts) -> PyResult<Decision> {
    of_parts(parts).map(Decision::from)
}

/// The outcomes by their names.
const OUTCOMES: [(Outcome, &str); 5] = [
    (Outcome::Allowed, "allowed"),
    (Outcome::Denied, "denied"),
    (Outcome::Never, "never"),
    (Outcome::ClockRange, "clock_range"),
    (Outcome::Asked, "asked"),
];

/// The name of an outcome.
pub(crate) fn name(outcome: Outcome) -> &'static str {
    OUTCOMES.into_iter().find(|(known, _)| *known == outcome).map_or("unknown", |(_, name)| name)
}
