//! `Decision`: what a limiter answers.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use ratecell::Outcome;

use crate::recycle::Told;

/// What a limiter answers to one request: true if it may go.
///
/// A denial is an answer, not an exception. Times are relative to the request's, exact in the `_ns` twins and
/// the nearest float otherwise.
#[pyclass(frozen, freelist = 64, module = "ratecell")]
pub(crate) struct Decision {
    pub(crate) told: Told,
}

impl From<ratecell::Decision> for Decision {
    fn from(told: ratecell::Decision) -> Self {
        Self { told: Told::new(told) }
    }
}

/// The nearest float: what a Python program sleeps by.
#[expect(clippy::cast_precision_loss, reason = "seconds are told as the nearest float")]
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
        self.told.get().is_allowed()
    }

    /// Whether the request may go: what `bool(decision)` says.
    #[getter]
    fn allowed(&self) -> bool {
        self.told.get().is_allowed()
    }

    /// How the request was decided.
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        member(py, self.told.get().outcome())
    }

    /// The most units that can pass at one instant; of several layers, that of `layer`.
    #[getter]
    fn limit(&self) -> u64 {
        self.told.get().limit()
    }

    /// Units that would be allowed at this same instant, after this decision.
    #[getter]
    fn remaining(&self) -> u64 {
        self.told.get().remaining()
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
        self.told.get().retry_after().map(|_| self.told.get().retry_after_ns())
    }

    /// Seconds until the key is as good as never used.
    #[getter]
    fn reset_after(&self) -> f64 {
        seconds(self.told.get().reset_after_ns())
    }

    /// `reset_after` in nanoseconds.
    #[getter]
    fn reset_after_ns(&self) -> u64 {
        self.told.get().reset_after_ns()
    }

    /// Seconds to hold the allowed request before it goes on: 0.0 except for a `leaky_queue`.
    #[getter]
    fn delay(&self) -> f64 {
        seconds(self.told.get().delay_ns())
    }

    /// `delay` in nanoseconds.
    #[getter]
    fn delay_ns(&self) -> u64 {
        self.told.get().delay_ns()
    }

    /// Which of the policy's layers has the least `remaining`: the one to name to whoever was refused.
    /// Counted from 0; 0 where there is one layer.
    #[getter]
    fn layer(&self) -> usize {
        self.told.get().layer()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Parts,))> {
        Ok((maker(py, "decision")?, (parts(&self.told.get()),)))
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.told.get() == other.told.get()
    }

    fn __hash__(&self) -> u64 {
        let told = self.told.get();
        let mut hasher = DefaultHasher::new();
        (told.outcome(), told.limit(), told.remaining(), told.reset_after_ns()).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let told = self.told.get();
        let retry_after = self.retry_after().map_or_else(|| "None".to_owned(), |at| format!("{at:?}"));
        format!(
            "<Decision {}: limit={} remaining={} retry_after={retry_after} reset_after={:?}>",
            name(told.outcome()),
            told.limit(),
            told.remaining(),
            self.reset_after()
        )
    }
}

/// What a decision says, as a pickle has it: outcome, limit, remaining, retry_after_ns, reset_after_ns, delay_ns
/// and layer.
pub(crate) type Parts = (i32, u64, u64, u64, u64, u64, u32);

pub(crate) fn parts(told: &ratecell::Decision) -> Parts {
    let outcome = told.outcome() as i32;
    let (retry, reset, delay) = (told.retry_after_ns(), told.reset_after_ns(), told.delay_ns());
    // There are at most eight layers.
    let layer = u32::try_from(told.layer()).unwrap_or(u32::MAX);
    (outcome, told.limit(), told.remaining(), retry, reset, delay, layer)
}

pub(crate) fn of_parts(parts: Parts) -> PyResult<ratecell::Decision> {
    let (outcome, limit, remaining, retry, reset, delay, layer) = parts;
    let outcomes = [Outcome::Allowed, Outcome::Denied, Outcome::Never, Outcome::ClockRange];
    let Some(outcome) = outcomes.into_iter().find(|known| *known as i32 == outcome) else {
        return Err(PyValueError::new_err(format!("outcome is {outcome}: expected 0 to 3")));
    };
    Ok(ratecell::Decision::new(outcome, limit, remaining, retry, reset, delay, layer))
}

/// The function of this module that makes a pickled object again.
pub(crate) fn maker<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("ratecell._native")?.getattr(name)
}

/// The decision that says `parts`, of a pickle.
#[pyfunction]
pub(crate) fn decision(parts: Parts) -> PyResult<Decision> {
    of_parts(parts).map(Decision::from)
}

fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Allowed => "allowed",
        Outcome::Denied => "denied",
        Outcome::Never => "never",
        Outcome::ClockRange => "clock_range",
    }
}
