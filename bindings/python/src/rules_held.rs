//! What is held by rules: bytes here, and the package's Python has the object around them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ratecell::rules::RulesReservation;

use crate::arguments::{At, wrong_type};
use crate::rules::{Rules, pairs, request};
use crate::rules_decision::RulesDecision;

/// A reservation by rules, from its bytes.
pub(crate) struct Data(RulesReservation);

impl<'py> FromPyObject<'_, 'py> for Data {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Ok(bytes) = object.cast::<PyBytes>() else {
            return Err(wrong_type("data", object, "bytes"));
        };
        let reservation = RulesReservation::from_bytes(bytes.as_bytes());
        reservation.map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Decides and charges as `Rules.decide` does: the decision, and the bytes of the reservation if it is allowed.
#[pyfunction]
pub(crate) fn rules_reserve<'py>(
    rules: PyRef<'py, Rules>,
    attributes: &Bound<'py, PyAny>,
    at_ns: Option<At>,
) -> PyResult<(RulesDecision, Option<Bound<'py, PyBytes>>)> {
    let (py, pairs) = (rules.py(), pairs(attributes)?);
    let (limiter, request) = (rules.here(py)?, request(&pairs)?);
    let (decision, reservation) = match at_ns {
        Some(At(at_ns)) => limiter.reserve_at(&request, at_ns),
        None => limiter.reserve(&request),
    };
    let bytes = reservation.map(|reservation| PyBytes::new(py, &reservation.to_bytes()));
    Ok((decision.into(), bytes))
}

/// Settles the reservation of these bytes by attributes that are known afterwards; of None, it is cancelled.
#[pyfunction]
pub(crate) fn rules_settle(
    rules: PyRef<'_, Rules>,
    data: Data,
    actual: Option<&Bound<'_, PyAny>>,
    at_ns: Option<At>,
) -> PyResult<()> {
    let (limiter, Data(reservation)) = (rules.here(rules.py())?, data);
    let Some(actual) = actual else {
        match at_ns {
            Some(At(at_ns)) => limiter.cancel_at(reservation, at_ns),
            None => limiter.cancel(reservation),
        }
        return Ok(());
    };
    let pairs = pairs(actual)?;
    let actual = request(&pairs)?;
    match at_ns {
        Some(At(at_ns)) => limiter.settle_at(reservation, &actual, at_ns),
        None => limiter.settle(reservation, &actual),
    }
    Ok(())
}

/// Gives back the permits that the reservation of these bytes is, and returns how many units came back.
#[pyfunction]
pub(crate) fn rules_release(rules: PyRef<'_, Rules>, data: Data, at_ns: Option<At>) -> PyResult<u32> {
    let (limiter, Data(reservation)) = (rules.here(rules.py())?, data);
    Ok(match at_ns {
        Some(At(at_ns)) => limiter.release_at(reservation, at_ns),
        None => limiter.release(reservation),
    })
}
