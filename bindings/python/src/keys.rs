//! The keys of a batch: any iterable of `str` and `bytes`, or one piece of memory with keys of equal width.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PyString, PyTuple};

use crate::arguments::{Key, wrong_type};

const EXPECTED: &str = "an iterable of str and bytes, an array, or a buffer with width=";

/// A batch's keys, held so that nobody can change them while the interpreter is let go.
pub(crate) enum Keys<'py> {
    /// Objects that the tuple keeps alive.
    Each(Bound<'py, PyTuple>),
    /// Keys of equal width, one after the other.
    Packed {
        bytes: Bound<'py, PyBytes>,
        width: usize,
        /// Whether zeros at the end are no part of a key, as in numpy's type `S`.
        padded: bool,
    },
}

impl<'py> Keys<'py> {
    /// The keys that `object` holds.
    pub(crate) fn of(object: &Bound<'py, PyAny>, width: Option<usize>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() {
            return Err(wrong_type("keys", object.as_borrowed(), EXPECTED));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            let Some(width) = width else { return Err(wrong_type("keys", object.as_borrowed(), EXPECTED)) };
            return Self::packed(bytes.clone(), width, false);
        }
        if let (None, Ok(list)) = (width, object.cast::<PyList>()) {
            return Ok(Self::Each(list.to_tuple()));
        }
        if !object.is_instance_of::<PyTuple>()
            && let Ok(view) = PyMemoryView::from(object)
            && let Some(keys) = Self::of_memory(&view, width)?
        {
            return Ok(keys);
        }
        match width {
            Some(_) => Err(wrong_type("keys", object.as_borrowed(), "a buffer, for width= is given")),
            None => Self::each(object),
        }
    }

    fn each(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let tuple = object.py().get_type::<PyTuple>();
        match tuple.call1((object,)) {
            Ok(items) => Ok(Self::Each(items.cast_into()?)),
            Err(error) if object.try_iter().is_err() => {
                let wrong = wrong_type("keys", object.as_borrowed(), EXPECTED);
                wrong.set_cause(object.py(), Some(error));
                Err(wrong)
            }
            Err(error) => Err(error),
        }
    }

    /// The keys in an exporter's memory, copied; `None` where its items are objects or text.
    fn of_memory(view: &Bound<'py, PyMemoryView>, width: Option<usize>) -> PyResult<Option<Self>> {
        let format: String = view.getattr("format")?.extract()?;
        if format.contains(['O', 'w']) {
            return Ok(None);
        }
        let item: usize = view.getattr("itemsize")?.extract()?;
        let shape: Vec<usize> = view.getattr("shape")?.extract()?;
        let bytes = || Ok::<_, PyErr>(view.call_method0("tobytes")?.cast_into::<PyBytes>()?);
        let row = match (width, &*shape) {
            (Some(width), _) => return Self::packed(bytes()?, width, false).map(Some),
            (None, [_, columns]) => columns * item,
            (None, [_]) if item != 1 || format.ends_with('s') => item,
            (None, [_]) => {
                return Err(PyTypeError::new_err("keys is a buffer of single bytes: expected width="));
            }
            (None, _) => {
                return Err(PyTypeError::new_err(format!(
                    "keys is a buffer of {} dimensions: expected 1 or 2",
                    shape.len()
                )));
            }
        };
        if row == 0 && shape.first() != Some(&0) {
            return Err(PyValueError::new_err("keys is an array of keys of 0 bytes: expected at least 1"));
        }
        let padded = shape.len() == 1 && format.ends_with('s');
        Self::packed(bytes()?, row.max(1), padded).map(Some)
    }

    /// The keys of `width` bytes, which is not 0.
    fn packed(bytes: Bound<'py, PyBytes>, width: usize, padded: bool) -> PyResult<Self> {
        let len = bytes.as_bytes().len();
        if !len.is_multiple_of(width) {
            return Err(PyValueError::new_err(format!(
                "keys is a buffer of {len} bytes: expected a multiple of the width, {width}"
            )));
        }
        Ok(Self::Packed { bytes, width, padded })
    }

    /// Each key's bytes.
    pub(crate) fn slices(&self) -> PyResult<Vec<Key<'_>>> {
        match self {
            Self::Each(items) => {
                let mut keys = Vec::with_capacity(items.len());
                for item in items.iter_borrowed() {
                    keys.push(item.extract().map_err(|error| numbered(item, keys.len(), error))?);
                }
                Ok(keys)
            }
            Self::Packed { bytes, width, padded } => {
                let keys = bytes.as_bytes().chunks_exact(*width);
                Ok(keys.map(|key| Key(if *padded { unpadded(key) } else { key })).collect())
            }
        }
    }
}

fn unpadded(key: &[u8]) -> &[u8] {
    let end = key.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &key[..end]
}

/// The error of an item that is no key, with its number.
#[cold]
fn numbered(item: Borrowed<'_, '_, PyAny>, number: usize, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyTypeError>(item.py()) {
        wrong_type(&format!("keys[{number}]"), item, "str or bytes")
    } else {
        error
    }
}
