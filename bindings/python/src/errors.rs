//! What the core refuses, as Python's exceptions.

use std::path::Path;

use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use ratecell::{BuildError, RegionError};

pyo3::create_exception!(
    ratecell,
    PolicyError,
    PyValueError,
    "A policy that is refused: a ValueError with `code`, the stable name of what is wrong with it, and `column`, \
     where in its text, counted in bytes from 1, or None."
);

pub(crate) fn of_policy(py: Python<'_>, error: &ratecell::PolicyError) -> PyErr {
    let exception = PolicyError::new_err(error.to_string());
    let value = exception.value(py);
    let described = value.setattr("code", error.kind().code()).and(value.setattr("column", error.column()));
    described.err().unwrap_or(exception)
}

pub(crate) fn of_build(py: Python<'_>, error: &BuildError) -> PyErr {
    let text = error.to_string();
    match error {
        BuildError::Policy(error) => of_policy(py, error),
        BuildError::Memory(_) => PyMemoryError::new_err(text),
        BuildError::NoRandomness { .. } | BuildError::Processor => PyOSError::new_err(text),
        BuildError::File { path, error: RegionError::Io { errno, reason, .. }, .. } => {
            of_file(path, *errno, reason)
        }
        _ => PyValueError::new_err(text),
    }
}

/// OSError as `open` raises it: of the class that its number has, and with the file's name.
fn of_file(path: &Path, errno: Option<i32>, reason: &str) -> PyErr {
    // What the system would not refuse: a file that is not regular.
    let errno = errno.unwrap_or(libc::EINVAL);
    let number = format!(" (os error {errno})");
    let reason = reason.replacen(&number, "", 1);
    PyOSError::new_err((errno, reason, path.as_os_str().to_owned()))
}
