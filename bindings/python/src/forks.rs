//! Limiters that cross a fork: one in a file goes on as one, and so do rules that are made for it; others in memory fall
//! apart into two.

use core::cell::Cell;
use core::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

/// How many forks lie between this process and the one that imported the module. Only the only thread of a
/// new process writes it, so Relaxed suffices.
static FORKS: AtomicU32 = AtomicU32::new(0);

pub(crate) const OF_LIMITER: &CStr =
    c"a limiter in memory was used across a fork: from here on each process has a limit of its own; \
      expected Limiter(..., path=FILE), which processes share, or one that is made after the fork";

pub(crate) const OF_RULES: &CStr =
    c"rules in memory were used across a fork: from here on each process has limits of its own; expected \
      Rules(..., forked=True), which processes share that are forked off later, or rules that are made after the fork";

/// Held while limits are changed, and while a process forks. A change locks what its limiter decides by: a child that was
/// forked off meanwhile would have these locks, and no thread that opens them.
static CHANGING: Mutex<()> = Mutex::new(());

thread_local! {
    /// What the thread holds that forks: it is the only one of the child, too.
    static HELD: Cell<Option<MutexGuard<'static, ()>>> = const { Cell::new(None) };
}

fn changing() -> MutexGuard<'static, ()> {
    // It guards no value.
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a change of limits. Other threads of Python run meanwhile; one that forks waits until it is made.
pub(crate) fn change<T: Send>(py: Python<'_>, made: impl FnOnce() -> T + Send) -> T {
    py.detach(|| {
        // Within, so that who waits for it has let the interpreter go.
        let _no_fork = changing();
        made()
    })
}

/// Has every fork count, and wait for changes, by whatever code of the process it is made.
pub(crate) fn watch() -> PyResult<()> {
    extern "C" fn before() {
        // A thread that ends, and forks then, holds nothing.
        let _ = HELD.try_with(|held| held.set(Some(changing())));
    }
    extern "C" fn after() {
        let _ = HELD.try_with(Cell::take);
    }
    extern "C" fn forked() {
        after();
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the functions are there for as long as the process is: the interpreter never unloads a module's code. In a new
    // process, the thread that locked the mutex before the fork opens it, and an atomic is added to.
    match unsafe { libc::pthread_atfork(Some(before), Some(after), Some(forked)) } {
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
