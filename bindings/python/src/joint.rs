//! `decide_all`: several limiters at once.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ratecell::Claim;

use crate::arguments::{At, Cost, Key, Within, flag};
use crate::decision::member;
use crate::decisions::Decisions;
use crate::limiter::Limiter;
use crate::request::Terms;
use crate::zone::{self, Zone};

/// The most layers that are decided at once.
const MAX_LAYERS: usize = 64;

/// A claim: the limiter, the key, the cost, `at_ns` and `within_ns` or None, `charge`, `with_next`, `wait`, and `zone` or
/// None.
type ClaimParts<'py> = (
    PyRef<'py, Limiter>,
    Bound<'py, PyAny>,
    Cost,
    Option<At>,
    Option<Within>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
);

/// Decides all of `claims`, each (limiter, key, cost, at_ns or None, within_ns or None, charge, with_next, wait, zone
/// or None), as one request; returns its outcome, and the decision of each by itself.
#[pyfunction]
pub(crate) fn decide_all<'py>(
    py: Python<'py>,
    claims: Vec<ClaimParts<'_>>,
) -> PyResult<(Bound<'py, PyAny>, Decisions)> {
    let is_leased = claims.iter().any(|claim| claim.0.is_leased());
    let claims = claims.iter().map(|(limiter, key, cost, at, within, charge, with_next, wait, zone)| {
        let limiter = limiter.here(py)?;
        let key = key.as_borrowed().extract::<Key<'_>>()?;
        let (charge, with_next) = (flag("charge", Some(charge))?, flag("with_next", Some(with_next))?);
        let wait = flag("wait", Some(wait))?;
        let zone = Zone::given(zone.as_ref())?;
        zone::check(limiter, zone)?;
        let terms = Terms::new(*cost, *at, *within, charge, with_next, wait)?;
        let request = terms.within_zone(zone).of(key);
        Ok(Claim { limiter, request })
    });
    let claims = claims.collect::<PyResult<Vec<_>>>()?;
    let layers: usize = claims.iter().map(|claim| claim.limiter.policy().layers().len()).sum();
    if layers > MAX_LAYERS {
        return Err(PyValueError::new_err(format!(
            "the claims have {layers} layers: expected at most {MAX_LAYERS}"
        )));
    }
    let mut decisions = vec![ratecell::Decision::default(); claims.len()];
    let mut decide = || ratecell::Limiter::decide_all(&claims, &mut decisions);
    let outcome = if is_leased { py.detach(decide) } else { decide() };
    Ok((member(py, outcome)?, Decisions::from(decisions)))
}
