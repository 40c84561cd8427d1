//! `check_all`: several limiters at once.

use pyo3::prelude::*;
use ratecell::{Claim, Decision as Told};

use crate::arguments::{Cost, Key, Now};
use crate::decision::member;
use crate::decisions::Decisions;
use crate::limiter::Limiter;

/// A claim as the package's `Claim` has it: whom it asks, the key, the cost, `now_ns` or None.
type Asked<'py> = (PyRef<'py, Limiter>, Bound<'py, PyAny>, Cost, Option<Now>);

/// Decides all of `claims`, each (limiter, key, cost, now_ns or None), as one request; answers with its
/// outcome, and what each says by itself.
#[pyfunction]
pub(crate) fn check_all<'py>(
    py: Python<'py>,
    claims: Vec<Asked<'_>>,
) -> PyResult<(Bound<'py, PyAny>, Decisions)> {
    let claims = claims.iter().map(|(limiter, key, cost, now)| {
        let limiter = limiter.here(py)?;
        let Key(key) = key.as_borrowed().extract()?;
        let now_ns = now.map_or_else(|| limiter.now_ns(), |Now(now)| now);
        Ok(Claim { limiter, key, cost: cost.0, now_ns })
    });
    let claims = claims.collect::<PyResult<Vec<_>>>()?;
    let mut decisions = vec![Told::default(); claims.len()];
    let outcome = ratecell::Limiter::check_all(&claims, &mut decisions);
    Ok((member(py, outcome)?, Decisions::from(decisions)))
}
