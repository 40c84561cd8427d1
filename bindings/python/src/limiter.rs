//! `Limiter`: the calls that decide.

use std::time::SystemTime;

use pyo3::prelude::*;
use ratecell::headers::{Field, Headers};
use ratecell::{Decision as Told, Policy};

use crate::arguments::{Cost, Full, Key, Location, MaxDelay, Now, PolicyText, number};
use crate::decision::Decision;
use crate::decisions::Decisions;
use crate::errors;
use crate::forks::Home;
use crate::keys::Keys;
use crate::recycle::answer;
use crate::stats::Stats;
use crate::waiting::Waits;

/// Keys from which on a batch lets the interpreter go: under a tenth of a millisecond, other threads wait less
/// than this one would to be let in again.
const WORTH_LETTING_GO: usize = 4096;

/// The limiter without what waits, which is Python.
#[pyclass(frozen, subclass, weakref, module = "ratecell._native")]
pub(crate) struct Limiter {
    pub(crate) core: ratecell::Limiter,
    pub(crate) waits: Waits,
    /// Where it is in memory of its own process; `None` of one in a file.
    home: Option<Home>,
}

impl Limiter {
    /// The limiter within, once it is known to be where it was made.
    #[inline]
    pub(crate) fn here(&self, py: Python<'_>) -> PyResult<&ratecell::Limiter> {
        match &self.home {
            Some(home) if home.left() => home.warn(py)?,
            _ => {}
        }
        Ok(&self.core)
    }

    /// The limiter within, unless it left the process where it was made.
    #[inline]
    pub(crate) fn at_home(&self) -> Option<&ratecell::Limiter> {
        let left = self.home.as_ref().is_some_and(Home::left);
        (!left).then_some(&self.core)
    }

    fn decide_many(
        &self,
        keys: &Bound<'_, PyAny>,
        cost: Cost,
        now: Option<Now>,
        width: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decisions> {
        let py = keys.py();
        let keys = Keys::of(keys, number("width", width)?)?;
        let keys = keys.slices()?;
        let core = self.here(py)?;
        let decide = || {
            let now = now.map_or_else(|| core.now_ns(), |Now(now)| now);
            let mut decisions = vec![Told::default(); keys.len()];
            core.check_batch_n_at(&keys, cost.0, now, &mut decisions);
            decisions
        };
        Ok(Decisions::from(if keys.len() < WORTH_LETTING_GO { decide() } else { py.detach(decide) }))
    }
}

fn parse(py: Python<'_>, policy: &str) -> PyResult<Policy> {
    policy.parse().map_err(|error| errors::of_policy(py, &error))
}

#[pymethods]
impl Limiter {
    #[new]
    #[pyo3(signature = (policy, *, max_keys=None, when_full=None, path=None, _beside=None))]
    fn new(
        py: Python<'_>,
        policy: PolicyText<'_>,
        max_keys: Option<&Bound<'_, PyAny>>,
        when_full: Option<Full>,
        path: Option<Location>,
        _beside: Option<PyRef<'_, Self>>,
    ) -> PyResult<Self> {
        let policy = parse(py, policy.0)?;
        if let Some(beside) = _beside {
            let core = beside.core.with_policy(policy).map_err(|error| errors::of_build(py, &error))?;
            return Ok(Self { core, waits: Waits::default(), home: beside.home.as_ref().map(Home::same) });
        }
        let mut builder = ratecell::Limiter::builder(policy);
        if let Some(max_keys) = number("max_keys", max_keys)? {
            builder = builder.max_keys(max_keys);
        }
        if let Some(Full(when_full)) = when_full {
            builder = builder.when_full(when_full);
        }
        let home = path.is_none().then(Home::here);
        // Taking and zeroing the memory, or waiting for who makes the file.
        let core = py.detach(|| match path {
            Some(Location(path)) => builder.open(path),
            None => builder.build(),
        });
        Ok(Self { core: core.map_err(|error| errors::of_build(py, &error))?, waits: Waits::default(), home })
    }

    /// Decides `cost` units of `key` now: all of them or none. A cost of 0 is a peek.
    #[pyo3(signature = (key, cost=Cost(1)), text_signature = "($self, key, cost=1)")]
    fn check<'py>(&self, py: Python<'py>, key: Key<'_>, cost: Cost) -> PyResult<Bound<'py, Decision>> {
        answer(py, self.here(py)?.check_n(key, cost.0))
    }

    /// Decides `cost` units of `key` at `now_ns`: nanoseconds since `epoch`, or since any other as long as all
    /// who use the limiter use one.
    fn check_at<'py>(
        &self,
        py: Python<'py>,
        key: Key<'_>,
        cost: Cost,
        now_ns: Now,
    ) -> PyResult<Bound<'py, Decision>> {
        answer(py, self.here(py)?.check_at(key, cost.0, now_ns.0))
    }

    /// `check`, but what would be allowed with a `delay` of more than `max_delay_ns` is denied, and charges
    /// nothing: its `retry_after` is when the delay is no longer. Where its own units alone are delayed for longer,
    /// it can never go. For callers who can hold a request only so long.
    fn check_within<'py>(
        &self,
        py: Python<'py>,
        key: Key<'_>,
        cost: Cost,
        max_delay_ns: MaxDelay,
    ) -> PyResult<Bound<'py, Decision>> {
        answer(py, self.here(py)?.check_within(key, cost.0, max_delay_ns.0))
    }

    /// `check_within` at `now_ns`.
    fn check_within_at<'py>(
        &self,
        py: Python<'py>,
        key: Key<'_>,
        cost: Cost,
        max_delay_ns: MaxDelay,
        now_ns: Now,
    ) -> PyResult<Bound<'py, Decision>> {
        answer(py, self.here(py)?.check_within_at(key, cost.0, max_delay_ns.0, now_ns.0))
    }

    /// Decides `cost` units of each of `keys` at one instant, in their order.
    ///
    /// `keys` are any iterable of str and bytes, or memory: an array of numbers, of numpy's type `S` or of two
    /// dimensions, whose items or rows are the keys; or any buffer, with the `width` of a key in bytes. A number is
    /// known by the bytes that it has in memory: 5 as int32 and as int64 are two keys, and neither is "5". In type
    /// `S` the zeros at the end are no part of a key, unless `width` is given.
    #[pyo3(signature = (keys, cost=Cost(1), *, width=None), text_signature = "($self, keys, cost=1, *, width=None)")]
    fn check_many(
        &self,
        keys: &Bound<'_, PyAny>,
        cost: Cost,
        width: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decisions> {
        self.decide_many(keys, cost, None, width)
    }

    /// `check_many` at `now_ns`.
    #[pyo3(signature = (keys, cost, now_ns, *, width=None))]
    fn check_many_at(
        &self,
        keys: &Bound<'_, PyAny>,
        cost: Cost,
        now_ns: Now,
        width: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decisions> {
        self.decide_many(keys, cost, Some(now_ns), width)
    }

    /// What a check of `key` would see now, without charging it.
    fn peek<'py>(&self, py: Python<'py>, key: Key<'_>) -> PyResult<Bound<'py, Decision>> {
        answer(py, self.here(py)?.peek(key))
    }

    /// `peek` at `now_ns`.
    fn peek_at<'py>(&self, py: Python<'py>, key: Key<'_>, now_ns: Now) -> PyResult<Bound<'py, Decision>> {
        answer(py, self.here(py)?.peek_at(key, now_ns.0))
    }

    /// Charges `cost` units of `key` that have been spent already, whether or not they would be allowed: as many
    /// as there is room for. The decision is what a peek sees afterwards.
    #[pyo3(signature = (key, cost=Cost(1)), text_signature = "($self, key, cost=1)")]
    fn charge<'py>(&self, py: Python<'py>, key: Key<'_>, cost: Cost) -> PyResult<Bound<'py, Decision>> {
        answer(py, self.here(py)?.charge(key, cost.0))
    }

    /// `charge` at `now_ns`.
    fn charge_at<'py>(
        &self,
        py: Python<'py>,
        key: Key<'_>,
        cost: Cost,
        now_ns: Now,
    ) -> PyResult<Bound<'py, Decision>> {
        answer(py, self.here(py)?.charge_at(key, cost.0, now_ns.0))
    }

    /// Makes `key` as if never seen; says whether there was anything to forget.
    fn forget(&self, py: Python<'_>, key: Key<'_>) -> PyResult<bool> {
        let core = self.here(py)?;
        let held = core.forget(key);
        self.waits.changed(py, core, key.0, core.now_ns());
        Ok(held)
    }

    /// What the limiter holds now and what has happened to it. Above 196,608 keys `live` is estimated, within
    /// `live_error`; if `exact`, it is counted: tens of milliseconds for ten million keys, in which other threads
    /// run.
    #[pyo3(signature = (*, exact=false))]
    fn stats(&self, py: Python<'_>, exact: bool) -> Stats {
        Stats(py.detach(|| if exact { self.core.stats_exact() } else { self.core.stats() }))
    }

    /// `stats` at `now_ns`.
    #[pyo3(signature = (now_ns, *, exact=false))]
    fn stats_at(&self, py: Python<'_>, now_ns: Now, exact: bool) -> Stats {
        let now_ns = now_ns.0;
        Stats(py.detach(|| if exact { self.core.stats_exact_at(now_ns) } else { self.core.stats_at(now_ns) }))
    }

    /// The HTTP fields that tell a client this decision, as (name, value): RateLimit-Policy, RateLimit and, of a
    /// denial, Retry-After. `name` is what the policy is called there, by default its own text; `legacy` adds
    /// the older X-RateLimit-Limit, -Remaining and -Reset, which is in seconds from now.
    #[pyo3(signature = (decision, name=None, *, legacy=false))]
    fn headers(
        &self,
        decision: &Decision,
        name: Option<&str>,
        legacy: bool,
    ) -> PyResult<Vec<(&'static str, String)>> {
        let mut headers = Headers::new(self.core.policy());
        if let Some(name) = name {
            headers = headers
                .named(name)
                .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
        }
        let fields = [Field::RateLimitPolicy, Field::RateLimit, Field::RetryAfter].into_iter();
        let older = [Field::XRateLimitLimit, Field::XRateLimitRemaining, Field::XRateLimitReset];
        let fields = fields.chain(older.into_iter().filter(|_| legacy));
        Ok(headers.all(fields, &decision.told.get()).map(|(name, value)| (name, value.to_string())).collect())
    }

    /// The policy, as text that makes the same one.
    #[getter]
    fn policy(&self) -> String {
        self.core.policy().to_string()
    }

    /// The most units that can pass at one instant: the least capacity of the layers.
    #[getter]
    fn capacity(&self) -> u64 {
        self.core.policy().capacity()
    }

    /// The last `now_ns` that can be decided.
    #[getter]
    fn max_now_ns(&self) -> u64 {
        self.core.policy().max_now_ns()
    }

    /// Nanoseconds since `epoch`, by the limiter's clock: CLOCK_MONOTONIC.
    fn now_ns(&self) -> u64 {
        self.core.now_ns()
    }

    /// The zero of the limiter's clock, a datetime in UTC: the Monday 00:00 UTC before it was made.
    #[getter]
    fn epoch(&self) -> SystemTime {
        self.core.epoch()
    }
}
