//! `Zone`: what a request names, under a policy with tz=caller.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::wrong_type;
use crate::errors;

/// A time zone, ready for requests to a limiter whose policy has tz=caller: `Limiter.zone` makes it, in up to a
/// millisecond and of about 40 KB for days. Make each zone once.
///
/// It may be used for every limiter of the same period, `at`, `week`, `day`, epoch and horizon. Two zones are equal if
/// they have the same windows.
#[pyclass(frozen, eq, hash, module = "ratecell._native")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Zone(ratecell::Zone);

impl Zone {
    /// The zone of this name for requests to `limiter`.
    pub(crate) fn new(py: Python<'_>, limiter: &ratecell::Limiter, name: &str) -> PyResult<Self> {
        limiter.zone(name).map(Self).map_err(|error| errors::of_policy(py, &error))
    }

    /// The argument `zone`, if it was given.
    pub(crate) fn given<'a>(object: Option<&'a Bound<'_, PyAny>>) -> PyResult<Option<&'a ratecell::Zone>> {
        let zone = object.map(|object| match object.cast::<Self>() {
            Ok(zone) => Ok(&zone.get().0),
            Err(_) => Err(wrong_type("zone", object.as_borrowed(), "Zone")),
        });
        zone.transpose()
    }
}

/// An error where `limiter` decides no request that names this zone.
pub(crate) fn check(limiter: &ratecell::Limiter, zone: Option<&ratecell::Zone>) -> PyResult<()> {
    let policy = limiter.policy();
    let Some(zone) = zone.filter(|zone| !policy.takes_zone(zone)) else { return Ok(()) };
    let wrong = if policy.asks_for_zone() {
        format!(
            "zone is {zone} of another calendar than that of `{policy}`: expected one that this limiter made"
        )
    } else {
        format!("zone is {zone}, and `{policy}` takes none: expected a policy with tz=caller")
    };
    Err(PyValueError::new_err(wrong))
}

#[pymethods]
impl Zone {
    /// The name as the time zone database spells it, "UTC", or an offset such as "+05:30".
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    fn __repr__(&self) -> String {
        format!("<Zone {:?}>", self.0.name())
    }
}
