//! `Rules`: limits by a file of rules.

use std::time::SystemTime;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyString};
use ratecell::rules::RulesLimiter;

use crate::arguments::{self, At, Full, Location, flag, number, wrong_type};
use crate::errors::{self, Given};
use crate::forks::{self, Home};
use crate::rules_decision::RulesDecision;
use crate::stats::Stats;

/// Limits by a file of rules, which says which limits apply to which requests.
///
/// The file is given as its `text`, str or bytes, or by its `path`; it is read once. All rules have one table, with
/// room for `max_keys` keys at once (default 100,000): a key counts once for each layer of the policy that it is limited by.
/// `when_full`, which is not "share", and `epoch_s` are those of `Limiter`. Threads may share it. The limits are this
/// process's alone. With `forked` it shares them with the processes that are forked off later, and together they admit
/// exactly what the rules allow; a change after the fork is of its process alone. With `reserving` every request is
/// reserved, and rules may count requests `in_flight`.
///
/// With `file`, the path of another file, the limits are in that: all processes that name it, in any language, admit together
/// exactly what the rules allow. If it is absent, empty or all zeros, it is made. It knows each limit by the name of its rule
/// and tier, and a change is for all processes. Rules of other names are added to it, and none is ever taken away. A rule that
/// has another policy there is refused; with `follow` the policy of the file holds, and with `change` this one, for all.
///
/// Raises RulesError, a ValueError, for a file that is refused; ValueError for a `max_keys` of 0, for a `when_full` of
/// "share", for a rule with `in_flight` without `reserving`, and with `forked` or `file` for a rule with a `sliding_log`; also
/// for a `file` that holds another policy of a rule, or something else, and for options that do not go with it; OSError, as
/// `open` does, for a file that cannot be read or used; MemoryError where there is too little for `max_keys`.
#[pyclass(frozen, subclass, weakref, module = "ratecell._native")]
pub(crate) struct Rules {
    limiter: RulesLimiter,
    /// Where the tables are its process's own; `None` of those that processes share.
    home: Option<Home>,
}

impl Rules {
    /// The limiter within, once it is known to be where it was made.
    pub(crate) fn here(&self, py: Python<'_>) -> PyResult<&RulesLimiter> {
        if let Some(home) = self.home.as_ref().filter(|home| home.left()) {
            home.warn(py, forks::OF_RULES)?;
        }
        Ok(&self.limiter)
    }
}

#[pymethods]
impl Rules {
    #[new]
    #[pyo3(
        signature = (
            text=None, *, path=None, max_keys=None, when_full=None, epoch_s=None, forked=None, reserving=None,
            file=None, follow=None, change=None
        ),
        text_signature = "(text=None, *, path=None, max_keys=None, when_full=None, epoch_s=None, forked=False, \
                          reserving=False, file=None, follow=False, change=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "they are Python's, by their names")]
    fn new(
        py: Python<'_>,
        text: Option<&Bound<'_, PyAny>>,
        path: Option<Location>,
        max_keys: Option<&Bound<'_, PyAny>>,
        when_full: Option<Full>,
        epoch_s: Option<i64>,
        forked: Option<&Bound<'_, PyAny>>,
        reserving: Option<&Bound<'_, PyAny>>,
        file: Option<Location>,
        follow: Option<&Bound<'_, PyAny>>,
        change: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (forked, reserving) = (flag("forked", forked)?, flag("reserving", reserving)?);
        let (follow, change) = (flag("follow", follow)?, flag("change", change)?);
        let wrong = match &file {
            None if follow || change => Some("follow, change: expected neither without a file"),
            Some(_) if follow && change => Some("follow, change: expected one of them, or neither"),
            Some(_) if forked => Some("forked: expected none with a file, which processes share by its name"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Err(PyValueError::new_err(wrong));
        }
        let mut builder = RulesLimiter::builder(parsed(py, text, path)?);
        if let Some(max_keys) = number("max_keys", max_keys)? {
            builder = builder.max_keys(max_keys);
        }
        if let Some(Full(when_full)) = when_full {
            builder = builder.when_full(when_full);
        }
        if let Some(epoch) = arguments::epoch(epoch_s)? {
            builder = builder.epoch(epoch);
        }
        if forked {
            builder = builder.forked();
        }
        if reserving {
            builder = builder.reserving();
        }
        if follow {
            builder = builder.follow();
        }
        if change {
            builder = builder.change();
        }
        let is_shared = forked || file.is_some();
        let made = py.detach(|| match file {
            None => builder.build(),
            Some(Location(path)) => builder.open(path),
        });
        let limiter = made.map_err(|error| errors::of_build(py, &error))?;
        Ok(Self { limiter, home: (!is_shared).then(Home::here) })
    }

    /// Decides a request with these attributes: all limits that apply to it are charged, or none is.
    ///
    /// `attributes` are the values, str (by its UTF-8) or bytes, by the names that the file uses: "method", "path" as it
    /// was sent, still encoded, "host", "client" (the key of `Clients(v6_width=128)`, for rules have widths of their own),
    /// "header:x-api-key" in small letters, and those that the file lists. One that is not there, or is None, is absent;
    /// one that the file does not use is passed over. `at_ns` is the time, in nanoseconds since `epoch`; None is now.
    ///
    /// Raises TypeError for a name that is no str, or a value that is neither str nor bytes nor None, and ValueError for a
    /// str that has no UTF-8, and where the rules were made with `reserving`; nothing is charged then.
    #[pyo3(signature = (attributes, *, at_ns=None))]
    fn decide(
        &self,
        py: Python<'_>,
        attributes: &Bound<'_, PyAny>,
        at_ns: Option<At>,
    ) -> PyResult<RulesDecision> {
        let pairs = pairs(attributes)?;
        let request = request(&pairs)?;
        let limiter = self.here(py)?;
        if limiter.is_reserving() {
            return Err(PyValueError::new_err(
                "rules that are made with reserving: decide gives no permit that could be released; expected reserve",
            ));
        }
        let now_ns = at_ns.map_or_else(|| limiter.now_ns(), |At(at_ns)| at_ns);
        Ok(limiter.decide_at(&request, now_ns).into())
    }

    /// Limits by another file from now on, given as to `Rules`, while other threads decide. Each request is decided by
    /// the old file or by the new one. A rule goes on with what it has counted if its name and its key stay: where the
    /// numbers of its limit change, what each key has used stays used, in units. With another algorithm, another window or
    /// another number of layers it begins anew; with `forked`, where its limit changes at all. `at_ns` is the time of the
    /// change, as for `decide`. A fork of the process waits until the change is made. With `file` the limits change for all
    /// processes, each of which goes on with its own rules; rules that are not in the new text stay in the file.
    ///
    /// Raises what `Rules` raises, and PolicyError where a new limit cannot decide at that time; then the rules in force stay.
    #[pyo3(signature = (text=None, *, path=None, at_ns=None))]
    fn change(
        &self,
        py: Python<'_>,
        text: Option<&Bound<'_, PyAny>>,
        path: Option<Location>,
        at_ns: Option<At>,
    ) -> PyResult<()> {
        let rules = parsed(py, text, path)?;
        let limiter = self.here(py)?;
        let changed = forks::change(py, || match at_ns {
            None => limiter.change(rules),
            Some(At(at_ns)) => limiter.change_at(rules, at_ns),
        });
        changed.map_err(|error| errors::of_build(py, &error))
    }

    /// What the rules hold and what has happened. They have one table, and one for each sliding_log: events and bytes are
    /// summed over them, and slots and live keys are those of the table with the most.
    #[pyo3(signature = (*, at_ns=None))]
    fn stats(&self, py: Python<'_>, at_ns: Option<At>) -> Stats {
        py.detach(|| {
            let now_ns = at_ns.map_or_else(|| self.limiter.now_ns(), |At(at_ns)| at_ns);
            Stats { stats: self.limiter.stats_at(now_ns), shared: Default::default() }
        })
    }

    /// Whether every request is to be reserved.
    #[getter]
    fn reserving(&self) -> bool {
        self.limiter.is_reserving()
    }

    /// The names of the rules in force, in their order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.limiter.rules().iter().map(|rule| rule.name().to_owned()).collect()
    }

    /// Nanoseconds since `epoch`, by the clock of the limits: CLOCK_MONOTONIC.
    fn now_ns(&self) -> u64 {
        self.limiter.now_ns()
    }

    /// The zero of that clock, a datetime in UTC: the Monday 00:00 UTC before it was made.
    #[getter]
    fn epoch(&self) -> SystemTime {
        self.limiter.epoch()
    }

    fn __repr__(&self) -> String {
        format!("<Rules: {} rules>", self.limiter.rules().len())
    }
}

/// A name and its value.
pub(crate) type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The attributes that are present.
pub(crate) fn request<'a>(pairs: &'a [Pair<'_>]) -> PyResult<Vec<(&'a str, &'a [u8])>> {
    let mut request = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        let name = match name.cast::<PyString>() {
            Ok(name) => name.to_str()?,
            Err(_) => return Err(wrong_type("an attribute's name", name.as_borrowed(), "str")),
        };
        if !value.is_none() {
            let what = format_args!("the attribute {name}");
            request.push((name, bytes_of(&what, value, "str, bytes or None")?));
        }
    }
    Ok(request)
}

/// Names and values, as the mapping has them.
pub(crate) fn pairs<'py>(attributes: &Bound<'py, PyAny>) -> PyResult<Vec<Pair<'py>>> {
    if let Ok(attributes) = attributes.cast::<PyDict>() {
        return Ok(attributes.iter().collect());
    }
    match attributes.cast::<PyMapping>() {
        Ok(attributes) => attributes.items()?.extract(),
        Err(_) => Err(wrong_type("attributes", attributes.as_borrowed(), "a mapping of names to values")),
    }
}

fn bytes_of<'a>(
    what: &core::fmt::Arguments<'_>,
    object: &'a Bound<'_, PyAny>,
    expected: &str,
) -> PyResult<&'a [u8]> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    match object.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes()),
        Err(_) => Err(wrong_type(&what.to_string(), object.as_borrowed(), expected)),
    }
}

/// The rules of a text or of a file.
fn parsed(
    py: Python<'_>,
    text: Option<&Bound<'_, PyAny>>,
    path: Option<Location>,
) -> PyResult<ratecell::rules::Rules> {
    match (text, path) {
        (Some(text), None) => {
            let given = bytes_of(&format_args!("text"), text, "str or bytes")?;
            let parsed = py.detach(|| ratecell::rules::Rules::parse(given));
            // One line without a value may be the name of a file.
            let is_name = !given.is_empty() && !given.iter().any(|byte| matches!(byte, b'\n' | b'='));
            let given = if is_name { Given::Name } else { Given::Text };
            parsed.map_err(|error| errors::of_rules(py, given, &error))
        }
        (None, Some(Location(path))) => {
            let read = py.detach(|| std::fs::read(&path).map(ratecell::rules::Rules::parse));
            let parsed =
                read.map_err(|error| errors::of_file(&path, error.raw_os_error(), &error.to_string()))?;
            parsed.map_err(|error| errors::of_rules(py, Given::Path(&path), &error))
        }
        (Some(_), Some(_)) => {
            Err(PyValueError::new_err("text and path are both given: expected one of them"))
        }
        (None, None) => Err(PyValueError::new_err("neither text nor path is given: expected one of them")),
    }
}
