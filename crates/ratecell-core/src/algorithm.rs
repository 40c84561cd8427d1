//! The algorithms: what each key's word means, and how a request changes it.
//!
//! An algorithm is a pure, total function over words: any `u64` gives a decision, integers only, no
//! panic, no allocation. Each is one file here and one line in `SPECS`; the word-sized ones have a
//! second line in the list of kernels, through which they reach the cell and the table.

use crate::decision::{Decision, Outcome};
use crate::error::PolicyError;
use crate::request::Request;
use crate::zone::Zone;

mod change;
mod counting;
#[cfg(not(ratecell_proofs))]
mod divide;
#[cfg(ratecell_proofs)]
#[path = "algorithm/divide/plain.rs"]
mod divide;
mod emission;
mod lease;
mod packing;
pub(crate) mod params;
pub(crate) mod quota;
#[cfg(ratecell_proofs)]
pub mod raw;
mod span;
pub(crate) mod words;
pub(crate) mod gcra;
pub(crate) mod token_bucket;
mod reserve;
mod two_windows;
pub(crate) mod sliding_window;
pub(crate) mod fixed_window;
pub(crate) mod sliding_log;
pub(crate) mod calendar_window;
pub(crate) mod in_flight;

pub use calendar_window::{CalendarWindow, CallerWindow};
pub use change::Change;
pub use emission::Emission;
pub use fixed_window::{FixedWindow, FixedWindowFirst};
pub use gcra::Gcra;
pub use in_flight::{InFlight, Renewed};
pub use lease::{Answered, GRACE_NS, Lease, MAX_LEASE};
pub use packing::{LayoutChoice, WordLayout};
use params::Params;
use quota::Quota;
pub use reserve::{Held, Reserve};
pub use sliding_log::{Entries, Log, SlidingLog};
pub use sliding_window::SlidingWindow;
pub use span::{Lend, Span, Want};
pub use token_bucket::{BucketInterval, BucketIntervalFirst};

/// Words at and above this belong to no policy's state.
pub const WORD_LIMIT: u64 = u64::MAX - (1 << 48) + 1;

/// What a request does to a word.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The word that it leaves, if it is charged: a cost above 0 that is allowed. Else the word stays.
    pub charged: Option<u64>,
    /// The answer.
    pub decision: Decision,
}

impl Step {
    fn out_of_range(limit: u64) -> Self {
        Self { charged: None, decision: Decision::clock_range(limit) }
    }
}

/// An algorithm whose whole state of a key is one word, 0 for a key never seen.
///
/// Three laws carry the table. *Fresh*: from `fresh_at(word)` on the word decides exactly as 0 does.
/// *Growth*: a step that allows a cost above 0 returns a numerically greater word, for the time is in
/// the high bits; a healed word is the one exception. *Newcomers*: see [`above`](Self::above).
///
/// A word's number says nothing of what it holds: of two words the greater may be fresh sooner.
pub trait Algorithm: Clone {
    /// Decides `cost` at `now` on `word`: all of it or nothing, whatever the delay.
    fn step(&self, word: u64, now: u64, cost: u32) -> Step;

    /// Decides `request` at `now` on `word`.
    #[inline(always)]
    fn decide(&self, word: u64, now: u64, request: &Request<'_>) -> Step {
        if request.is_step() {
            self.step(word, now, request.units())
        } else {
            self.decide_apart(word, now, request)
        }
    }

    /// Decides what takes more than one step, out of the way of what takes one: a table's insertion, too, is compiled
    /// around that.
    #[cold]
    #[inline(never)]
    fn decide_apart(&self, word: u64, now: u64, request: &Request<'_>) -> Step {
        if request.named_zone().is_some() {
            // No request names a zone for it.
            return Step { charged: None, decision: self.report(word, now, 0).without_zone() };
        }
        if request.is_charge() {
            return self.charge(word, now, request.units());
        }
        let step = self.step(word, now, request.units());
        match request.max_delay_ns() {
            None => step,
            Some(max_delay_ns) => self.within(word, now, request.units(), max_delay_ns, step),
        }
    }

    /// Charges as much of `cost` as there is room for: the decision is a peek's on what is then the word.
    #[inline]
    fn charge(&self, word: u64, now: u64, cost: u32) -> Step {
        let filled = self.fill(word, now, cost);
        let charged = (filled != word).then_some(filled);
        Step { charged, decision: self.report(filled, now, 0) }
    }

    /// What becomes of the `step` that decided `cost`, where it is allowed only with a delay of at most `max_delay_ns`.
    #[inline]
    fn within(&self, word: u64, now: u64, cost: u32, max_delay_ns: u64, step: Step) -> Step {
        let (wait, delay) = match step.decision.outcome {
            Outcome::Allowed if step.decision.delay_ns <= max_delay_ns => return step,
            Outcome::Allowed => (0, step.decision.delay_ns),
            Outcome::Denied => {
                let wait = step.decision.retry_after_ns;
                (wait, self.report(word, now.saturating_add(wait), cost).delay_ns)
            }
            Outcome::Asked | Outcome::Never | Outcome::ClockRange => return step,
        };
        // Nothing is charged, so what remains is what a peek sees.
        let mut decision = self.report(word, now, 0).delayed_by(delay);
        if self.report(0, now, cost).delay_ns > max_delay_ns {
            decision.refuse();
        } else {
            // Each nanosecond of waiting is one of delay less, down to that of its own units.
            decision.deny(wait.saturating_add(delay.saturating_sub(max_delay_ns)));
        }
        Step { charged: None, decision }
    }

    /// The word after it alone: all that an attempt to charge needs, in registers.
    #[inline(always)]
    fn advance(&self, word: u64, now: u64, cost: u32) -> u64 {
        self.step(word, now, cost).charged.unwrap_or(word)
    }

    /// The decision alone: computed once, when it is known which word was decided on.
    #[inline(always)]
    fn report(&self, word: u64, now: u64, cost: u32) -> Decision {
        self.step(word, now, cost).decision
    }

    /// The instant from which `word` is fresh.
    fn fresh_at(&self, word: u64) -> u64;

    /// What `word` has become by `instant`, with a time no earlier than `instant`. A window or refill that begins
    /// with a request begins at `instant`, unless it begins later.
    ///
    /// Where no word of the policy has such a time, it is the word of the last time with the whole capacity used: nothing
    /// is charged on it.
    fn carried(&self, word: u64, instant: u64) -> u64;

    /// [`carried`](Self::carried) for a request that names this zone, if any: windows of a zone may end earlier than those
    /// of all.
    #[inline]
    fn carried_in(&self, word: u64, instant: u64, zone: Option<&Zone>) -> u64 {
        let _ = zone;
        self.carried(word, instant)
    }

    /// Units that `word` still holds at `now`, rounded up: what erasing it would forgive.
    fn level(&self, word: u64, now: u64) -> u64;

    /// What orders words by what they hold at `now`: as the level does, or finer; 0 for a fresh word, and for no other.
    #[inline]
    fn weight(&self, word: u64, now: u64) -> u64 {
        if self.is_fresh(word, now) { 0 } else { self.level(word, now).max(1) }
    }

    /// Whether `word` can only have been written later than `now + heal`, and so counts as fresh.
    fn is_healed(&self, word: u64, now: u64) -> bool;

    /// The heal time in nanoseconds, if the policy has one.
    fn heal(&self) -> Option<u64>;

    /// What the bits of its words mean.
    fn packing(&self) -> WordLayout;

    /// The word after as much of `cost` as there is room for, whether or not all of it would be allowed.
    #[inline]
    fn fill(&self, word: u64, now: u64, cost: u32) -> u64 {
        let left = u32::try_from(self.report(word, now, 0).remaining).unwrap_or(u32::MAX);
        self.advance(word, now, cost.min(left))
    }

    /// Whether `word` decides as 0 does at `now` and after.
    #[inline]
    fn is_fresh(&self, word: u64, now: u64) -> bool {
        // The last two instants stand for all that no u64 tells: a word fresh only then never is.
        let at = self.fresh_at(word);
        (at <= now && at < u64::MAX - 1) || self.is_healed(word, now)
    }

    /// The word on which a newcomer is decided. `word` is in the cell that it would be charged to, its own or a
    /// shared one; the words erased from its home were live until `floor` at the latest.
    ///
    /// The law: a key that loses its word and comes back gets no more than with it. Let `alone` be the word that the
    /// key would have, had it never lost one: it is fresh from `floor` on, or what it holds is in `word` too.
    ///
    /// - At `floor` or later, `word` holds what `alone` holds or more, so it allows nothing that `alone` does not.
    /// - Before `floor`, the request is decided on `word` carried to `floor`. A word whose time is ahead of the clock
    ///   decides as at its own time. So the request is judged as if it came at `floor`, an instant that some caller's
    ///   clock has shown, and there the first case holds. A TAT is judged at `now` even so: no TAT that was erased is
    ///   above `floor`.
    ///
    /// The charge must also last as long as it would alone. Where all keys have the same times it does. Where a window
    /// or a refill begins with a request, another key's may have begun before this request and would end too early:
    /// so [`newcomer`](Self::newcomer) charges the word carried to the request's instant.
    #[inline]
    fn above(&self, word: u64, floor: u64, now: u64) -> u64 {
        self.above_in(word, floor, now, None)
    }

    /// [`above`](Self::above) for a request that names this zone, if any.
    #[inline]
    fn above_in(&self, word: u64, floor: u64, now: u64, zone: Option<&Zone>) -> u64 {
        let word = if self.is_healed(word, now) { 0 } else { word };
        if self.believed(floor, now) > now { self.carried_in(word, floor, zone) } else { word }
    }

    /// The word that a newcomer is decided on, and the word that it leaves if it is charged.
    #[inline]
    fn newcomer(&self, word: u64, floor: u64, now: u64, request: &Request<'_>) -> (u64, Option<u64>) {
        let word = self.above_in(word, floor, now, request.named_zone());
        let begun = self.carried_in(word, now, request.named_zone());
        match self.decide(begun, now, request).charged {
            Some(charged) => (begun, Some(charged)),
            None => (word, None),
        }
    }

    /// `floor`, or 0 where only a clock that was set back since can have shown it.
    #[inline]
    fn believed(&self, floor: u64, now: u64) -> u64 {
        if floor > self.latest_believed(now) { 0 } else { floor }
    }

    /// The latest floor that is believed at `now`.
    #[inline]
    fn latest_believed(&self, now: u64) -> u64 {
        self.heal().map_or(u64::MAX, |heal| now.saturating_add(heal))
    }
}

/// What is known of an algorithm once its parameters are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved {
    /// The most units that can pass at one instant.
    pub capacity: u64,
    /// The last `now` that can be decided, in nanoseconds since the epoch.
    pub max_now_ns: u64,
    /// The bits of one key's state.
    pub cell_bits: u64,
    /// For the GCRA family: what one unit takes.
    pub emission: Option<Emission>,
    /// For the counting algorithms: the bits of a count in the word.
    pub count_bits: Option<u32>,
    /// For those that start with a request: the grain of the start, in nanoseconds.
    pub quantum_ns: Option<u64>,
    /// For windows of a calendar: the number of boundaries after the epoch that are served.
    pub boundaries: Option<u64>,
    /// For windows of a calendar: FNV-1a, of 64 bits, over these boundaries as little-endian u64 seconds since the epoch.
    /// Where two differ, the rules of the zone do.
    pub boundary_digest: Option<u64>,
}

/// Checks parameters and makes them ready to decide, from an epoch in seconds since 1970.
type Resolve = fn(&Params, LayoutChoice, i64) -> Result<(Plan, Resolved), PolicyError>;

/// How an algorithm is called and which options it takes: its line in the registry.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) quota: Quota,
    /// Its own options, in the order of printing; `heal` and `horizon` belong to all.
    pub options: &'static [params::Key],
    pub resolve: Resolve,
}

/// The registry.
pub(crate) static SPECS: [&Spec; 9] = [
    &gcra::GCRA,
    &token_bucket::TOKEN_BUCKET,
    &gcra::LEAKY_METER,
    &gcra::LEAKY_QUEUE,
    &sliding_window::SLIDING_WINDOW,
    &sliding_log::SLIDING_LOG,
    &fixed_window::FIXED_WINDOW,
    &calendar_window::CALENDAR_WINDOW,
    &in_flight::IN_FLIGHT,
];

/// An accepted policy layer, ready to decide: by a word a key, or by a log a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// By one word a key.
    Word(Kernel),
    /// By a log a key.
    Log(SlidingLog),
}

impl Plan {
    /// Whether what is kept of a key by `earlier` can become what is kept by this, where a policy is changed over live
    /// keys.
    #[must_use]
    pub fn may_follow(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Word(kernel), Self::Word(earlier)) => kernel.packing().may_follow(&earlier.packing()),
            (Self::Log(log), Self::Log(earlier)) => log.window() == earlier.window(),
            _ => false,
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident($path:ty)),+ $(,)?) => {
        /// A word-sized algorithm, with its parameters.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Kernel {
            $($(#[$doc])* $name($path)),+
        }

        /// Runs `$body` with `$kernel` bound to the algorithm itself, so that a whole operation on words
        /// is compiled for each one and only this choice is made at run time.
        #[macro_export]
        macro_rules! with_kernel {
            ($kernel_enum:expr, $kernel:ident => $body:expr) => {
                match $kernel_enum {
                    $($crate::algorithm::Kernel::$name($kernel) => $body),+
                }
            };
        }
    };
}

kernels! {
    /// The GCRA family: also the leaky meter, the leaky queue and the continuous token bucket.
    Gcra(gcra::Gcra),
    /// The sliding window counter.
    SlidingWindow(sliding_window::SlidingWindow),
    /// The fixed window, aligned to the epoch.
    FixedWindow(fixed_window::FixedWindow),
    /// The fixed window that opens with a request.
    FixedWindowFirst(fixed_window::FixedWindowFirst),
    /// The token bucket that is refilled at every multiple of its interval.
    BucketInterval(token_bucket::BucketInterval),
    /// The token bucket that is refilled at intervals from the request that found it full.
    BucketIntervalFirst(token_bucket::BucketIntervalFirst),
    /// The windows of a calendar.
    CalendarWindow(calendar_window::CalendarWindow),
    /// The windows of a calendar in the zone of each request.
    CallerWindow(calendar_window::CallerWindow),
    /// Requests in flight.
    InFlight(in_flight::InFlight),
    /// Units of any of these that were taken at a store.
    Lease(lease::Lease),
}

impl Kernel {
    /// What the bits of its words mean.
    #[must_use]
    pub fn packing(&self) -> WordLayout {
        with_kernel!(self, kernel => kernel.packing())
    }
}
