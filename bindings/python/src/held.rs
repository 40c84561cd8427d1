//! What is held: a reservation is bytes here, and the package's Python has the object around them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ratecell::Reservation;

use crate::arguments::{At, Cost, Key, Within, flag, wrong_type};
use crate::decision::Decision;
use crate::limiter::Limiter;
use crate::recycle;
use crate::request::Terms;

/// A reservation, from its bytes.
pub(crate) struct Data(Reservation);

impl<'py> FromPyObject<'_, 'py> for Data {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Ok(bytes) = object.cast::<PyBytes>() else {
            return Err(wrong_type("data", object, "bytes"));
        };
        let reservation = Reservation::from_bytes(bytes.as_bytes());
        reservation.map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Units came back: those of this process who wait for the key look again. Without the key nobody knows who they are.
fn wake(py: Python<'_>, limiter: &Limiter, core: &ratecell::Limiter, key: Option<Key<'_>>) {
    if let Some(key) = key {
        limiter.waits.changed(py, core, key.0, core.now_ns());
    }
}

/// Decides and charges as `decide` does: the decision, and the bytes of the reservation if it is allowed.
#[pyfunction]
pub(crate) fn reserve<'py>(
    limiter: PyRef<'py, Limiter>,
    key: Key<'_>,
    cost: Cost,
    at_ns: Option<At>,
    within_ns: Option<Within>,
    with_next: &Bound<'_, PyAny>,
    zone: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Bound<'py, Decision>, Option<Bound<'py, PyBytes>>)> {
    let py = limiter.py();
    let core = limiter.here(py)?;
    let with_next = flag("with_next", Some(with_next))?;
    let zone = limiter.zone_given(zone)?;
    let request = Terms::new(cost, at_ns, within_ns, false, with_next, true)?.within_zone(zone).of(key);
    let reserved = core.reserve(request).map_err(|error| PyValueError::new_err(error.to_string()));
    let (decision, reservation) = reserved?;
    let bytes = reservation.map(|reservation| PyBytes::new(py, &reservation.to_bytes()));
    Ok((recycle::object(py, decision)?, bytes))
}

/// The units that the reservation of these bytes is of.
#[pyfunction]
pub(crate) fn reserved(data: Data) -> u32 {
    data.0.cost()
}

/// Settles the reservation of these bytes: of its units, `actual` were used. `key` is the key that it is of, or None.
#[pyfunction]
pub(crate) fn settle<'py>(
    limiter: PyRef<'py, Limiter>,
    key: Option<Key<'_>>,
    data: Data,
    actual: Cost,
    at_ns: Option<At>,
) -> PyResult<Bound<'py, Decision>> {
    let (py, Data(reservation)) = (limiter.py(), data);
    let core = limiter.here(py)?;
    let gives_back = actual.0 < reservation.cost();
    let settled = match at_ns {
        Some(At(at_ns)) => core.settle_at(reservation, actual.0, at_ns),
        None => core.settle(reservation, actual.0),
    };
    if gives_back {
        wake(py, &limiter, core, key);
    }
    recycle::object(py, settled)
}

/// Gives back the permit that the reservation of these bytes is. `key` is the key that it is of, or None.
#[pyfunction]
pub(crate) fn release<'py>(
    limiter: PyRef<'py, Limiter>,
    key: Option<Key<'_>>,
    data: Data,
    at_ns: Option<At>,
) -> PyResult<Bound<'py, Decision>> {
    let (py, Data(reservation)) = (limiter.py(), data);
    let core = limiter.here(py)?;
    let released = match at_ns {
        Some(At(at_ns)) => core.release_at(reservation, at_ns),
        None => core.release(reservation),
    };
    if released.given_back() > 0 {
        wake(py, &limiter, core, key);
    }
    recycle::object(py, released)
}

/// Renews the permit that the reservation of these bytes is: the decision, and the bytes from then on.
#[pyfunction]
pub(crate) fn renew<'py>(
    limiter: PyRef<'py, Limiter>,
    data: Data,
    at_ns: Option<At>,
) -> PyResult<(Bound<'py, Decision>, Bound<'py, PyBytes>)> {
    let (py, Data(mut reservation)) = (limiter.py(), data);
    let core = limiter.here(py)?;
    let renewed = match at_ns {
        Some(At(at_ns)) => core.renew_at(&mut reservation, at_ns),
        None => core.renew(&mut reservation),
    };
    Ok((recycle::object(py, renewed)?, PyBytes::new(py, &reservation.to_bytes())))
}
