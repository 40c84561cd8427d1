//! Decisions' objects, used again once nobody else has them: to make and to free one takes longer than to decide.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::decision::Decision;

/// Two, for a program that keeps the last decision while it asks for the next.
static SPARE: PyOnceLock<[Py<Decision>; 2]> = PyOnceLock::new();

/// The object of a decision.
#[inline]
pub(crate) fn object<'py>(py: Python<'py>, decision: ratecell::Decision) -> PyResult<Bound<'py, Decision>> {
    let made = |_| Py::new(py, Decision::from(decision));
    let spare = SPARE.get_or_try_init(py, || Ok::<_, PyErr>([made(0)?, made(1)?]))?;
    for object in spare {
        // SAFETY: the object lives, and a count is read while attached.
        if unsafe { ffi::Py_REFCNT(object.as_ptr()) } == 1 {
            // SAFETY: the one reference is that of SPARE, so nobody reads, nor can before this returns.
            unsafe { object.get().cell.replace(decision) };
            return Ok(object.bind(py).clone());
        }
    }
    Bound::new(py, Decision::from(decision))
}
