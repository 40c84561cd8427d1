//! Limiters that cross a fork: one in a file goes on as one, one in memory falls apart into two.

use core::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

/// How many forks lie between this process and the one that imported the module. Only the only thread of a
/// new process writes it, so Relaxed suffices.
static FORKS: AtomicU32 = AtomicU32::new(0);

pub(crate) const OF_LIMITER: &CStr =
    c"a limiter in memory was used across a fork: from here on each process has a limit of its own; \
      expected Limiter(..., path=FILE), which processes share, or one that is made after the fork";

pub(crate) const OF_RULES: &CStr =
    c"rules in memory were used across a fork: from here on each process has limits of its own; expected Rules(...) that \
      is made after the fork";

/// Has every fork count, by whatever code of the process it is made.
pub(crate) fn watch() -> PyResult<()> {
    extern "C" fn forked() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the function only adds to an atomic, as one may in a new process, and is there for as long as the
    // process is: the interpreter never unloads a module's code.
    match unsafe { libc::pthread_atfork(None, None, Some(forked)) } {
        0 => Ok(()),
        error => Err(std::io::Error::from_raw_os_error(error).into()),
    }
}

/// A process, as what waits knows it.
#[derive(Clone, Copy, PartialEq, Eq, FromPyObject, IntoPyObject)]
#[pyo3(transparent)]
pub(crate) struct Fork(u32);

impl Fork {
    /// This one. Relaxed: a process has one count for all its life.
    pub(crate) fn here() -> Self {
        Self(FORKS.load(Ordering::Relaxed))
    }
}

/// The process that a limiter, or rules, was last used in.
pub(crate) struct Home(AtomicU32);

impl Home {
    pub(crate) fn here() -> Self {
        Self(AtomicU32::new(FORKS.load(Ordering::Relaxed)))
    }

    /// That of a limiter beside this one, on the same memory.
    pub(crate) fn same(&self) -> Self {
        Self(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }

    /// Whether a fork came since. Relaxed: a process has one count for all its life.
    #[inline]
    pub(crate) fn left(&self) -> bool {
        self.0.load(Ordering::Relaxed) != FORKS.load(Ordering::Relaxed)
    }

    /// Warns that what is in memory is used after a fork, the first time in each process.
    #[cold]
    pub(crate) fn warn(&self, py: Python<'_>, warning: &CStr) -> PyResult<()> {
        self.0.store(FORKS.load(Ordering::Relaxed), Ordering::Relaxed);
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), warning, 1)
    }
}
