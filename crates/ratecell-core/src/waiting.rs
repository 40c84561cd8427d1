//! When to ask a limiter again, and which waiter is first: one state machine, without I/O, clock or threads.
//!
//! A *driver* gives [`Waiting`] events, performs the actions that come out in their order, and decides
//! nothing. There is one clock, the limiter's: the driver reads it once for an event, asks at that instant,
//! and returns the answer with the same instant. Instants and durations are whole nanoseconds; sums saturate;
//! a `now` before that of an earlier event counts as that one.
//!
//! The waiters of a key stand in a *line*, in order of arrival. Only the first asks: it is *asked* for, or
//! *asleep* until it asks again; those *behind* it wait for it. One that is charged with a delay is *held*
//! until it goes. A key without waiters takes no memory.
//!
//! - Those of one key that are admitted are admitted in the order in which they came.
//! - A first is not asked again before the instant that it was given, but once in `max_pause_ns`, and when the driver
//!   says that something has changed.
//! - A waiter that cannot go by its deadline is refused at once, never wrongly, as long as those before it stay.
//! - An event takes a time logarithmic in the number of waiters; only a first that is refused takes one that is
//!   linear in its line, and [`Event::Policy`] and [`Event::Close`] look at all.
//!
//! ```
//! use ratecell_core::waiting::{Action, Answer, Event, Parameters, WaitOutcome, Waiting};
//!
//! let mut waiting = Waiting::new(Parameters::default());
//! let arrive = Event::Arrive { id: 1, key: b"user:42", cost: 1, deadline: None };
//! let actions: Vec<_> = waiting.event(0, arrive)?.collect();
//! assert_eq!(actions, [Action::Ask { id: 1, by: None }]);
//!
//! // The limiter says: in 5 ns.
//! let denied = Answer::Denied { retry_ns: 5, delay_ns: 0 };
//! assert_eq!(waiting.event(0, Event::Answer { id: 1, answer: denied })?.count(), 0);
//! assert_eq!(waiting.next_ns(), Some(5));
//!
//! let actions: Vec<_> = waiting.event(5, Event::Timer)?.collect();
//! assert_eq!(actions, [Action::Ask { id: 1, by: None }]);
//! let charged = Answer::Charged { delay_ns: 0 };
//! let actions: Vec<_> = waiting.event(5, Event::Answer { id: 1, answer: charged })?.collect();
//! assert_eq!(actions, [Action::Finish { id: 1, outcome: WaitOutcome::Go, at: None }]);
//! # Ok::<(), ratecell_core::waiting::EventError>(())
//! ```

use alloc::collections::VecDeque;

mod event;
mod waiters;

pub use event::{Action, Answer, Event, EventError, Pace, Parameters, WaitOutcome};

use waiters::{Arrival, LineNumber, State, Waiter, Waiters};

/// The machine. Several of them, each for a part of the keys, are as good as one.
#[derive(Debug)]
pub struct Waiting {
    parameters: Parameters,
    waiters: Waiters,
    /// The latest `now` of all events.
    now: u64,
    is_closed: bool,
    /// Those that the driver has not taken yet.
    actions: VecDeque<Action>,
}

/// The actions to perform, in order. Those that are not taken are handed out with the next event's.
#[derive(Debug)]
#[must_use = "an action that is not performed leaves its waiter waiting"]
pub struct Actions<'w>(&'w mut VecDeque<Action>);

impl Iterator for Actions<'_> {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        self.0.pop_front()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl ExactSizeIterator for Actions<'_> {}

impl Waiting {
    /// A machine without waiters.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, waiters: Waiters::default(), now: 0, is_closed: false, actions: VecDeque::new() }
    }

    /// Takes in an event at `now_ns`, and hands out the actions that follow.
    ///
    /// # Errors
    /// An arrival with the id of a waiter that stands, and an answer without an ask under way; they change
    /// nothing.
    pub fn event(&mut self, now_ns: u64, event: Event<'_>) -> Result<Actions<'_>, EventError> {
        match event {
            Event::Arrive { id, .. } if self.waiters.find(id).is_some() => {
                return Err(EventError::IdInUse(id));
            }
            Event::Answer { id, .. } if self.asked(id).is_none() => return Err(EventError::NotAsked(id)),
            _ => {}
        }
        self.now = self.now.max(now_ns);
        match event {
            Event::Arrive { id, key, cost, deadline } => self.arrive(id, key, cost, deadline),
            Event::Answer { id, answer } => self.answer(id, answer),
            Event::Timer => self.timer(),
            Event::Cancel { id } => self.cancel(id),
            Event::Changed { key } => {
                if let Some(line) = self.waiters.line_of(key) {
                    self.ask_again(line);
                }
            }
            Event::Policy { capacity, pace } => self.policy(capacity, pace),
            Event::Close => self.close(),
        }
        Ok(self.actions())
    }

    /// The actions that are left, without another event.
    pub fn actions(&mut self) -> Actions<'_> {
        Actions(&mut self.actions)
    }

    /// The instant at which [`Event::Timer`] is due; one that has passed means at once. `None`: not by time.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.waiters.next_due()
    }

    /// The instant at which [`Event::Timer`] is due for this waiter, for a driver in which each sleeps by
    /// itself: [`next_ns`](Self::next_ns) is the least of all. `None`: not by time, or the waiter is
    /// finished.
    #[must_use]
    pub fn due_ns(&self, id: u64) -> Option<u64> {
        let (_, waiter) = self.waiters.find(id)?;
        match waiter.state {
            State::Asked { .. } => None,
            State::Asleep { wake, .. } => Some(wake),
            State::Held(until) => Some(until),
            State::Behind => match self.waiters.first(waiter.line)?.1.state {
                State::Asleep { .. } => waiter.until.deadline(),
                _ => None,
            },
        }
    }

    fn arrive(&mut self, id: u64, key: &[u8], cost: u32, deadline: Option<u64>) {
        let ended = if self.is_closed {
            Some(WaitOutcome::Closed)
        } else if self.parameters.capacity.is_some_and(|capacity| u64::from(cost) > capacity) {
            Some(WaitOutcome::Never)
        } else if cost == 0 {
            Some(WaitOutcome::Go)
        } else if deadline.is_some_and(|deadline| deadline < self.now) {
            Some(WaitOutcome::Late)
        } else {
            None
        };
        if let Some(outcome) = ended {
            return self.actions.push_back(Action::Finish { id, outcome, at: None });
        }
        let line = self.waiters.line_of(key);
        let is_full = self.waiters.len() >= self.parameters.max_total
            || line.map_or(0, |line| self.waiters.count(line)) >= self.parameters.max_waiting;
        let first = line.and_then(|line| Some((line, self.waiters.first(line)?.1.state)));
        let Some((line, first)) = first else {
            let arrival = self.waiters.stand(id, key, cost, deadline, is_full);
            return self.ask(arrival);
        };
        if is_full {
            return self.actions.push_back(Action::Finish { id, outcome: WaitOutcome::Busy, at: None });
        }
        let units = self.waiters.behind_cost(line) + u128::from(cost);
        let bound = self.bound(first, units);
        if let (Some(bound), Some(deadline)) = (bound, deadline)
            && bound > deadline
        {
            return self.actions.push_back(Action::Finish {
                id,
                outcome: WaitOutcome::Late,
                at: Some(bound),
            });
        }
        self.waiters.stand(id, key, cost, deadline, false);
    }

    /// The waiter of that id, if its ask is under way.
    fn asked(&self, id: u64) -> Option<(Arrival, Waiter)> {
        let (arrival, waiter) = self.waiters.find(id)?;
        matches!(waiter.state, State::Asked { .. }).then_some((arrival, *waiter))
    }

    fn answer(&mut self, id: u64, answer: Answer) {
        let Some((arrival, waiter)) = self.asked(id) else {
            return;
        };
        let State::Asked { is_cancelled, is_stale } = waiter.state else {
            return;
        };
        match answer {
            Answer::Charged { .. } if is_cancelled => {
                self.actions.push_back(Action::GiveBack { id });
                self.finish(arrival, WaitOutcome::Cancelled, None);
            }
            Answer::Charged { delay_ns: 0 } => self.finish(arrival, WaitOutcome::Go, None),
            _ if is_cancelled => self.finish(arrival, WaitOutcome::Cancelled, None),
            _ if self.is_closed => self.finish(arrival, WaitOutcome::Closed, None),
            Answer::Charged { delay_ns } => {
                self.waiters.set(arrival, State::Held(self.now.saturating_add(delay_ns)));
            }
            _ if is_stale => self.ask_in_time(arrival),
            Answer::Never => self.finish(arrival, WaitOutcome::Never, None),
            Answer::ClockRange => self.finish(arrival, WaitOutcome::ClockRange, None),
            Answer::Denied { retry_ns, delay_ns } => {
                let ready = self.now.saturating_add(retry_ns);
                let go = ready.saturating_add(delay_ns);
                self.refused(arrival, Refusal { ready, go, wake: ready, is_saturated: retry_ns > 0 });
            }
            // It is the table's answer, not the policy's: it says nothing of those behind.
            Answer::NoPlace { retry_ns } => {
                let retry_ns = retry_ns.unwrap_or(0);
                let ready = self.now.saturating_add(retry_ns.max(1));
                let wake = match retry_ns {
                    0 => self.now.saturating_add(self.parameters.full_pause_ns),
                    _ => ready,
                };
                self.refused(arrival, Refusal { ready, go: ready, wake, is_saturated: false });
            }
        }
        self.advance(waiter.line);
    }

    fn refused(&mut self, arrival: Arrival, refusal: Refusal) {
        let Refusal { ready, go, wake, is_saturated } = refusal;
        let now = self.now;
        let Some(waiter) = self.waiters.get_mut(arrival) else {
            return;
        };
        waiter.is_beaten |= waiter.ready.is_some_and(|ready| now >= ready);
        waiter.ready = Some(ready);
        let Waiter { line, until, is_try, is_beaten, .. } = *waiter;
        if go > until.at {
            return self.finish(arrival, WaitOutcome::Late, Some(go));
        }
        if is_try {
            return self.finish(arrival, WaitOutcome::Busy, None);
        }
        let least = if is_beaten { now.saturating_add(self.parameters.min_pause_ns) } else { 0 };
        let most = now.saturating_add(self.parameters.max_pause_ns);
        let first = State::Asleep { wake: wake.max(least).min(most).min(until.at), go, is_saturated };
        self.waiters.set(arrival, first);
        self.judge_behind(line, first);
    }

    /// Those behind a first that was refused just now: any that cannot be in time ends.
    fn judge_behind(&mut self, line: LineNumber, first: State) {
        let mut units = 0;
        for arrival in self.waiters.behind_first(line) {
            let Some(Waiter { cost, until, .. }) = self.waiters.get(arrival).copied() else {
                continue;
            };
            let with_it = units + u128::from(cost);
            match self.bound(first, with_it) {
                Some(bound) if bound > until.at => self.finish(arrival, WaitOutcome::Late, Some(bound)),
                _ => units = with_it,
            }
        }
    }

    /// No instant before this can a waiter go while those before it stay: `units` are the costs from behind
    /// the first up to its own. `None` while nothing is known.
    fn bound(&self, first: State, units: u128) -> Option<u64> {
        match (first, self.parameters.pace) {
            (State::Asleep { go, is_saturated: true, .. }, Some(pace)) => {
                Some(go.saturating_add(pace.units_ns(units)))
            }
            (State::Asleep { go, .. }, _) => Some(go),
            _ => None,
        }
    }

    fn timer(&mut self) {
        for arrival in self.waiters.held_until(self.now) {
            self.finish(arrival, WaitOutcome::Go, None);
        }
        for arrival in self.waiters.waking_at(self.now) {
            let line = self.waiters.get(arrival).map(|waiter| waiter.line);
            self.ask_in_time(arrival);
            line.into_iter().for_each(|line| self.advance(line));
        }
        for arrival in self.waiters.behind_until(self.now) {
            // Its bound was at most its deadline when it was last judged, and has only become less since: a
            // first that is asleep keeps its `go`, and a change of the pace wakes it.
            self.finish(arrival, WaitOutcome::Late, Some(self.now));
        }
    }

    fn cancel(&mut self, id: u64) {
        let Some((arrival, &Waiter { line, state, .. })) = self.waiters.find(id) else {
            return;
        };
        match state {
            State::Asked { is_stale, .. } => {
                self.waiters.set(arrival, State::Asked { is_cancelled: true, is_stale });
            }
            State::Held(_) => {
                self.actions.push_back(Action::GiveBack { id });
                self.finish(arrival, WaitOutcome::Cancelled, None);
                self.ask_again(line);
            }
            State::Asleep { .. } | State::Behind => {
                self.finish(arrival, WaitOutcome::Cancelled, None);
                self.advance(line);
            }
        }
    }

    fn policy(&mut self, capacity: Option<u64>, pace: Option<Pace>) {
        self.parameters.capacity = capacity;
        self.parameters.pace = pace;
        self.finish_all(WaitOutcome::Never, |waiter| {
            matches!(waiter.state, State::Asleep { .. } | State::Behind)
                && capacity.is_some_and(|capacity| u64::from(waiter.cost) > capacity)
        });
        for line in self.waiters.lines_by_first() {
            self.ask_again(line);
            self.advance(line);
        }
    }

    fn close(&mut self) {
        self.is_closed = true;
        self.finish_all(WaitOutcome::Closed, |waiter| !matches!(waiter.state, State::Asked { .. }));
    }

    /// Ends all such waiters, in order of arrival.
    fn finish_all(&mut self, outcome: WaitOutcome, is_ended: impl Fn(&Waiter) -> bool) {
        let ended = self.waiters.iter().filter(|(_, waiter)| is_ended(waiter)).map(|(arrival, _)| arrival);
        for arrival in ended.collect::<alloc::vec::Vec<_>>() {
            self.finish(arrival, outcome, None);
        }
    }

    /// There may be more units than at the last answer: a first that is asleep asks at once, one whose ask is
    /// under way asks once more.
    fn ask_again(&mut self, line: LineNumber) {
        let Some((arrival, first)) = self.waiters.first(line) else {
            return;
        };
        match first.state {
            State::Asked { is_cancelled, .. } => {
                self.waiters.set(arrival, State::Asked { is_cancelled, is_stale: true });
            }
            State::Asleep { .. } => {
                self.ask_in_time(arrival);
                self.advance(line);
            }
            State::Behind | State::Held(_) => {}
        }
    }

    /// A first that is new in its place is asked for.
    fn advance(&mut self, line: LineNumber) {
        while let Some((arrival, Waiter { state: State::Behind, .. })) = self.waiters.first(line) {
            self.ask_in_time(arrival);
        }
    }

    /// Asks for a first, unless its deadline has passed.
    fn ask_in_time(&mut self, arrival: Arrival) {
        match self.waiters.get(arrival) {
            Some(waiter) if waiter.until.at < self.now => self.finish(arrival, WaitOutcome::Late, None),
            _ => self.ask(arrival),
        }
    }

    fn ask(&mut self, arrival: Arrival) {
        self.waiters.set(arrival, State::Asked { is_cancelled: false, is_stale: false });
        if let Some(waiter) = self.waiters.get(arrival) {
            let by = if waiter.is_try { Some(self.now) } else { waiter.until.deadline() };
            self.actions.push_back(Action::Ask { id: waiter.id, by });
        }
    }

    fn finish(&mut self, arrival: Arrival, outcome: WaitOutcome, at: Option<u64>) {
        if let Some(waiter) = self.waiters.remove(arrival) {
            self.actions.push_back(Action::Finish { id: waiter.id, outcome, at });
        }
    }
}

/// A refusal of a first.
struct Refusal {
    /// Before it no ask can pass.
    ready: u64,
    /// Before it the request cannot go.
    go: u64,
    /// When it would ask again, but for the pauses and its deadline.
    wake: u64,
    is_saturated: bool,
}
