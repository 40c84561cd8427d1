//! Those who wait for one limiter, and the machine that says which of them asks, and when.

use std::collections::HashMap;
use std::collections::VecDeque;

use super::Limiter;
use ratecell_core::waiting::{Action, Answer, Event, Parameters, WaitOutcome, Waiting};
use ratecell_core::{Decision, Request};

/// The waiters of one limiter, for a driver in which each sleeps by itself, such as a future or a thread.
///
/// A waiter [`arrive`](Self::arrive)s, and then takes its [`turn`](Self::turn): at once, when the instant comes that
/// its last turn gave, and when it is [`woken`](Self::woken). It asks the limiter in no other call, so one that gives
/// up between its turns has not been charged without being told. One that gives up must
/// [`leave`](Self::leave), or those behind it wait for it.
///
/// There is one clock, the limiter's: instants are nanoseconds by [`Limiter::now_ns`]. A line allocates for each
/// waiter, and has no lock of its own.
///
/// ```
/// use ratecell::{Limiter, Policy};
/// use ratecell::waiting::{Line, Parameters, Turn, WaitOutcome};
///
/// let limiter = Limiter::builder("10/s burst=1".parse::<Policy>()?).max_keys(100).build()?;
/// let mut line = Line::new(Parameters::of(limiter.policy()));
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
    waiters: HashMap<u64, Waiter>,
    last: u64,
    asks: u64,
    woken: VecDeque<u64>,
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
}

/// What a waiter does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It sleeps until that instant, or until it is woken; `None`: until it is woken.
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
    /// It goes, or the reason why not.
    pub outcome: WaitOutcome,
    /// Of [`WaitOutcome::Late`], an instant before which it could not have gone, where one is known.
    pub at: Option<u64>,
    /// The limiter's last answer to it; `None` where it was not asked.
    pub decision: Option<Decision>,
}

impl Line {
    /// A line without waiters.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self {
            machine: Waiting::new(parameters),
            waiters: HashMap::new(),
            last: 0,
            asks: 0,
            woken: VecDeque::new(),
        }
    }

    /// A new waiter, by its number: for `cost` units of `key`, until `deadline` at the longest; `None` is as long as
    /// it takes. A deadline of `now_ns` is one try. A cost of 0 goes without an ask.
    pub fn arrive(&mut self, now_ns: u64, key: &[u8], cost: u32, deadline: Option<u64>) -> u64 {
        self.last += 1;
        let id = self.last;
        let waiter = Waiter { key: key.into(), cost, deadline, ask: None, decision: None, end: None };
        self.waiters.insert(id, waiter);
        self.hand_in(now_ns, Event::Arrive { id, key, cost, deadline });
        self.woken.retain(|other| *other != id);
        id
    }

    /// What the waiter does next, at `now_ns`: it asks `limiter`, whose line this is, if that is due. After its end it
    /// is not known any more, and is [`WaitOutcome::Cancelled`].
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
                    let (decision, answer) = ask(limiter, waiter, now_ns, by);
                    waiter.decision = Some(decision);
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
                    self.leave(now_ns, id);
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

    /// The waiter gives up. One that is held by a `leaky_queue` stays charged; any other was charged nothing, or has
    /// been told that it goes. After its end nothing happens.
    pub fn leave(&mut self, now_ns: u64, id: u64) {
        let Some(waiter) = self.waiters.get_mut(&id) else {
            return;
        };
        let was_to_ask = waiter.ask.take().is_some();
        self.hand_in(now_ns, Event::Cancel { id });
        if was_to_ask {
            self.hand_in(now_ns, Event::Answer { id, answer: PASSED });
        }
        self.waiters.remove(&id);
    }

    /// This process gave units of `key` back, or forgot it: whoever is first asks again.
    pub fn changed(&mut self, now_ns: u64, key: &[u8]) {
        if !self.waiters.is_empty() {
            self.hand_in(now_ns, Event::Changed { key });
        }
    }

    /// One of those whose turn has come by what happened to others; each is told of once, and may have ended since.
    pub fn woken(&mut self) -> Option<u64> {
        self.woken.pop_front()
    }

    /// How many wait, those included that have ended and not had their turn since.
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
                // No policy gives units back yet that were charged at the place of a queue.
                Action::GiveBack { .. } => continue,
            };
            if let Some(waiter) = self.waiters.get_mut(&id) {
                happened(waiter);
                self.woken.push_back(id);
            }
        }
    }
}

/// The answer to an ask that was not made, because its instant has passed or the waiter is gone.
const PASSED: Answer = Answer::Denied { retry_ns: 0, delay_ns: 0 };

/// Makes the request of a waiter: it is charged only if it can go by an instant that has not passed. No other function
/// asks for a waiter.
fn ask(limiter: &Limiter, waiter: &Waiter, now_ns: u64, by: Option<u64>) -> (Decision, Answer) {
    let within_ns = by.map(|by| by - now_ns);
    let request = Request::new(&waiter.key).cost(waiter.cost).at(now_ns);
    let request = within_ns.map_or(request, |within_ns| request.within_ns(within_ns));
    let decision = limiter.decide(request);
    (decision, Answer::of(&decision, within_ns))
}

#[cfg(all(test, not(any(ratecell_loom, ratecell_shuttle))))]
mod tests;
