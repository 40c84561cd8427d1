//! The waiters and their lines, and when each is due.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// A waiter's place in the order of arrival, over all keys.
pub(super) type Arrival = u64;

/// A line's number, which is never given again.
pub(super) type LineNumber = u64;

/// A deadline in order: none comes after every other, and counts as 2^64 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Until {
    pub(super) at: u64,
    is_none: bool,
}

impl Until {
    /// The greatest that counts as at most `now`.
    fn passed_at(now: u64) -> Self {
        Self { at: now, is_none: true }
    }

    pub(super) fn deadline(self) -> Option<u64> {
        (!self.is_none).then_some(self.at)
    }
}

impl From<Option<u64>> for Until {
    fn from(deadline: Option<u64>) -> Self {
        Self { at: deadline.unwrap_or(u64::MAX), is_none: deadline.is_none() }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) id: u64,
    pub(super) line: LineNumber,
    pub(super) cost: u32,
    pub(super) until: Until,
    pub(super) state: State,
    /// It may go at once, but not wait.
    pub(super) is_try: bool,
    /// The instant from which it passes, by the last refusal.
    pub(super) ready: Option<u64>,
    /// An ask of it was refused at or after that instant: another took the units.
    pub(super) is_beaten: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not the first of its line, or about to be asked as its first.
    Behind,
    /// The first: its ask is under way.
    Asked {
        is_cancelled: bool,
        /// The answer may be out of date.
        is_stale: bool,
    },
    /// The first: it asks again at `wake`.
    Asleep {
        wake: u64,
        /// Before this instant it cannot go.
        go: u64,
        /// The bucket is full when it is charged, so those behind it follow at the pace.
        is_saturated: bool,
    },
    /// Admitted: it goes at this instant.
    Held(u64),
}

/// The waiters of one key.
#[derive(Debug)]
pub(super) struct Line {
    key: Box<[u8]>,
    /// Those that are not held, in order of arrival.
    queue: BTreeSet<Arrival>,
    /// Those of the queue whose state is [`State::Behind`], by deadline.
    behind: BTreeSet<(Until, Arrival)>,
    /// The sum of their costs.
    behind_cost: u128,
    held: usize,
    /// The entry of this line in [`Waiters::by_deadline`].
    listed: Option<Until>,
}

/// All waiters. Each operation takes a time logarithmic in their number.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    waiters: BTreeMap<Arrival, Waiter>,
    ids: BTreeMap<u64, Arrival>,
    lines: BTreeMap<LineNumber, Line>,
    keys: BTreeMap<Box<[u8]>, LineNumber>,
    /// Those that are held, by the instant at which they go.
    held: BTreeSet<(u64, Arrival)>,
    /// Those that are asleep, by the instant at which they ask again.
    asleep: BTreeSet<(u64, Arrival)>,
    /// Of each line whose first is asleep, the first deadline of those behind.
    by_deadline: BTreeSet<(Until, LineNumber)>,
    /// The next arrival, and the next line.
    next: u64,
}

impl Waiters {
    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn get(&self, arrival: Arrival) -> Option<&Waiter> {
        self.waiters.get(&arrival)
    }

    pub(super) fn get_mut(&mut self, arrival: Arrival) -> Option<&mut Waiter> {
        self.waiters.get_mut(&arrival)
    }

    pub(super) fn find(&self, id: u64) -> Option<(Arrival, &Waiter)> {
        let arrival = *self.ids.get(&id)?;
        Some((arrival, self.waiters.get(&arrival)?))
    }

    /// In order of arrival.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Arrival, &Waiter)> {
        self.waiters.iter().map(|(arrival, waiter)| (*arrival, waiter))
    }

    pub(super) fn line_of(&self, key: &[u8]) -> Option<LineNumber> {
        self.keys.get(key).copied()
    }

    /// How many wait for the key of a line, those that are held included.
    pub(super) fn count(&self, line: LineNumber) -> usize {
        self.lines.get(&line).map_or(0, |line| line.queue.len() + line.held)
    }

    pub(super) fn first(&self, line: LineNumber) -> Option<(Arrival, &Waiter)> {
        let first = *self.lines.get(&line)?.queue.first()?;
        Some((first, self.waiters.get(&first)?))
    }

    /// Those behind the first of a line, from front to back.
    pub(super) fn behind_first(&self, line: LineNumber) -> Vec<Arrival> {
        self.lines.get(&line).map_or(Vec::new(), |line| line.queue.iter().skip(1).copied().collect())
    }

    /// The costs of all behind the first of a line.
    pub(super) fn behind_cost(&self, line: LineNumber) -> u128 {
        self.lines.get(&line).map_or(0, |line| line.behind_cost)
    }

    /// The lines, by the arrival of their first.
    pub(super) fn lines_by_first(&self) -> Vec<LineNumber> {
        let firsts = self.lines.iter().filter_map(|(number, line)| Some((*line.queue.first()?, *number)));
        let mut lines: Vec<_> = firsts.collect();
        lines.sort_unstable();
        lines.into_iter().map(|(_, number)| number).collect()
    }

    /// A new waiter at the end of the line of its key; the state is [`State::Behind`].
    pub(super) fn stand(
        &mut self,
        id: u64,
        key: &[u8],
        cost: u32,
        deadline: Option<u64>,
        is_try: bool,
    ) -> Arrival {
        let arrival = self.next;
        self.next += 1;
        // A line takes the number of the arrival that made it.
        let line = self.line_of(key).unwrap_or_else(|| {
            self.keys.insert(key.into(), arrival);
            arrival
        });
        self.lines.entry(line).or_insert_with(|| Line::new(key)).queue.insert(arrival);
        let until = deadline.into();
        let state = State::Behind;
        let waiter = Waiter { id, line, cost, until, state, is_try, ready: None, is_beaten: false };
        self.waiters.insert(arrival, waiter);
        self.ids.insert(id, arrival);
        self.list(arrival, waiter);
        self.relist(line);
        arrival
    }

    pub(super) fn set(&mut self, arrival: Arrival, state: State) {
        let Some(waiter) = self.waiters.get_mut(&arrival) else {
            return;
        };
        let was = *waiter;
        waiter.state = state;
        self.unlist(arrival, was);
        self.list(arrival, Waiter { state, ..was });
        self.relist(was.line);
    }

    pub(super) fn remove(&mut self, arrival: Arrival) -> Option<Waiter> {
        let waiter = self.waiters.remove(&arrival)?;
        self.ids.remove(&waiter.id);
        self.unlist(arrival, waiter);
        self.relist(waiter.line);
        let line = self.lines.get_mut(&waiter.line)?;
        line.queue.remove(&arrival);
        if line.queue.is_empty() && line.held == 0 {
            self.keys.remove(&line.key);
            self.lines.remove(&waiter.line);
        }
        Some(waiter)
    }

    /// Lists a waiter under its state.
    fn list(&mut self, arrival: Arrival, waiter: Waiter) {
        let Some(line) = self.lines.get_mut(&waiter.line) else {
            return;
        };
        match waiter.state {
            State::Asked { .. } => {}
            State::Behind => {
                line.behind.insert((waiter.until, arrival));
                line.behind_cost += u128::from(waiter.cost);
            }
            State::Asleep { wake, .. } => {
                self.asleep.insert((wake, arrival));
            }
            State::Held(until) => {
                line.queue.remove(&arrival);
                line.held += 1;
                self.held.insert((until, arrival));
            }
        }
    }

    fn unlist(&mut self, arrival: Arrival, waiter: Waiter) {
        let Some(line) = self.lines.get_mut(&waiter.line) else {
            return;
        };
        match waiter.state {
            State::Asked { .. } => {}
            State::Behind => {
                line.behind.remove(&(waiter.until, arrival));
                line.behind_cost -= u128::from(waiter.cost);
            }
            State::Asleep { wake, .. } => {
                self.asleep.remove(&(wake, arrival));
            }
            State::Held(until) => {
                line.held -= 1;
                self.held.remove(&(until, arrival));
            }
        }
    }

    /// Those behind a first that is asleep are due by their deadline, others are not due by time.
    fn relist(&mut self, number: LineNumber) {
        let is_asleep =
            self.first(number).is_some_and(|(_, first)| matches!(first.state, State::Asleep { .. }));
        let Some(line) = self.lines.get_mut(&number) else {
            return;
        };
        let until = if is_asleep { line.behind.first().map(|(until, _)| *until) } else { None };
        if line.listed == until {
            return;
        }
        if let Some(listed) = line.listed {
            self.by_deadline.remove(&(listed, number));
        }
        if let Some(until) = until {
            self.by_deadline.insert((until, number));
        }
        line.listed = until;
    }

    /// Those that are held until at most `now`, in order of arrival.
    pub(super) fn held_until(&self, now: u64) -> Vec<Arrival> {
        in_order(self.held.range(..=(now, Arrival::MAX)).map(|(_, arrival)| *arrival))
    }

    /// Those that ask again at or before `now`, in order of arrival.
    pub(super) fn waking_at(&self, now: u64) -> Vec<Arrival> {
        in_order(self.asleep.range(..=(now, Arrival::MAX)).map(|(_, arrival)| *arrival))
    }

    /// Those behind a first that is asleep whose deadline is at most `now`, in order of arrival.
    pub(super) fn behind_until(&self, now: u64) -> Vec<Arrival> {
        let passed = Until::passed_at(now);
        let lines = self.by_deadline.range(..=(passed, LineNumber::MAX));
        let lines = lines.filter_map(|(_, number)| self.lines.get(number));
        in_order(
            lines.flat_map(|line| line.behind.range(..=(passed, Arrival::MAX)).map(|(_, arrival)| *arrival)),
        )
    }

    /// The least instant at which anybody is due.
    pub(super) fn next_due(&self) -> Option<u64> {
        let held = self.held.first().map(|(until, _)| *until);
        let asleep = self.asleep.first().map(|(wake, _)| *wake);
        let behind = self.by_deadline.first().and_then(|(until, _)| until.deadline());
        [held, asleep, behind].into_iter().flatten().min()
    }
}

impl Line {
    fn new(key: &[u8]) -> Self {
        Self {
            key: key.into(),
            queue: BTreeSet::new(),
            behind: BTreeSet::new(),
            behind_cost: 0,
            held: 0,
            listed: None,
        }
    }
}

fn in_order(arrivals: impl Iterator<Item = Arrival>) -> Vec<Arrival> {
    let mut arrivals: Vec<_> = arrivals.collect();
    arrivals.sort_unstable();
    arrivals
}
