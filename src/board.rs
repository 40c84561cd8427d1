//! The board: where the callers of a machine tell its agent which keys miss units, and wait for its answers.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 to 16,383 | the [misses]: 1,024 pairs {h, units} |
//! | 16,384 to 16,639 | 64 futexes by h, which count the agent's [answers](line) |
//! | 16,640 to 16,703 | the agent's [line]: whether it sleeps, the state, its last beat |
//! | 16,704 to 16,831 | 16 [counters](Counter) |
//! | 16,832 to 16,959 | the store's [name] |
//!
//! Every change is one exchange, so a process that is killed anywhere leaves nothing to repair. All of it may stand in a
//! file, where any word may be anything: no value of a word leads to a panic or to a wait beyond its timeout.
//!
//! In memory that is mapped for reading alone, only [`Board::ticket`], [`Board::state`], [`Board::last_beat`],
//! [`Board::counters`] and [`Board::name`] may be called: they load, Relaxed, and never store.

use core::time::Duration;

use crate::error::BuildError;
use crate::memory::{Array, Memory};
use crate::sync::{AtomicU32, AtomicU64, Ordering, Pair};

mod counter;
mod line;
mod misses;
mod name;
mod wait;

pub(crate) use counter::{COUNTERS, Counter};
pub(crate) use line::State;
pub(crate) use name::Name;

use line::{Answer, Line};
use misses::Misses;

/// The pairs of a board.
const PAIRS: usize = 1_024;
const ANSWERS: usize = 64;

const ANSWERS_AT: usize = PAIRS * 16;
const LINE_AT: usize = ANSWERS_AT + ANSWERS * 4;
const COUNTERS_AT: usize = LINE_AT + line::BYTES;
const NAME_AT: usize = COUNTERS_AT + COUNTERS * 8;

/// A board in its memory. Clones are the same board, for any number of threads.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    misses: Misses,
    /// By h: how often the agent has answered one of its keys, and whether anybody waits for that.
    answers: Array<AtomicU32>,
    line: Line,
    counters: Array<AtomicU64>,
    name: Name,
}

impl Board {
    /// The bits of `units` that are a number; those above say what the units are for.
    pub(crate) const UNITS: u64 = misses::UNITS;
    /// The bytes of what is true of one boot alone: misses, answers and the agent's line.
    #[cfg(not(ratecell_model))]
    pub(crate) const LEASED_BYTES: usize = COUNTERS_AT;
    /// The bytes of a board.
    pub(crate) const BYTES: usize = NAME_AT + name::BYTES;

    /// An empty board in memory of its own, for the threads of this process.
    pub(crate) fn private() -> Result<Self, BuildError> {
        let board = Self::in_memory(&Memory::private(Self::BYTES)?, 0)?;
        board.ok_or_else(BuildError::too_large)
    }

    /// The board that stands `at` bytes into `memory`; `None` if it does not lie within, or not at a multiple of 16.
    pub(crate) fn in_memory(memory: &Memory, at: usize) -> Result<Option<Self>, BuildError> {
        if !Pair::is_supported() {
            return Err(BuildError::Processor);
        }
        Ok(Self::sized(memory, at, PAIRS, ANSWERS))
    }

    /// The same of another size, at the places of this one.
    fn sized(memory: &Memory, at: usize, pairs: usize, answers: usize) -> Option<Self> {
        // No part is beyond the last one.
        at.checked_add(Self::BYTES)?;
        Some(Self {
            misses: Misses::in_memory(memory, at, pairs)?,
            answers: memory.array(at + ANSWERS_AT, answers)?,
            line: Line::in_memory(memory, at + LINE_AT)?,
            counters: memory.array(at + COUNTERS_AT, COUNTERS)?,
            name: Name::in_memory(memory, at)?,
        })
    }

    /// A small one for the models.
    #[cfg(ratecell_model)]
    pub(crate) fn alone(pairs: usize, answers: usize) -> Self {
        Self::sized(&Memory, 0, pairs, answers).expect("a board")
    }

    /// Tells the agent that the key of hash `h` misses `units`, and wakes it. False if the board is full, which is counted.
    ///
    /// Once it has returned true, an agent that takes afterwards is given `h` with at least these units and with all of
    /// these bits above [`UNITS`](Self::UNITS), unless one was given them meanwhile; and no other key is given them. So it is
    /// whichever of the callers and agents stop for ever wherever they are.
    ///
    /// The one hash 2^64 - 1 is given to the agent as 0: it is never granted.
    pub(crate) fn post(&self, h: u64, units: u64) -> bool {
        let posted = self.misses.post(h, units);
        // On a full board, too: who filled it may have been killed before this.
        self.line.wake();
        if !posted {
            self.count(Counter::BoardFull, 1);
        }
        posted
    }

    /// Takes all that is on the board: hash and units of each key, in no order, and a key at most a few times.
    pub(crate) fn take(&self, each: impl FnMut(u64, u64)) {
        self.misses.take(each);
    }

    /// The agent sleeps until somebody posts, or calls [`wake`](Self::wake), for `at_most` that long; it may wake before.
    /// It does not sleep where the board has a miss.
    ///
    /// A caller that is killed between its post and its call to wake the agent leaves it asleep for the rest of `at_most`.
    pub(crate) fn sleep(&self, at_most: Duration) {
        self.line.sleep(at_most, || self.misses.is_empty());
    }

    /// Wakes the agent if it sleeps.
    pub(crate) fn wake(&self) {
        self.line.wake();
    }

    /// How often the agent has answered a key of the futex of `h`: to be asked before the table is asked, and then waited by.
    pub(crate) fn ticket(&self, h: u64) -> u32 {
        self.answer(h).ticket()
    }

    /// Waits until the agent answers a key of the futex of `h` after `ticket` was asked for, or for `timeout`; it may return
    /// before. Whether it has answered.
    pub(crate) fn wait(&self, h: u64, ticket: u32, timeout: Duration) -> bool {
        self.answer(h).wait(ticket, timeout)
    }

    /// The agent has written to the table what it has for the key: those who wait for it ask again.
    pub(crate) fn answered(&self, h: u64) {
        self.answer(h).count();
    }

    fn answer(&self, h: u64) -> Answer<'_> {
        // The remainder is what counts.
        Answer(self.answers.around((h % ANSWERS as u64) as usize))
    }

    /// The agent lives at `now_ns`, by the clock of the region.
    pub(crate) fn beat(&self, now_ns: u64) {
        self.line.beat(now_ns);
    }

    /// When the agent lived lately; 0 where there was none. In a file it may be anything.
    pub(crate) fn last_beat(&self) -> u64 {
        self.line.last_beat()
    }

    pub(crate) fn set_state(&self, state: State) {
        self.line.set_state(state);
    }

    pub(crate) fn state(&self) -> State {
        self.line.state()
    }

    pub(crate) fn count(&self, counter: Counter, n: u64) {
        // Relaxed: a statistic.
        self.counters.around(counter as usize).fetch_add(n, Ordering::Relaxed);
    }

    /// For what is no count.
    pub(crate) fn set(&self, counter: Counter, n: u64) {
        // Relaxed: a statistic.
        self.counters.around(counter as usize).store(n, Ordering::Relaxed);
    }

    /// Each counter's value, at its number.
    pub(crate) fn counters(&self) -> [u64; COUNTERS] {
        // Relaxed: statistics.
        core::array::from_fn(|number| self.counters.around(number).load(Ordering::Relaxed))
    }

    /// Whether a miss of the key of hash `h` stands there.
    pub(crate) fn has(&self, h: u64) -> bool {
        self.misses.has(h)
    }

    /// The store's name, if the board was given one.
    pub(crate) fn name(&self) -> Option<String> {
        self.name.read()
    }
}

#[cfg(all(test, not(ratecell_model)))]
mod tests;
