//! `Limiter`: the calls that decide.

use std::sync::Arc;
use std::time::SystemTime;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use ratecell::{Outcome, Policy, Request};

use crate::arguments::{
    self, At, Cost, Full, Key, Location, PolicyText, Within, flag, number, wait as waits,
};
use crate::decision::Decision;
use crate::decisions::Decisions;
use crate::errors;
use crate::forks::{self, Home};
use crate::keys::Keys;
use crate::recycle;
use crate::request::Terms;
use crate::stats::Stats;
use crate::waiting::Waits;
use crate::zone::{self, Zone};

/// Keys from which on a batch lets the interpreter go: under a tenth of a millisecond, other threads wait less
/// than this one would to be let in again.
const WORTH_LETTING_GO: usize = 4096;

/// Requests of a batch that are made at once.
const REQUESTS: usize = 32;

/// The limiter without what waits, which is Python.
#[pyclass(frozen, subclass, weakref, module = "ratecell._native")]
pub(crate) struct Limiter {
    pub(crate) core: ratecell::Limiter,
    pub(crate) waits: Waits,
    /// Where it is in memory of its own process; `None` of one in a file.
    home: Option<Home>,
    /// Whether its units are those of many machines: then a decision may wait for their store.
    is_leased: bool,
}

impl Limiter {
    /// The limiter within, once it is known to be where it was made.
    #[inline]
    pub(crate) fn here(&self, py: Python<'_>) -> PyResult<&ratecell::Limiter> {
        match &self.home {
            Some(home) if home.left() => home.warn(py, forks::OF_LIMITER)?,
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

    /// Whether a decision may wait.
    pub(crate) fn is_leased(&self) -> bool {
        self.is_leased
    }

    /// Decides a request of `core`, this limiter's. Other threads run while it waits for a store.
    #[inline]
    pub(crate) fn decide_within(
        &self,
        py: Python<'_>,
        core: &ratecell::Limiter,
        request: Request<'_>,
    ) -> ratecell::Decision {
        if self.is_leased { self.decide_leased(py, core, request) } else { core.decide(request) }
    }

    #[inline(never)]
    fn decide_leased(
        &self,
        py: Python<'_>,
        core: &ratecell::Limiter,
        request: Request<'_>,
    ) -> ratecell::Decision {
        // A charge that does not wait charges less.
        if !request.is_charge() {
            // The store is asked below, once.
            let decision = core.decide_here(request);
            if decision.outcome() != Outcome::Asked {
                return decision;
            }
            if request.is_without_waiting() {
                return core.decide(request);
            }
        }
        py.detach(|| core.decide(request))
    }

    /// The argument `zone`, which is to be one of this limiter's calendar.
    #[inline]
    pub(crate) fn zone_given<'a>(
        &self,
        zone: Option<&'a Bound<'_, PyAny>>,
    ) -> PyResult<Option<&'a ratecell::Zone>> {
        let zone = Zone::given(zone)?;
        zone::check(&self.core, zone)?;
        Ok(zone)
    }

    /// The limiter's policy.
    pub(crate) fn policy_of(&self) -> Arc<Policy> {
        self.core.policy()
    }
}

fn parse(py: Python<'_>, policy: &str) -> PyResult<Policy> {
    policy.parse().map_err(|error| errors::of_policy(py, &error))
}

#[pymethods]
impl Limiter {
    #[new]
    #[pyo3(signature = (policy=None, *, max_keys=None, when_full=None, path=None, on_miss=None, wait_ns=None, on_failure=None, epoch_s=None, names=None, follow=None, change=None, _beside=None))]
    #[expect(clippy::too_many_arguments, reason = "a limiter has that many options")]
    fn new(
        py: Python<'_>,
        policy: Option<PolicyText<'_>>,
        max_keys: Option<&Bound<'_, PyAny>>,
        when_full: Option<Full>,
        path: Option<Location>,
        on_miss: Option<&Bound<'_, PyAny>>,
        wait_ns: Option<&Bound<'_, PyAny>>,
        on_failure: Option<&Bound<'_, PyAny>>,
        epoch_s: Option<i64>,
        names: Option<&Bound<'_, PyAny>>,
        follow: Option<&Bound<'_, PyAny>>,
        change: Option<&Bound<'_, PyAny>>,
        _beside: Option<PyRef<'_, Self>>,
    ) -> PyResult<Self> {
        let policy = policy.map(|policy| parse(py, policy.0)).transpose()?;
        let has_policy = policy.is_some();
        let mut builder = match (_beside, policy) {
            (Some(beside), Some(policy)) => {
                let core = beside.core.with_policy(policy).map_err(|error| errors::of_build(py, &error))?;
                let (home, is_leased) = (beside.home.as_ref().map(Home::same), beside.is_leased);
                return Ok(Self { core, waits: Waits::default(), home, is_leased });
            }
            (_, Some(policy)) => ratecell::Limiter::builder(policy),
            (_, None) if path.is_some() => ratecell::Limiter::following(),
            (_, None) => {
                let text = "policy is missing: expected str, or path, of a file that has one";
                return Err(PyTypeError::new_err(text));
            }
        };
        if let Some(max_keys) = number("max_keys", max_keys)? {
            builder = builder.max_keys(max_keys);
        }
        if let Some(Full(when_full)) = when_full {
            builder = builder.when_full(when_full);
        }
        if let Some(on_miss) = arguments::on_miss(on_miss, wait_ns)? {
            builder = builder.on_miss(on_miss);
        }
        if let Some(on_failure) = arguments::on_failure(on_failure)? {
            builder = builder.on_failure(on_failure);
        }
        if let Some(epoch) = arguments::epoch(epoch_s)? {
            builder = builder.epoch(epoch);
        }
        builder = builder.names(flag("names", names)?);
        let (follow, change) = (flag("follow", follow)?, flag("change", change)?);
        if (follow || change) && (path.is_none() || !has_policy) {
            return Err(PyValueError::new_err(
                "follow, change: expected neither without a path and a policy",
            ));
        }
        builder = match (follow, change) {
            (true, true) => {
                return Err(PyValueError::new_err("follow, change: expected one of them, or neither"));
            }
            (true, false) => builder.follow(),
            (false, true) => builder.change(),
            (false, false) => builder,
        };
        let home = path.is_none().then(Home::here);
        // Taking and zeroing the memory, or waiting for who makes the file.
        let core = py.detach(|| match path {
            Some(Location(path)) => builder.open(path),
            None => builder.build(),
        });
        let core = core.map_err(|error| errors::of_build(py, &error))?;
        let is_leased = core.shared().is_some();
        Ok(Self { core, waits: Waits::default(), home, is_leased })
    }

    /// Decides `cost` units of `key`: all of them or none. A cost of 0 is a peek. `at_ns` is the time, in nanoseconds
    /// since `epoch`, or since any other as long as all users of the limiter use one and no window is of a calendar; None
    /// is now.
    ///
    /// `zone`: under a policy with tz=caller, the zone whose windows decide, which `zone` made; for every other limiter
    /// None. Where it is needed and None, the request is refused with NEVER.
    #[pyo3(
        signature = (key, cost=Cost(1), *, at_ns=None, zone=None),
        text_signature = "($self, key, cost=1, *, at_ns=None, zone=None)"
    )]
    fn check<'py>(
        &self,
        py: Python<'py>,
        key: Key<'_>,
        cost: Cost,
        at_ns: Option<At>,
        zone: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, Decision>> {
        let zone = self.zone_given(zone)?;
        let terms = Terms::new(cost, at_ns, None, false, false, true)?.within_zone(zone);
        recycle::object(py, self.decide_within(py, self.here(py)?, terms.of(key)))
    }

    /// Decides a request: as `check`, with these options.
    ///
    /// `within_ns`: what would be allowed with a `delay` of more than so many nanoseconds is denied, and charges
    /// nothing; its `retry_after` is the time until the delay is no longer. Where its own units alone are delayed for
    /// longer, it can never go. For callers that can hold a request only so long.
    ///
    /// `charge`: the units have been spent already, and are charged as far as there is room for them, whether or not
    /// they would be allowed. The decision is what a peek sees afterwards.
    ///
    /// `with_next`: the decision has its `next_after`, too. This costs a second look at the key.
    ///
    /// `wait=False`: it does not wait for the store that many machines share. Where only that can answer, it is asked,
    /// and the outcome is ASKED; with `charge`, only what this machine holds is charged. Other limiters never wait here.
    #[pyo3(
        signature = (key, cost=Cost(1), *, at_ns=None, within_ns=None, charge=None, with_next=None, wait=None, zone=None),
        text_signature = "($self, key, cost=1, *, at_ns=None, within_ns=None, charge=False, with_next=False, wait=True, zone=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "a request has that many parts")]
    fn decide<'py>(
        &self,
        py: Python<'py>,
        key: Key<'_>,
        cost: Cost,
        at_ns: Option<At>,
        within_ns: Option<Within>,
        charge: Option<&Bound<'_, PyAny>>,
        with_next: Option<&Bound<'_, PyAny>>,
        wait: Option<&Bound<'_, PyAny>>,
        zone: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, Decision>> {
        let (charge, with_next) = (flag("charge", charge)?, flag("with_next", with_next)?);
        let terms = Terms::new(cost, at_ns, within_ns, charge, with_next, waits(wait)?)?;
        let terms = terms.within_zone(self.zone_given(zone)?);
        recycle::object(py, self.decide_within(py, self.here(py)?, terms.of(key)))
    }

    /// Decides the same request for each of `keys`, at one instant and in their order: the options are those of
    /// `decide`.
    ///
    /// `keys` are any iterable of str and bytes, or memory: an array of numbers, of numpy's type `S` or of two
    /// dimensions, whose items or rows are the keys; or any buffer, with the `width` of a key in bytes. A number is
    /// known by the bytes that it has in memory: 5 as int32 and as int64 are two keys, and neither is "5". In type
    /// `S` the zeros at the end are no part of a key, unless `width` is given.
    #[pyo3(
        signature = (keys, cost=Cost(1), *, width=None, at_ns=None, within_ns=None, charge=None, with_next=None, wait=None, zone=None),
        text_signature = "($self, keys, cost=1, *, width=None, at_ns=None, within_ns=None, charge=False, with_next=False, wait=True, zone=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "a request has that many parts")]
    fn decide_many(
        &self,
        keys: &Bound<'_, PyAny>,
        cost: Cost,
        width: Option<&Bound<'_, PyAny>>,
        at_ns: Option<At>,
        within_ns: Option<Within>,
        charge: Option<&Bound<'_, PyAny>>,
        with_next: Option<&Bound<'_, PyAny>>,
        wait: Option<&Bound<'_, PyAny>>,
        zone: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decisions> {
        let py = keys.py();
        let (charge, with_next) = (flag("charge", charge)?, flag("with_next", with_next)?);
        let terms = Terms::new(cost, at_ns, within_ns, charge, with_next, waits(wait)?)?;
        let terms = terms.within_zone(self.zone_given(zone)?);
        let keys = Keys::of(keys, number("width", width)?)?;
        let keys = keys.slices()?;
        let core = self.here(py)?;
        let decide = || {
            let terms = terms.at(core);
            let mut decisions = vec![ratecell::Decision::default(); keys.len()];
            // A request is three times as long as a key: a few at a time stay in the nearest cache.
            let mut requests = Vec::with_capacity(REQUESTS.min(keys.len()));
            for (keys, decisions) in keys.chunks(REQUESTS).zip(decisions.chunks_mut(REQUESTS)) {
                requests.clear();
                requests.extend(keys.iter().map(|key| terms.of(*key)));
                core.decide_batch(&requests, decisions);
            }
            decisions
        };
        let is_short = keys.len() < WORTH_LETTING_GO && !self.is_leased;
        Ok(Decisions::from(if is_short { decide() } else { py.detach(decide) }))
    }

    /// What a check of `key` would see, without charging it: a check of cost 0.
    #[pyo3(signature = (key, *, at_ns=None, zone=None))]
    fn peek<'py>(
        &self,
        py: Python<'py>,
        key: Key<'_>,
        at_ns: Option<At>,
        zone: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, Decision>> {
        self.check(py, key, Cost(0), at_ns, zone)
    }

    /// The time zone of this name, for requests to this limiter, whose policy has tz=caller: a name of the time zone
    /// database such as "Asia/Tokyo", "UTC", or an offset such as "+05:30". Raises PolicyError where there is no such
    /// zone, and where the policy names its zone itself. Make each zone once.
    #[pyo3(name = "zone")]
    fn zone_of(&self, py: Python<'_>, name: &str) -> PyResult<Zone> {
        Zone::new(py, &self.core, name)
    }

    /// Makes `key` as if never seen; says whether there was anything to forget.
    fn forget(&self, py: Python<'_>, key: Key<'_>) -> PyResult<bool> {
        let core = self.here(py)?;
        let held = core.forget(key);
        self.waits.changed(py, core, key.0, core.now_ns());
        Ok(held)
    }

    /// Limits by another policy from now on, here and in every other limiter of the same keys, in all processes, while
    /// others decide. What each key has used stays used, in units: a raised limit lets those go on who were exhausted, a
    /// lowered one forgives nothing, and changing forth and back gives nobody a unit more. A policy that decides as the one
    /// in force does changes nothing. `at_ns` is the time of the change, as for `check`.
    ///
    /// Rate, burst, capacity, limit and, of a calendar, the zone may change; the number of layers, their algorithms and the
    /// lengths of windows may not. gcra, leaky_meter, leaky_queue and a continuous token_bucket may follow each other. A
    /// limiter of `with_policy`, or that opened the file with another policy, keeps its own burst, capacity or limit where
    /// that was another than the one in force, and takes the rate of the new policy.
    ///
    /// Every third change reads and writes the whole table, in tens of milliseconds for ten million keys; other threads run
    /// meanwhile. A fork of the process waits until the change is made.
    ///
    /// Raises PolicyError, and changes nothing, for a policy that is refused or cannot follow: its `code` is then
    /// "different_table", "range", "precision" or "clock_range". Raises ValueError for a limiter that shares its units with
    /// other machines, and OSError for a file that cannot be locked.
    #[pyo3(signature = (policy, *, at_ns=None))]
    fn change(&self, py: Python<'_>, policy: PolicyText<'_>, at_ns: Option<At>) -> PyResult<()> {
        let policy = parse(py, policy.0)?;
        let core = self.here(py)?;
        let changed = forks::change(py, || match at_ns {
            Some(At(at_ns)) => core.change_at(policy, at_ns),
            None => core.change(policy),
        });
        changed.map_err(|error| errors::of_build(py, &error))?;
        self.waits.policy_changed(py, core);
        Ok(())
    }

    /// What the limiter holds and what has happened to it. Above 163,840 keys `live` is estimated, within
    /// `live_error`; if `exact`, it is counted: tens of milliseconds for ten million keys, in which other threads
    /// run.
    #[pyo3(
        signature = (*, at_ns=None, exact=None),
        text_signature = "($self, *, at_ns=None, exact=False)"
    )]
    fn stats(&self, py: Python<'_>, at_ns: Option<At>, exact: Option<&Bound<'_, PyAny>>) -> PyResult<Stats> {
        let exact = flag("exact", exact)?;
        Ok(py.detach(|| {
            let now_ns = at_ns.map_or_else(|| self.core.now_ns(), |At(at_ns)| at_ns);
            let stats = if exact { self.core.stats_exact_at(now_ns) } else { self.core.stats_at(now_ns) };
            Stats { stats, shared: self.core.shared().unwrap_or_default() }
        }))
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

    /// The last `at_ns` that can be decided.
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
