//! Decisions' objects, used again once nobody else has them: to make and to free one takes longer than to decide.

use core::cell::UnsafeCell;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::decision::Decision;

/// What a decision's object tells: it changes in `answer` alone, while no Python program has the object.
pub(crate) struct Told(UnsafeCell<ratecell::Decision>);

// SAFETY: it is read by methods of the object, whose caller has a reference, and written where there is none. All
// of it while attached, and only one thread is: the module says that it needs the interpreter's lock.
unsafe impl Sync for Told {}

impl Told {
    pub(crate) fn new(told: ratecell::Decision) -> Self {
        Self(UnsafeCell::new(told))
    }

    #[inline]
    pub(crate) fn get(&self) -> ratecell::Decision {
        // SAFETY: whoever has the object, and so nobody writes.
        unsafe { *self.0.get() }
    }
}

/// Two, for a program that keeps the decision before while it asks for the next.
static SPARE: PyOnceLock<[Py<Decision>; 2]> = PyOnceLock::new();

/// The object of a decision.
#[inline]
pub(crate) fn answer<'py>(py: Python<'py>, told: ratecell::Decision) -> PyResult<Bound<'py, Decision>> {
    let made = |_| Py::new(py, Decision::from(told));
    let spare = SPARE.get_or_try_init(py, || Ok::<_, PyErr>([made(0)?, made(1)?]))?;
    for object in spare {
        // SAFETY: the object lives, and a count is read while attached.
        if unsafe { ffi::Py_REFCNT(object.as_ptr()) } == 1 {
            // SAFETY: the one reference is that of SPARE, so nobody reads, nor can before this returns.
            unsafe { *object.get().told.0.get() = told };
            return Ok(object.bind(py).clone());
        }
    }
    Bound::new(py, Decision::from(told))
}
