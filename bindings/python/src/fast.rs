//! `Limiter.check` by a way in of its own, for the calls that nearly all programs make.
//!
//! PyO3's, which serves any signature, takes a third of the time of a whole check. It stays the one that all
//! other calls go to, and the only one that words an error.

use core::ffi::CStr;
use std::ffi::CString;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use pyo3::{Borrowed, ffi};
use ratecell::Request;

use crate::arguments::{At, Cost, Key, wrong_type};
use crate::decision::Decision;
use crate::limiter::Limiter;
use crate::recycle;

/// `check` as PyO3 made it.
static GENERAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

const NAME: &CStr = c"check";

/// Gives `cls`, a subclass of `Limiter`, a `check` of its own: the interpreter calls a method quickest on
/// instances of the very class that has it.
#[pyfunction]
pub(crate) fn give_check(py: Python<'_>, cls: &Bound<'_, PyType>) -> PyResult<()> {
    if !cls.is_subclass_of::<Limiter>()? {
        return Err(wrong_type("cls", cls.as_any().as_borrowed(), "a subclass of Limiter"));
    }
    let general =
        GENERAL.get_or_try_init(py, || py.get_type::<Limiter>().getattr("check").map(Bound::unbind))?;
    let signature: String = general.bind(py).getattr("__text_signature__")?.extract()?;
    let doc: String = general.bind(py).getattr("__doc__")?.extract()?;
    let doc = CString::new(format!("check{signature}\n--\n\n{doc}"))?;
    let method = ffi::PyMethodDef {
        ml_name: NAME.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: check },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc.into_raw(),
    };
    // SAFETY: the class is a type object, which the method keeps; definition and text live for ever. The method
    // takes what its flags say, and Python calls it with instances of the class alone, which are `Limiter`s.
    let method = unsafe {
        let method = ffi::PyDescr_NewMethod(cls.as_type_ptr(), Box::leak(Box::new(method)));
        Bound::from_owned_ptr_or_err(py, method)?
    };
    cls.setattr("check", method)
}

/// What Python calls: `self`, `given` arguments by position and then those by name, whose names are `names`.
///
/// # Safety
/// As Python calls a method of these flags: attached, `this` a `Limiter`, `args` as many as are said.
unsafe extern "C" fn check(
    this: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    given: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller is attached, and the objects are its own for as long as this takes.
    let (py, limiter, names) = unsafe {
        let py = Python::assume_attached();
        let limiter = Borrowed::from_ptr(py, this).cast_unchecked::<Limiter>();
        (py, limiter, Borrowed::from_ptr_or_opt(py, names))
    };
    let given = given.unsigned_abs();
    let named = names.map_or(0, |names| names.cast::<PyTuple>().map_or(0, |names| names.len()));
    // SAFETY: there are so many, each an object that the caller keeps.
    let argument = |number: usize| unsafe { Borrowed::from_ptr(py, *args.add(number)) };
    let decided = match (given, named) {
        (1, 0) => decide(limiter, argument(0)),
        (2, 0) => decide_with(limiter, argument(0), Options { cost: Some(argument(1)), at_ns: None }),
        (1 | 2, 1 | 2) => names.and_then(|names| {
            let mut options = Options { cost: (given == 2).then(|| argument(1)), at_ns: None };
            options.name(names, (given..given + named).map(argument))?;
            decide_with(limiter, argument(0), options)
        }),
        _ => None,
    };
    let answer = match decided {
        Some(answer) => answer.map(Bound::into_any),
        None => {
            let arguments: Vec<_> = (0..given + named).map(argument).collect();
            in_general(limiter, &arguments, given, names)
        }
    };
    match answer {
        Ok(answer) => answer.into_ptr(),
        Err(error) => {
            error.restore(py);
            core::ptr::null_mut()
        }
    }
}

/// What PyO3's `check` answers to the same call.
#[cold]
fn in_general<'py>(
    limiter: Borrowed<'_, 'py, Limiter>,
    arguments: &[Borrowed<'_, 'py, PyAny>],
    given: usize,
    names: Option<Borrowed<'_, 'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = limiter.py();
    let (given, named) = arguments.split_at(given);
    let by_name = PyDict::new(py);
    if let Some(names) = names {
        for (name, argument) in names.try_iter()?.zip(named) {
            by_name.set_item(name?, argument)?;
        }
    }
    let this = limiter.to_owned().into_any();
    let by_position: Vec<_> =
        core::iter::once(&this).chain(given.iter().map(|argument| &**argument)).collect();
    let by_position = PyTuple::new(py, by_position)?;
    let uninstalled = || PyRuntimeError::new_err("ratecell._native is not initialised");
    GENERAL.get(py).ok_or_else(uninstalled)?.bind(py).call(by_position, Some(&by_name))
}

/// Arguments that need not be given.
struct Options<'a, 'py> {
    cost: Option<Borrowed<'a, 'py, PyAny>>,
    at_ns: Option<Borrowed<'a, 'py, PyAny>>,
}

impl<'a, 'py> Options<'a, 'py> {
    /// Takes those that are given by name; `None` where one has another name, or is given twice.
    fn name(
        &mut self,
        names: Borrowed<'_, 'py, PyAny>,
        arguments: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
    ) -> Option<()> {
        let names = names.cast::<PyTuple>().ok()?;
        for (number, argument) in arguments.enumerate() {
            let name = names.get_borrowed_item(number).ok()?;
            let name = name.cast::<PyString>().ok()?;
            let place = match name {
                name if *name == "cost" => &mut self.cost,
                name if *name == "at_ns" => &mut self.at_ns,
                _ => return None,
            };
            if place.replace(argument).is_some() {
                return None;
            }
        }
        Some(())
    }
}

/// The decision of one unit, where nothing is unusual; `None` where nothing was decided.
#[inline]
fn decide<'py>(
    limiter: Borrowed<'_, 'py, Limiter>,
    key: Borrowed<'_, 'py, PyAny>,
) -> Option<PyResult<Bound<'py, Decision>>> {
    let core = limiter.get().at_home()?;
    let request = Request::new(bytes(key)?);
    Some(recycle::object(limiter.py(), limiter.get().decide_within(limiter.py(), core, request)))
}

/// `decide`, with arguments that need not be given.
#[inline(never)]
fn decide_with<'py>(
    limiter: Borrowed<'_, 'py, Limiter>,
    key: Borrowed<'_, 'py, PyAny>,
    options: Options<'_, 'py>,
) -> Option<PyResult<Bound<'py, Decision>>> {
    let core = limiter.get().at_home()?;
    let Cost(cost) = options.cost.map_or(Ok(Cost(1)), |cost| cost.extract()).ok()?;
    let mut request = Request::new(bytes(key)?).cost(cost);
    if let Some(at_ns) = options.at_ns.filter(|at_ns| !at_ns.is_none()) {
        let At(at_ns) = at_ns.extract().ok()?;
        request = request.at(at_ns);
    }
    Some(recycle::object(limiter.py(), limiter.get().decide_within(limiter.py(), core, request)))
}

/// The bytes of a key.
#[inline]
fn bytes<'a>(key: Borrowed<'a, '_, PyAny>) -> Option<&'a [u8]> {
    match text(key) {
        Some(key) => Some(key),
        None => key.extract::<Key<'_>>().ok().map(|key| key.0),
    }
}

/// The UTF-8 of what is a `str` and no subclass, without being asked twice what it is.
#[inline]
fn text<'a>(key: Borrowed<'a, '_, PyAny>) -> Option<&'a [u8]> {
    if !key.is_exact_instance_of::<PyString>() {
        return None;
    }
    let mut len = 0;
    // SAFETY: it is a str, which keeps its UTF-8 as long as it lives; where there is none, the error that is set
    // is taken back, for the caller asks again in general.
    unsafe {
        let bytes = ffi::PyUnicode_AsUTF8AndSize(key.as_ptr(), &raw mut len);
        if bytes.is_null() {
            ffi::PyErr_Clear();
            return None;
        }
        Some(core::slice::from_raw_parts(bytes.cast(), len.unsigned_abs()))
    }
}
