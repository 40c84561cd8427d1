//! The waiters of one limiter, and the state machine that decides which of them asks, and when.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

use super::{Limiter, Reservation};
use ratecell_core::waiting::{Action, Answer, Event, Parameters, WaitOutcome, Waiting};
use ratecell_core::{Decision, Policy, Request};

/// The waiters of one limiter, for a driver in which each waiter sleeps by itself, such as a future or a thread.
///
/// A waiter [`arrive`](Self::arrive)s and then takes its [`turn`](Self::turn): at once, at the instant that its last turn
/// returned, and when it is [`woken`](Self::woken). Only `turn` asks the limiter. So a waiter that gives up between its
/// turns was never charged without a report of it. A waiter that gives up must [`leave`](Self::leave); otherwise the
/// waiters behind it wait for it.
///
/// No waiter names a zone: with a limiter whose policy has `tz=caller`, each of them ends with [`WaitOutcome::Never`].
///
/// All instants are nanoseconds by the limiter's clock, [`Limiter::now_ns`]. A line allocates for each waiter. It has no
/// lock: threads that share one must put it behind their own.
///
/// ```
/// use ratecell::{Limiter, Policy};
/// use ratecell::waiting::{Line, Parameters, Turn, WaitOutcome};
///
/// let limiter = Limiter::builder("10/s burst=1".parse::<Policy>()?).max_keys(100).build()?;
/// let mut line = Line::new(Parameters::of(&limiter.policy()));
/// limiter.check_at("user:42", 1, 0);
///
/// let first = line.arrive(0, b"user:42", 1, None);
/// assert!(matches!(line.turn(&limiter, 0, first), Turn::Sleep { until: Some(100_000_000) }));
/// // It would go before the deadline, but not behind the first.
/// let second = line.arrive(0, b"user:42", 1, Some(150_000_000));
/// let Turn::End(end) = line.turn(&limiter, 0, second) else { panic!("it can never go in time") };
/// assert_eq!((end.outcome, end.at), (WaitOutcome::Late, Some(200_000_000)));
///
/// let Turn::End(end) = line.turn(&limiter, 100_000_000, first) else { panic!("its unit is there") };
/// assert_eq!(end.outcome, WaitOutcome::Go);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Line {
    machine: Waiting,
    /// That `follow` has seen last.
    policy: Option<Arc<Policy>>,
    waiters: HashMap<u64, Waiter>,
    last: u64,
    asks: u64,
    woken: VecDeque<u64>,
    /// Of waiters that have left their places.
    left: Vec<Reservation>,
}

#[derive(Debug)]
struct Waiter {
    key: Box<[u8]>,
    cost: u32,
    deadline: Option<u64>,
    /// The ask that it is to make in its next turn, with the instant by which it must be able to go.
    ask: Option<Option<u64>>,
    decision: Option<Decision>,
    end: Option<(WaitOutcome, Option<u64>)>,
    /// Of a place in a queue that it has been charged for, and waits at.
    place: Option<Box<Reservation>>,
}

/// What a waiter does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It sleeps until this instant or until it is woken, whichever is first; with `None`, until it is woken.
    Sleep {
        /// Nanoseconds by the limiter's clock.
        until: Option<u64>,
    },
    /// It waits no more.
    End(WaitEnd),
}

/// How a waiter ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitEnd {
    /// [`WaitOutcome::Go`], or the reason why it does not go.
    pub outcome: WaitOutcome,
    /// For [`WaitOutcome::Late`], an instant before which it could not have gone, if one is known; otherwise `None`.
    pub at: Option<u64>,
    /// The limiter's last answer to the waiter; `None` if the limiter was not asked.
    pub decision: Option<Decision>,
}

impl Line {
    /// A line without waiters.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self {
            machine: Waiting::new(parameters),
            policy: None,
            waiters: HashMap::new(),
            last: 0,
            asks: 0,
            woken: VecDeque::new(),
            left: Vec::new(),
        }
    }

    /// Adds a waiter for `cost` units of `key`, and returns its number. It waits until `deadline` at the longest; with
    /// `None`, as long as it takes. A deadline of `now_ns` is one try. A waiter with a cost of 0 goes without an ask.
    pub fn arrive(&mut self, now_ns: u64, key: &[u8], cost: u32, deadline: Option<u64>) -> u64 {
        self.last += 1;
        let id = self.last;
        let waiter =
            Waiter { key: key.into(), cost, deadline, ask: None, decision: None, end: None, place: None };
        self.waiters.insert(id, waiter);
        self.hand_in(now_ns, Event::Arrive { id, key, cost, deadline });
        self.woken.retain(|other| *other != id);
        id
    }

    /// Takes the waiter's turn at `now_ns`, and returns what it does next. If an ask is due, `limiter` is asked, which must
    /// be the limiter of this line. A waiter that has ended is unknown afterwards: its turn is an end by
    /// [`WaitOutcome::Cancelled`].
    pub fn turn(&mut self, limiter: &Limiter, now_ns: u64, id: u64) -> Turn {
        let turn = self.next_turn(limiter, now_ns, id);
        // What happened to it in its own turn wakes it not again.
        self.woken.retain(|other| *other != id);
        turn
    }

    fn next_turn(&mut self, limiter: &Limiter, now_ns: u64, id: u64) -> Turn {
        loop {
            let Some(waiter) = self.waiters.get_mut(&id) else {
                return Turn::End(WaitEnd { outcome: WaitOutcome::Cancelled, at: None, decision: None });
            };
            if let Some((outcome, at)) = waiter.end {
                let decision = waiter.decision;
                self.waiters.remove(&id);
                return Turn::End(WaitEnd { outcome, at, decision });
            }
            if let Some(by) = waiter.ask.take() {
                let answer = if by.is_some_and(|by| by < now_ns) {
                    PASSED
                } else {
                    self.asks += 1;
                    let (decision, answer, place) = ask(limiter, waiter, now_ns, by);
                    waiter.decision = Some(decision);
                    waiter.place = place.map(Box::new);
                    answer
                };
                self.hand_in(now_ns, Event::Answer { id, answer });
                continue;
            }
            let deadline = waiter.deadline;
            let due = self.machine.due_ns(id);
            match due.or(deadline) {
                Some(until) if until <= now_ns && due.is_some() => self.hand_in(now_ns, Event::Timer),
                // The first of its line is about to ask, and has not had its turn: this one has no time for that.
                Some(until) if until < now_ns => {
                    self.leave(limiter, now_ns, id);
                    return Turn::End(WaitEnd { outcome: WaitOutcome::Late, at: None, decision: None });
                }
                Some(until) => {
                    return Turn::Sleep {
                        until: Some(if due.is_some() { until } else { until.saturating_add(1) }),
                    };
                }
                None => return Turn::Sleep { until: None },
            }
        }
    }

    /// Removes a waiter that gives up. If it has its place in a `leaky_queue`, the place is given back to `limiter`, unless
    /// somebody stands behind it, who has been told when to go: then it stays charged. Any other was charged nothing, or its
    /// turn has already returned that it goes. For a waiter that has ended, nothing happens.
    pub fn leave(&mut self, limiter: &Limiter, now_ns: u64, id: u64) {
        self.leave_by(limiter, now_ns, id, || now_ns);
    }

    /// [`leave`](Self::leave), with a clock for what is given back: read after the word, it tells what has drained by then.
    pub(super) fn leave_by(&mut self, limiter: &Limiter, now_ns: u64, id: u64, clock: impl Fn() -> u64) {
        let Some(waiter) = self.waiters.get_mut(&id) else {
            return;
        };
        let was_to_ask = waiter.ask.take().is_some();
        self.hand_in(now_ns, Event::Cancel { id });
        if was_to_ask {
            self.hand_in(now_ns, Event::Answer { id, answer: PASSED });
        }
        for place in self.left.drain(..) {
            // Of the policy's other layers, too.
            let _ = limiter.settle_by(place.clone(), 0, &clock);
            let _ = limiter.release_by(&place, &clock);
        }
        self.waiters.remove(&id);
    }

    /// Reports that this process gave units of `key` back, or forgot it: the first waiter for it asks again.
    pub fn changed(&mut self, now_ns: u64, key: &[u8]) {
        if !self.waiters.is_empty() {
            self.hand_in(now_ns, Event::Changed { key });
        }
    }

    /// Has the waiters ask by the policy of `limiter`, which must be the limiter of this line, if it was changed: the first
    /// waiter for each key asks again, and those end by [`WaitOutcome::Never`] whose cost is above the new capacity. For a
    /// limiter whose policy may [change](Limiter::change), it is called before each other call of this line.
    pub fn follow(&mut self, limiter: &Limiter) {
        let policy = limiter.policy();
        if !self.policy.as_ref().is_some_and(|held| Arc::ptr_eq(held, &policy)) {
            let Parameters { capacity, pace, .. } = Parameters::of(&policy);
            self.policy = Some(policy);
            // It is of no instant: the last one of the machine stays.
            self.hand_in(0, Event::Policy { capacity, pace });
        }
    }

    /// Takes the number of a waiter whose turn has come through another call. Each is returned once, and may have ended
    /// since.
    pub fn woken(&mut self) -> Option<u64> {
        self.woken.pop_front()
    }

    /// How many wait, including waiters that have ended and have not had their turn since.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// How often the limiter was asked.
    #[must_use]
    pub fn asks(&self) -> u64 {
        self.asks
    }

    fn hand_in(&mut self, now_ns: u64, event: Event<'_>) {
        // No event is refused: ids are new, and an answer follows its ask.
        let Ok(actions) = self.machine.event(now_ns, event) else {
            return;
        };
        for action in actions {
            let (id, happened): (_, &dyn Fn(&mut Waiter)) = match action {
                Action::Ask { id, by } => (id, &move |waiter| waiter.ask = Some(by)),
                Action::Finish { id, outcome, at } => (id, &move |waiter| waiter.end = Some((outcome, at))),
                Action::GiveBack { id } => {
                    let place = self.waiters.get_mut(&id).and_then(|waiter| waiter.place.take());
                    self.left.extend(place.map(|place| *place));
                    continue;
                }
            };
            if let Some(waiter) = self.waiters.get_mut(&id) {
                happened(waiter);
                self.woken.push_back(id);
            }
        }
    }
}

/// The answer for an ask that was not made, because its instant has passed or the waiter is gone.
const PASSED: Answer = Answer::Denied { retry_ns: 0, delay_ns: 0 };

/// Makes the request of a waiter, which is charged only if it can go by an instant that has not passed. No other function
/// asks for a waiter. It waits for no store: whose turn it is sleeps, and asks again. A place in a queue is reserved.
fn ask(
    limiter: &Limiter,
    waiter: &Waiter,
    now_ns: u64,
    by: Option<u64>,
) -> (Decision, Answer, Option<Reservation>) {
    let within_ns = by.map(|by| by - now_ns);
    let request = Request::new(&waiter.key).cost(waiter.cost).at(now_ns).without_waiting();
    let request = within_ns.map_or(request, |within_ns| request.within_ns(within_ns));
    // A limiter that cannot reserve, such as one of many machines, decides.
    let reserved = limiter.reserve(request);
    let (decision, place) = reserved.unwrap_or_else(|_| (limiter.decide(request), None));
    (decision, Answer::of(&decision, within_ns), place.filter(|_| decision.delay_ns() > 0))
}

#[cfg(all(test, not(any(ratecell_loom, ratecell_shuttle))))]
mod tests;
