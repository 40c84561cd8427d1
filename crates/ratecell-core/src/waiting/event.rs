//! The events that go into the machine, and the actions that come out.

use core::fmt;

use crate::decision::{Decision, Outcome};
use crate::policy::Policy;

/// Something that has happened. Instants are nanoseconds by the limiter's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'k> {
    /// A new waiter.
    Arrive {
        /// The driver's name for it: no other that stands has it.
        id: u64,
        /// Its line; the empty key is valid.
        key: &'k [u8],
        /// Units; of 0 it goes at once.
        cost: u32,
        /// The last instant at which it may go; `None` where there is none. A `now` is one try.
        deadline: Option<u64>,
    },
    /// The answer to the last [`Action::Ask`] of that waiter.
    Answer {
        /// The waiter.
        id: u64,
        /// The limiter's answer.
        answer: Answer,
    },
    /// Some time has passed; early and late are both allowed.
    Timer,
    /// A caller gives up. Of an unknown id, as of a waiter that is finished already, nothing happens.
    Cancel {
        /// The waiter.
        id: u64,
    },
    /// This process gave units of the key back, or forgot it.
    Changed {
        /// The key.
        key: &'k [u8],
    },
    /// This process has another policy.
    Policy {
        /// As [`Parameters::capacity`].
        capacity: Option<u64>,
        /// As [`Parameters::pace`].
        pace: Option<Pace>,
    },
    /// The limiter is closed.
    Close,
}

/// The limiter's answer to a waiting ask: a request that is charged only if it can go by an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Charged: the request is to be held for so long, and then goes.
    Charged {
        /// Nanoseconds; 0 for a request that goes at once.
        delay_ns: u64,
    },
    /// Not charged.
    Denied {
        /// Nanoseconds until the policy would admit this cost, whatever the instant was by which it had to
        /// go; 0 if only that is in the way.
        retry_ns: u64,
        /// The delay that it would be given then, in nanoseconds.
        delay_ns: u64,
    },
    /// Not charged: the cost is above the capacity.
    Never,
    /// Not charged: the clock is past the range of the policy's word.
    ClockRange,
    /// Not charged: the table is full, or the store of many machines has not answered. The policy has said nothing.
    NoPlace {
        /// Nanoseconds until a place may come free; `None` where that is not known.
        retry_ns: Option<u64>,
    },
}

/// When to look again for what a store answers, in nanoseconds: a fraction of the time that it takes.
const ASKED_PAUSE_NS: u64 = 200_000;

impl Answer {
    /// A decision as an answer: of one request within `within_ns` (`None`: without such a limit), which is
    /// the ask's `by` less `now`.
    ///
    /// A refusal's `retry_after_ns` is that of the same request within the same delay, and its `delay_ns` the
    /// delay that it would be given when the policy alone admits it. The answer has the policy's own wait,
    /// without the time by which that delay is too long.
    #[must_use]
    pub fn of(decision: &Decision, within_ns: Option<u64>) -> Self {
        let delay_ns = decision.delay_ns();
        match decision.outcome() {
            Outcome::Allowed => Self::Charged { delay_ns },
            Outcome::Denied
                if decision.is_without_place() || decision.retry_after_ns() == Decision::NEVER =>
            {
                let retry = decision.retry_after_ns();
                Self::NoPlace { retry_ns: (retry != Decision::NEVER).then_some(retry) }
            }
            Outcome::Asked => Self::NoPlace { retry_ns: Some(ASKED_PAUSE_NS) },
            Outcome::Denied => {
                let too_long = within_ns.map_or(0, |within| delay_ns.saturating_sub(within));
                Self::Denied { retry_ns: decision.retry_after_ns().saturating_sub(too_long), delay_ns }
            }
            // Its own units alone are delayed for longer: only the instant by which it has to go is in the way.
            Outcome::Never if delay_ns > 0 => Self::Denied { retry_ns: 0, delay_ns },
            Outcome::Never => Self::Never,
            Outcome::ClockRange => Self::ClockRange,
        }
    }
}

/// Something that the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask the limiter for the waiter's cost, and return its [`Event::Answer`].
    Ask {
        /// The waiter.
        id: u64,
        /// Charge it only if it can go by this instant; `None`: whenever.
        by: Option<u64>,
    },
    /// The end of this waiter: nothing more is said of it.
    Finish {
        /// The waiter.
        id: u64,
        /// It goes, or the reason why not.
        outcome: WaitOutcome,
        /// Of [`WaitOutcome::Late`], an instant before which it could not have gone, where one is known.
        at: Option<u64>,
    },
    /// The waiter was charged and does not go: give its units back, where the policy can.
    GiveBack {
        /// The waiter.
        id: u64,
    },
}

/// How a waiter ends. Nothing but [`Go`](Self::Go) is charged, and one that was held when it ended, as far as
/// its units were not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitOutcome {
    /// It goes.
    Go,
    /// It cannot go by its deadline.
    Late,
    /// Its cost is above the capacity.
    Never,
    /// The clock is past the range of the policy's word.
    ClockRange,
    /// Too many wait already.
    Busy,
    /// Its caller gave up.
    Cancelled,
    /// The limiter is closed.
    Closed,
}

impl WaitOutcome {
    /// The stable name, as in the published vectors: `"go"`, `"clock_range"`, …
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Late => "late",
            Self::Never => "never",
            Self::ClockRange => "clock_range",
            Self::Busy => "busy",
            Self::Cancelled => "cancelled",
            Self::Closed => "closed",
        }
    }
}

/// An event that no driver may give; it changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventError {
    /// A waiter of this id stands already.
    IdInUse(u64),
    /// No ask of this id is under way.
    NotAsked(u64),
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdInUse(id) => write!(f, "arrival of {id}: expected an id that no waiter has"),
            Self::NotAsked(id) => write!(f, "answer to {id}: expected a waiter that is being asked for"),
        }
    }
}

impl core::error::Error for EventError {}

/// The time that one unit takes: `num / den` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    num: u64,
    /// Not 0.
    den: u64,
}

impl Pace {
    /// `num / den` nanoseconds for each unit; `None` where `den` is 0.
    #[must_use]
    pub const fn new(num: u64, den: u64) -> Option<Self> {
        if den == 0 { None } else { Some(Self { num, den }) }
    }

    /// The pace of a policy of the GCRA family: of several layers the least. `None` where a layer is of
    /// another kind.
    #[must_use]
    pub fn of(policy: &Policy) -> Option<Self> {
        let mut least: Option<Self> = None;
        for layer in policy.resolved() {
            let emission = layer.emission?;
            let pace = Self::new(emission.num, emission.den)?;
            least = Some(least.filter(|least| !pace.is_below(*least)).unwrap_or(pace));
        }
        least
    }

    fn is_below(self, other: Self) -> bool {
        u128::from(self.num) * u128::from(other.den) < u128::from(other.num) * u128::from(self.den)
    }

    /// The time that so many units take at least, in whole nanoseconds, rounded down.
    pub(super) fn units_ns(self, units: u128) -> u64 {
        let ns = units.saturating_mul(u128::from(self.num)) / u128::from(self.den);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// How the machine waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The largest cost that the policy admits; `None` where it is not known. Default: `None`.
    pub capacity: Option<u64>,
    /// The time that one unit takes, where the policy has a pace; see [`Pace::of`]. Default: `None`.
    pub pace: Option<Pace>,
    /// The most waiters of one key, those that are held included. With 0 nobody waits: each is one try.
    /// Default: 1000.
    pub max_waiting: usize,
    /// The most waiters of all keys. Default: 100,000.
    pub max_total: usize,
    /// Nanoseconds, at least 1, between the asks of a first whose units others have taken. Default: 1 ms.
    pub min_pause_ns: u64,
    /// Nanoseconds, at least 1, after which a first asks again, however long it was to wait. Default: 10 s.
    pub max_pause_ns: u64,
    /// Nanoseconds, at least 1, between asks while the table is full and does not say until when. Default:
    /// 100 ms.
    pub full_pause_ns: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            capacity: None,
            pace: None,
            max_waiting: 1000,
            max_total: 100_000,
            min_pause_ns: 1_000_000,
            max_pause_ns: 10_000_000_000,
            full_pause_ns: 100_000_000,
        }
    }
}

impl Parameters {
    /// The defaults, with the capacity and the pace of `policy`.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        Self { capacity: Some(policy.capacity()), pace: Pace::of(policy), ..Self::default() }
    }
}
