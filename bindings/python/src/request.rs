//! A request from the arguments of a call.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ratecell::{Request, Zone};

use crate::arguments::{At, Cost, Key, Within};

/// All of a request but its key.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'z> {
    cost: Cost,
    at: Option<At>,
    within: Option<Within>,
    charge: bool,
    with_next: bool,
    wait: bool,
    zone: Option<&'z Zone>,
}

impl<'z> Terms<'z> {
    pub(crate) fn new(
        cost: Cost,
        at: Option<At>,
        within: Option<Within>,
        charge: bool,
        with_next: bool,
        wait: bool,
    ) -> PyResult<Self> {
        if charge && within.is_some() {
            return Err(PyValueError::new_err(
                "charge and within_ns are both given: expected one of them, for a charge has no delay",
            ));
        }
        Ok(Self { cost, at, within, charge, with_next, wait, zone: None })
    }

    /// These, in a zone, if there is one.
    #[inline]
    pub(crate) fn within_zone(self, zone: Option<&'z Zone>) -> Self {
        Self { zone, ..self }
    }

    /// These, at one instant: now, by the limiter's clock, where they give none.
    pub(crate) fn at(self, limiter: &ratecell::Limiter) -> Self {
        Self { at: Some(self.at.unwrap_or_else(|| At(limiter.now_ns()))), ..self }
    }

    /// The request for `key`.
    #[inline]
    pub(crate) fn of<'k>(&self, key: Key<'k>) -> Request<'k>
    where
        'z: 'k,
    {
        let mut request = Request::new(key.0).cost(self.cost.0);
        if let Some(At(at)) = self.at {
            request = request.at(at);
        }
        if let Some(Within(within)) = self.within {
            request = request.within_ns(within);
        }
        if self.charge {
            request = request.charge();
        }
        if self.with_next {
            request = request.with_next();
        }
        if !self.wait {
            request = request.without_waiting();
        }
        if let Some(zone) = self.zone {
            request = request.zone(zone);
        }
        request
    }
}
