//! `Decisions`: the answers to a batch, 64 bytes each, of which Python objects are made only when asked for.

use core::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyMemoryView, PySlice};

use crate::arguments::wrong_type;
use crate::decision::{Decision, Parts, maker, of_parts, parts};

/// The decisions of a batch, in the order of its keys: a sequence of `Decision`.
///
/// Its columns are for code that looks at all of them at once: `bytes`, and read-only memoryviews of unsigned
/// 64-bit numbers, that numpy takes without a copy.
#[pyclass(frozen, sequence, module = "ratecell")]
pub(crate) struct Decisions {
    each: Vec<ratecell::Decision>,
    allowed: PyOnceLock<Py<PyBytes>>,
    remaining: Column,
    retry_after_ns: Column,
    reset_after_ns: Column,
    delay_ns: Column,
    next_after_ns: Column,
}

/// One number of each decision: its bytes, once it was asked for. Each who asks is given a memoryview of their own,
/// for a memoryview can be released.
struct Column(PyOnceLock<Py<PyBytes>>);

impl Column {
    /// The column as `memoryview` of format `Q`.
    fn view<'py>(
        &self,
        py: Python<'py>,
        each: &[ratecell::Decision],
        number: impl Fn(&ratecell::Decision) -> u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes = self.0.get_or_try_init(py, || {
            let bytes = PyBytes::new_with(py, each.len() * size_of::<u64>(), |bytes| {
                let (places, _) = bytes.as_chunks_mut::<{ size_of::<u64>() }>();
                for (place, decision) in places.iter_mut().zip(each) {
                    *place = number(decision).to_ne_bytes();
                }
                Ok(())
            });
            bytes.map(Bound::unbind)
        })?;
        PyMemoryView::from(bytes.bind(py))?.call_method1("cast", ("Q",))
    }
}

impl From<Vec<ratecell::Decision>> for Decisions {
    fn from(each: Vec<ratecell::Decision>) -> Self {
        Self {
            each,
            allowed: PyOnceLock::new(),
            remaining: Column(PyOnceLock::new()),
            retry_after_ns: Column(PyOnceLock::new()),
            reset_after_ns: Column(PyOnceLock::new()),
            delay_ns: Column(PyOnceLock::new()),
            next_after_ns: Column(PyOnceLock::new()),
        }
    }
}

impl Decisions {
    /// The numbers of the decisions that are equal to `value`.
    fn equal_to(&self, value: &Bound<'_, PyAny>) -> impl Iterator<Item = usize> {
        let sought = value.cast::<Decision>().map(|decision| decision.get().value()).ok();
        let numbered = self.each.iter().enumerate();
        numbered.filter(move |(_, decision)| sought == Some(**decision)).map(|(number, _)| number)
    }
}

#[pymethods]
impl Decisions {
    fn __len__(&self) -> usize {
        self.each.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let len = self.each.len();
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(len.cast_signed())?;
            let numbers = (0..range.slicelength).map(|turn| range.start + turn.cast_signed() * range.step);
            let each = numbers.filter_map(|number| self.each.get(number.cast_unsigned()).copied());
            return Ok(Bound::new(py, Self::from(each.collect::<Vec<_>>()))?.into_any());
        }
        if index.getattr_opt("__index__")?.is_none() {
            return Err(wrong_type("index", index.as_borrowed(), "int or slice"));
        }
        // What no isize holds is out of range as well.
        let number = index.extract::<isize>().ok().and_then(|number| {
            let from_the_end = if number < 0 { len } else { 0 };
            from_the_end.checked_add_signed(number)
        });
        match number.and_then(|number| self.each.get(number)) {
            Some(decision) => Ok(Bound::new(py, Decision::from(*decision))?.into_any()),
            None => Err(PyIndexError::new_err(format!("decision {index} of {len}: out of range"))),
        }
    }

    fn __iter__(this: Py<Self>) -> InOrder {
        InOrder { decisions: this, next: AtomicUsize::new(0) }
    }

    fn __reversed__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let turned = Self::from(self.each.iter().rev().copied().collect::<Vec<_>>());
        Ok(Bound::new(py, turned)?.try_iter()?.into_any())
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> bool {
        self.equal_to(value).next().is_some()
    }

    /// How many of the decisions are equal to `value`.
    #[pyo3(signature = (value, /))]
    fn count(&self, value: &Bound<'_, PyAny>) -> usize {
        self.equal_to(value).count()
    }

    /// The number of the first decision from `start` on and before `stop` that is equal to `value`; ValueError
    /// where there is none.
    #[pyo3(signature = (value, start=0, stop=isize::MAX, /))]
    #[pyo3(text_signature = "($self, value, start=0, stop=sys.maxsize, /)")]
    fn index(&self, value: &Bound<'_, PyAny>, start: isize, stop: isize) -> PyResult<usize> {
        let len = self.each.len();
        let number = |number: isize| match number {
            0.. => number.unsigned_abs(),
            _ => len.saturating_sub(number.unsigned_abs()),
        };
        let range = number(start)..number(stop);
        let found = self.equal_to(value).find(|number| range.contains(number));
        found.ok_or_else(|| PyValueError::new_err(format!("{value} is not among the {len} decisions")))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Vec<Parts>,))> {
        Ok((maker(py, "decisions")?, (self.each.iter().map(parts).collect(),)))
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
        let bytes = self.allowed.get_or_try_init(py, || {
            let bytes = PyBytes::new_with(py, self.each.len(), |bytes| {
                for (place, decision) in bytes.iter_mut().zip(&self.each) {
                    *place = u8::from(decision.is_allowed());
                }
                Ok(())
            });
            bytes.map(Bound::unbind)
        })?;
        Ok(bytes.bind(py).clone())
    }

    /// How many are allowed.
    #[getter]
    fn allowed_count(&self) -> usize {
        self.each.iter().filter(|decision| decision.is_allowed()).count()
    }

    /// Whether every one is allowed; true of an empty batch.
    #[getter]
    fn all_allowed(&self) -> bool {
        self.each.iter().all(ratecell::Decision::is_allowed)
    }

    /// The numbers of those that are not allowed, in order.
    fn denied(&self) -> Vec<usize> {
        let numbered = self.each.iter().enumerate();
        numbered.filter(|(_, decision)| !decision.is_allowed()).map(|(number, _)| number).collect()
    }

    /// `remaining` of each.
    #[getter]
    fn remaining<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.remaining.view(py, &self.each, ratecell::Decision::remaining)
    }

    /// `retry_after_ns` of each; 2^64-1 is never.
    #[getter]
    fn retry_after_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.retry_after_ns.view(py, &self.each, ratecell::Decision::retry_after_ns)
    }

    /// `reset_after_ns` of each.
    #[getter]
    fn reset_after_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reset_after_ns.view(py, &self.each, ratecell::Decision::reset_after_ns)
    }

    /// `delay_ns` of each.
    #[getter]
    fn delay_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.delay_ns.view(py, &self.each, ratecell::Decision::delay_ns)
    }

    /// `next_after_ns` of each; 0 is None.
    #[getter]
    fn next_after_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.next_after_ns.view(py, &self.each, ratecell::Decision::next_ns)
    }

    fn __repr__(&self) -> String {
        format!("<Decisions: {} of {} allowed>", self.allowed_count(), self.each.len())
    }
}

/// The batch of the decisions of these parts, as a pickle has them.
#[pyfunction]
pub(crate) fn decisions(parts: Vec<Parts>) -> PyResult<Decisions> {
    let each = parts.into_iter().map(of_parts).collect::<PyResult<Vec<_>>>();
    each.map(Decisions::from)
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
        self.decisions.get().each.get(next).copied().map(Decision::from)
    }
}
