//! Those who wait for a limiter: its line, and the machine by itself.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ratecell::waiting::{
    Action, Answer, Event, Line, Pace, Parameters, Turn, WaitEnd, WaitOutcome, Waiting as Core,
};
use ratecell::{Decision as Told, Outcome};

use crate::arguments::{At, Cost, Key};
use crate::decision::Decision;
use crate::forks::Fork;
use crate::limiter::Limiter;

/// A limiter's line, and what wakes each of those in it. A new process begins with an empty one, for whoever waited is
/// in the old one.
///
/// The lock is taken and left while attached to the interpreter, and nothing under it runs Python: no thread meets it
/// taken, nor does a fork.
#[derive(Default)]
pub(crate) struct Waits(Mutex<Option<Awaited>>);

struct Awaited {
    line: Line,
    wakers: HashMap<u64, Py<PyAny>>,
    process: Fork,
}

impl Waits {
    fn lock(&self) -> MutexGuard<'_, Option<Awaited>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the line, and then wakes those whose turn has come, which runs Python.
    fn with<T>(
        &self,
        py: Python<'_>,
        limiter: &ratecell::Limiter,
        act: impl FnOnce(&mut Awaited) -> T,
    ) -> (T, Option<Awaited>) {
        let mut guard = self.lock();
        let left = guard.take_if(|awaited| awaited.process != Fork::here());
        let awaited = guard.get_or_insert_with(|| Awaited {
            line: Line::new(Parameters::of(&limiter.policy())),
            wakers: HashMap::new(),
            process: Fork::here(),
        });
        awaited.line.follow(limiter);
        let done = act(awaited);
        let mut woken = Vec::new();
        while let Some(id) = awaited.line.woken() {
            woken.extend(awaited.wakers.get(&id).map(|waker| waker.clone_ref(py)));
        }
        drop(guard);
        for waker in woken {
            if let Err(error) = waker.call0(py) {
                error.write_unraisable(py, Some(waker.bind(py)));
            }
        }
        (done, left)
    }

    /// The policy was changed: those who wait ask by the one in force.
    pub(crate) fn policy_changed(&self, py: Python<'_>, limiter: &ratecell::Limiter) {
        if self.lock().is_some() {
            self.with(py, limiter, |_| ());
        }
    }

    /// Units of a key came back.
    pub(crate) fn changed(&self, py: Python<'_>, limiter: &ratecell::Limiter, key: &[u8], now_ns: u64) {
        if self.lock().as_ref().is_some_and(|awaited| !awaited.line.is_empty()) {
            self.with(py, limiter, |awaited| awaited.line.changed(now_ns, key));
        }
    }
}

/// One who waits: its number in the line of that process. In a new process it is nobody, though others have its number.
type Waiter = (Fork, u64);

/// Has somebody wait for `cost` units of `key`, until `deadline_ns` at the longest, or None; who it is. `wake` is
/// called, by any thread, when its turn has come by what happened to others.
#[pyfunction]
pub(crate) fn arrive(
    limiter: PyRef<'_, Limiter>,
    key: Key<'_>,
    cost: Cost,
    now_ns: At,
    deadline_ns: Option<At>,
    wake: Py<PyAny>,
) -> PyResult<Waiter> {
    let py = limiter.py();
    let core = limiter.here(py)?;
    let policy = core.policy();
    if policy.asks_for_zone() {
        let wrong = format!("`{policy}` asks for a zone, and who waits names none: expected another policy");
        return Err(PyValueError::new_err(wrong));
    }
    let deadline = deadline_ns.map(|At(ns)| ns);
    let (waiter, _) = limiter.waits.with(py, core, |awaited| {
        let id = awaited.line.arrive(now_ns.0, key.0, cost.0, deadline);
        // An id is given once, so no other waker is dropped here.
        awaited.wakers.insert(id, wake);
        (awaited.process, id)
    });
    Ok(waiter)
}

/// How a waiter ended: its outcome as the published traces have it, and the decision for its caller.
type Ended<'py> = (&'static str, Bound<'py, Decision>);

/// The turn of a waiter: it asks, if that is due. Its end or None, and the instant until which it sleeps or None. That
/// of a waiter of another process is an error.
#[pyfunction]
pub(crate) fn turn<'py>(
    limiter: PyRef<'py, Limiter>,
    waiter: Waiter,
    key: Key<'_>,
    now_ns: At,
) -> PyResult<(Option<Ended<'py>>, Option<u64>)> {
    let py = limiter.py();
    let core = limiter.here(py)?;
    let (process, id) = waiter;
    if process != Fork::here() {
        return Err(PyRuntimeError::new_err(
            "a wait went on in a process that was forked off while it slept: expected one that begins there",
        ));
    }
    let ((turn, waker), _) = limiter.waits.with(py, core, |awaited| {
        let turn = awaited.line.turn(core, now_ns.0, id);
        let waker = if matches!(turn, Turn::End(_)) { awaited.wakers.remove(&id) } else { None };
        (turn, waker)
    });
    drop(waker);
    match turn {
        Turn::Sleep { until } => Ok((None, until)),
        Turn::End(end) => {
            let decision = Bound::new(py, Decision::from(decision(core, key.0, now_ns.0, &end)))?;
            Ok((Some((end.outcome.name(), decision)), None))
        }
    }
}

/// A waiter gives up, wherever it is; of another process, it is gone already.
#[pyfunction]
pub(crate) fn leave(limiter: PyRef<'_, Limiter>, waiter: Waiter, now_ns: At) {
    let py = limiter.py();
    let (process, id) = waiter;
    if process != Fork::here() {
        return;
    }
    let (waker, _) = limiter.waits.with(py, &limiter.core, |awaited| {
        awaited.line.leave(&limiter.core, now_ns.0, id);
        awaited.wakers.remove(&id)
    });
    drop(waker);
}

/// How many wait, and how often the limiter was asked by them.
#[pyfunction]
pub(crate) fn waits(limiter: PyRef<'_, Limiter>) -> (usize, u64) {
    let py = limiter.py();
    limiter.waits.with(py, &limiter.core, |awaited| (awaited.line.len(), awaited.line.asks())).0
}

/// The decision for the caller of a waiter that has ended: the limiter's own, if it was asked, otherwise what a peek
/// sees, with the wait that is known.
fn decision(limiter: &ratecell::Limiter, key: &[u8], now_ns: u64, end: &WaitEnd) -> Told {
    if let Some(decision) = end.decision {
        return decision;
    }
    let peek = limiter.check_at(key, 0, now_ns);
    match end.outcome {
        WaitOutcome::Go => peek,
        WaitOutcome::Never => peek.never(),
        _ => {
            let retry_ns = end.at.and_then(|at| at.checked_sub(now_ns)).filter(|ns| *ns > 0);
            let (limit, remaining, reset) = (peek.limit(), peek.remaining(), peek.reset_after_ns());
            let layer = u32::try_from(peek.layer()).unwrap_or(u32::MAX);
            Told::new(Outcome::Denied, limit, remaining, retry_ns.unwrap_or(Told::NEVER), reset, 0, layer)
        }
    }
}

/// The machine that says who asks when, by itself: it asks no limiter and wakes nobody.
#[pyclass(module = "ratecell._native")]
pub(crate) struct Waiting(Core);

/// Nanoseconds that one unit takes, as a fraction.
type PaceParts = Option<(u64, u64)>;

fn pace(parts: PaceParts) -> PyResult<Option<Pace>> {
    let pace = |(num, den)| {
        Pace::new(num, den)
            .ok_or_else(|| PyValueError::new_err("pace has a denominator of 0: expected 1 or more"))
    };
    parts.map(pace).transpose()
}

#[pymethods]
impl Waiting {
    #[new]
    #[pyo3(signature = (*, capacity, pace, max_waiting, max_total, min_pause_ns, max_pause_ns, full_pause_ns))]
    fn new(
        capacity: Option<u64>,
        pace: PaceParts,
        max_waiting: usize,
        max_total: usize,
        min_pause_ns: u64,
        max_pause_ns: u64,
        full_pause_ns: u64,
    ) -> PyResult<Self> {
        let pace = self::pace(pace)?;
        Ok(Self(Core::new(Parameters {
            capacity,
            pace,
            max_waiting,
            max_total,
            min_pause_ns,
            max_pause_ns,
            full_pause_ns,
        })))
    }

    /// Takes in an event, by its name and its arguments as the published traces have them. The actions that follow, each
    /// as there, and the instant at which the event "timer" is due, or None.
    #[pyo3(signature = (name, now_ns, *arguments))]
    fn event<'py>(
        &mut self,
        name: &str,
        now_ns: u64,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<(Vec<Bound<'py, PyTuple>>, Option<u64>)> {
        let py = arguments.py();
        let key: Bound<'py, PyAny>;
        let event = match name {
            "arrive" => {
                let (id, text, cost, deadline) =
                    arguments.extract::<(u64, Bound<'py, PyAny>, u32, Option<u64>)>()?;
                key = text;
                Event::Arrive { id, key: key.as_borrowed().extract::<Key<'_>>()?.0, cost, deadline }
            }
            "answer" => {
                let (id, code, retry_ns, delay_ns) = arguments.extract::<(u64, u64, Option<u64>, u64)>()?;
                Event::Answer { id, answer: answer(code, retry_ns, delay_ns)? }
            }
            "timer" => Event::Timer,
            "cancel" => Event::Cancel { id: arguments.extract::<(u64,)>()?.0 },
            "changed" => {
                key = arguments.get_item(0)?;
                Event::Changed { key: key.as_borrowed().extract::<Key<'_>>()?.0 }
            }
            "policy" => {
                let (capacity, parts) = arguments.extract::<(Option<u64>, PaceParts)>()?;
                Event::Policy { capacity, pace: pace(parts)? }
            }
            "close" => Event::Close,
            _ => {
                return Err(PyValueError::new_err(format!("name is '{name}': expected an event of waiting")));
            }
        };
        let actions =
            self.0.event(now_ns, event).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let actions = actions.map(|action| match action {
            Action::Ask { id, by } => ("ask", id, by).into_pyobject(py),
            Action::Finish { id, outcome, at } => ("finish", id, outcome.name(), at).into_pyobject(py),
            Action::GiveBack { id } => ("give_back", id).into_pyobject(py),
        });
        let actions = actions.collect::<PyResult<_>>()?;
        Ok((actions, self.0.next_ns()))
    }
}

fn answer(code: u64, retry_ns: Option<u64>, delay_ns: u64) -> PyResult<Answer> {
    Ok(match (code, retry_ns) {
        (0, Some(retry_ns)) => Answer::Denied { retry_ns, delay_ns },
        (1, _) => Answer::Charged { delay_ns },
        (2, _) => Answer::Never,
        (3, _) => Answer::ClockRange,
        (4, retry_ns) => Answer::NoPlace { retry_ns },
        _ => {
            return Err(PyValueError::new_err(format!("code is {code}: expected 0 with a retry, or 1 to 4")));
        }
    })
}
