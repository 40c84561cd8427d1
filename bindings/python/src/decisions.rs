//! `Decisions`: the answers to a batch, 48 bytes each, of which Python objects are made only when asked for.

use core::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::decision::Decision;

/// The decisions of a batch, in the order of its keys: a sequence of `Decision`.
///
/// Its columns are for code that looks at all of them at once: `bytes`, and read-only memoryviews of unsigned
/// 64-bit numbers, that numpy takes without a copy.
#[pyclass(frozen, module = "ratecell")]
pub(crate) struct Decisions(pub(crate) Vec<ratecell::Decision>);

impl Decisions {
    /// One number of each decision, as `memoryview` of format `Q`.
    fn column<'py>(
        &self,
        py: Python<'py>,
        number: impl Fn(&ratecell::Decision) -> u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes = PyBytes::new_with(py, self.0.len() * size_of::<u64>(), |bytes| {
            let (places, _) = bytes.as_chunks_mut::<{ size_of::<u64>() }>();
            for (place, decision) in places.iter_mut().zip(&self.0) {
                *place = number(decision).to_ne_bytes();
            }
            Ok(())
        })?;
        PyMemoryView::from(&bytes)?.call_method1("cast", ("Q",))
    }
}

#[pymethods]
impl Decisions {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Decision> {
        let from_the_end = if index < 0 { self.0.len() } else { 0 };
        let place = from_the_end.checked_add_signed(index);
        let decision = place.and_then(|place| self.0.get(place));
        decision.copied().map(Decision::from).ok_or_else(|| {
            PyIndexError::new_err(format!("decision {index} of {}: out of range", self.0.len()))
        })
    }

    fn __iter__(this: Py<Self>) -> InOrder {
        InOrder { decisions: this, next: AtomicUsize::new(0) }
    }

    /// A batch is neither allowed nor denied: asking would be a mistake that lets everything pass.
    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "a batch is neither true nor false: expected .all_allowed, .allowed or one of its decisions",
        ))
    }

    /// One byte for each key: 1 if it is allowed, 0 if not.
    #[getter]
    fn allowed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with(py, self.0.len(), |bytes| {
            for (place, decision) in bytes.iter_mut().zip(&self.0) {
                *place = u8::from(decision.is_allowed());
            }
            Ok(())
        })
    }

    /// How many are allowed.
    #[getter]
    fn allowed_count(&self) -> usize {
        self.0.iter().filter(|decision| decision.is_allowed()).count()
    }

    /// Whether every one is allowed; true of an empty batch.
    #[getter]
    fn all_allowed(&self) -> bool {
        self.0.iter().all(ratecell::Decision::is_allowed)
    }

    /// The numbers of those that are not allowed, in order.
    fn denied(&self) -> Vec<usize> {
        let numbered = self.0.iter().enumerate();
        numbered.filter(|(_, decision)| !decision.is_allowed()).map(|(number, _)| number).collect()
    }

    /// `remaining` of each.
    #[getter]
    fn remaining<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, ratecell::Decision::remaining)
    }

    /// `retry_after_ns` of each; 2^64-1 is never.
    #[getter]
    fn retry_after_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, ratecell::Decision::retry_after_ns)
    }

    /// `reset_after_ns` of each.
    #[getter]
    fn reset_after_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, ratecell::Decision::reset_after_ns)
    }

    /// `delay_ns` of each.
    #[getter]
    fn delay_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, ratecell::Decision::delay_ns)
    }

    fn __repr__(&self) -> String {
        format!("<Decisions: {} of {} allowed>", self.allowed_count(), self.0.len())
    }
}

/// Goes through a batch, from the first to the last.
#[pyclass(frozen, module = "ratecell._native")]
pub(crate) struct InOrder {
    decisions: Py<Decisions>,
    next: AtomicUsize,
}

#[pymethods]
impl InOrder {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self) -> Option<Decision> {
        // Relaxed: the decisions never change, so that of an own number is all there is to see.
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.decisions.get().0.get(next).copied().map(Decision::from)
    }
}
