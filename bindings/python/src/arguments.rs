//! Arguments of one value, each with the message that says what was wrong with it.

use core::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};
use ratecell::{OnFailure, OnMiss, WhenFull};

/// A key's bytes, where the Python object has them: a `str` is its UTF-8.
#[derive(Clone, Copy)]
pub(crate) struct Key<'a>(pub(crate) &'a [u8]);

impl AsRef<[u8]> for Key<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Key<'a> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() {
            Ok(Self(object.extract::<&str>()?.as_bytes()))
        } else if object.is_instance_of::<PyBytes>() {
            Ok(Self(object.extract()?))
        } else {
            Err(wrong_type("key", object, "str or bytes"))
        }
    }
}

/// Units, from 0 to 2^32-1.
#[derive(Clone, Copy)]
pub(crate) struct Cost(pub(crate) u32);

impl<'py> FromPyObject<'_, 'py> for Cost {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract() {
            Ok(cost) => Ok(Self(cost)),
            Err(_) => Err(not_a_number("cost", object, "0 to 4294967295")),
        }
    }
}

/// `at_ns`: nanoseconds since an epoch, from 0 to 2^64-1.
#[derive(Clone, Copy)]
pub(crate) struct At(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for At {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        nanoseconds("at_ns", object).map(Self)
    }
}

/// `within_ns`: the longest delay that a caller can wait, from 0 to 2^64-1 nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Within(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Within {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        nanoseconds("within_ns", object).map(Self)
    }
}

/// `now_unix_ns`: nanoseconds since 1970, from 0 to 2^64-1.
pub(crate) struct NowUnix(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for NowUnix {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        nanoseconds("now_unix_ns", object).map(Self)
    }
}

#[inline]
fn nanoseconds(name: &str, object: Borrowed<'_, '_, PyAny>) -> PyResult<u64> {
    object.extract().map_err(|_| not_a_number(name, object, "0 to 18446744073709551615"))
}

/// The number from 1 on that the argument `name` gives, if it was given.
pub(crate) fn number(name: &str, object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    let given = object.map(|object| match object.extract::<NonZero<usize>>() {
        Ok(number) => Ok(number.get()),
        Err(_) => Err(not_a_number(name, object.as_borrowed(), "1 to 18446744073709551615")),
    });
    given.transpose()
}

/// Whether the argument `name` is true; not given, it is false.
#[inline]
pub(crate) fn flag(name: &str, object: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    object.map_or(Ok(false), |object| {
        object.extract().map_err(|_| wrong_type(name, object.as_borrowed(), "bool"))
    })
}

/// Whether the argument `wait` is true; not given, it is.
#[inline]
pub(crate) fn wait(object: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    object.map_or(Ok(true), |object| flag("wait", Some(object)))
}

/// The text that the argument `name` gives.
pub(crate) fn text<'a>(name: &str, object: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    match object.cast::<PyString>() {
        Ok(text) => text.to_str(),
        Err(_) => Err(wrong_type(name, object.as_borrowed(), "str")),
    }
}

/// A policy, as text.
pub(crate) struct PolicyText<'a>(pub(crate) &'a str);

impl<'a, 'py> FromPyObject<'a, 'py> for PolicyText<'a> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() {
            Ok(Self(object.extract()?))
        } else {
            Err(wrong_type("policy", object, "str"))
        }
    }
}

/// A file's path: what `open` takes, but for numbers.
pub(crate) struct Location(pub(crate) PathBuf);

impl<'py> FromPyObject<'_, 'py> for Location {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Ok(path) = object.extract::<PathBuf>() else {
            return Err(wrong_type("path", object, "str or os.PathLike of str"));
        };
        match path.as_os_str().as_bytes().iter().position(|byte| *byte == 0) {
            Some(place) => Err(PyValueError::new_err(format!(
                "path has a NUL after {place} bytes: expected a path without one"
            ))),
            None => Ok(Self(path)),
        }
    }
}

/// `when_full`, by its name.
pub(crate) struct Full(pub(crate) WhenFull);

impl<'py> FromPyObject<'_, 'py> for Full {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        const EXPECTED: &str = "'evict', 'share', 'deny' or 'allow'";
        let Ok(name) = object.cast::<PyString>() else {
            return Err(wrong_type("when_full", object, EXPECTED));
        };
        match name.to_str()? {
            "evict" => Ok(Self(WhenFull::Evict)),
            "share" => Ok(Self(WhenFull::Share)),
            "deny" => Ok(Self(WhenFull::Deny)),
            "allow" => Ok(Self(WhenFull::Allow)),
            other => Err(PyValueError::new_err(format!("when_full is '{other}': expected {EXPECTED}"))),
        }
    }
}

/// The instant of `epoch_s`, in seconds since 1970.
pub(crate) fn epoch(epoch_s: Option<i64>) -> PyResult<Option<SystemTime>> {
    let Some(seconds) = epoch_s else { return Ok(None) };
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let epoch = if seconds < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    let wrong = || {
        PyValueError::new_err(format!(
            "epoch_s is {seconds}: expected an instant that the system's times hold"
        ))
    };
    epoch.ok_or_else(wrong).map(Some)
}

/// What happens to a request that no lease of this machine answers, by `on_miss` and `wait_ns`.
pub(crate) fn on_miss(
    name: Option<&Bound<'_, PyAny>>,
    wait_ns: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<OnMiss>> {
    let wait = number("wait_ns", wait_ns)?.map(|ns| OnMiss::Wait(Duration::from_nanos(ns as u64)));
    let Some(name) = name else { return Ok(wait) };
    match text("on_miss", name)? {
        "wait" => Ok(Some(wait.unwrap_or_default())),
        "deny" if wait.is_none() => Ok(Some(OnMiss::Deny)),
        "deny" => Err(PyValueError::new_err(
            "wait_ns is given with on_miss='deny': expected it with on_miss='wait' alone",
        )),
        other => Err(PyValueError::new_err(format!("on_miss is '{other}': expected 'wait' or 'deny'"))),
    }
}

/// What happens to such a request if the store does not answer either.
pub(crate) fn on_failure(name: Option<&Bound<'_, PyAny>>) -> PyResult<Option<OnFailure>> {
    let Some(name) = name else { return Ok(None) };
    match text("on_failure", name)? {
        "closed" => Ok(Some(OnFailure::Closed)),
        "open" => Ok(Some(OnFailure::Open)),
        other => Err(PyValueError::new_err(format!("on_failure is '{other}': expected 'closed' or 'open'"))),
    }
}

/// The error of the argument `name`, whose type is not as `expected`.
#[cold]
pub(crate) fn wrong_type(name: &str, object: Borrowed<'_, '_, PyAny>, expected: &str) -> PyErr {
    let held = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{name} is of type {held}: expected {expected}"))
}

/// The error of the argument `name`, which is no whole number of the range `expected`.
#[cold]
fn not_a_number(name: &str, object: Borrowed<'_, '_, PyAny>, expected: &str) -> PyErr {
    if object.is_instance_of::<PyInt>() {
        let given = object.str().map_or_else(|_| "?".to_owned(), |text| text.to_string());
        PyValueError::new_err(format!("{name} is {given}: expected {expected}"))
    } else {
        wrong_type(name, object, &format!("int, {expected}"))
    }
}
