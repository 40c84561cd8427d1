//! Sleeping and waking: the agent's line, and the answers that callers wait for.

use core::time::Duration;

use super::wait;
use crate::memory::{Array, Memory};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The bytes of the agent's line.
pub(super) const BYTES: usize = 64;

/// Who answers the machine's misses. The numbers are kept in memory and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody does, or nobody did yet.
    NoAgent = 0,
    /// An agent, from the store.
    Here = 1,
    /// An agent, while its store does not answer.
    Away = 2,
}

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// The agent's line: bytes 0 to 3 whether it sleeps, 4 to 7 its state, 8 to 15 its last beat.
#[derive(Clone, Debug)]
pub(super) struct Line {
    words: Array<AtomicU32>,
    beat: Array<AtomicU64>,
}

impl Line {
    pub(super) fn in_memory(memory: &Memory, at: usize) -> Option<Self> {
        Some(Self { words: memory.array(at, 2)?, beat: memory.array(at + 8, 1)? })
    }

    fn sleeps(&self) -> &AtomicU32 {
        self.words.around(0)
    }

    /// Sleeps, if `is_empty` says that there is nothing to do.
    pub(super) fn sleep(&self, at_most: Duration, is_empty: impl FnOnce() -> bool) {
        // AcqRel: of this exchange and the one of a caller that has posted, one comes first. If it is the caller's, the
        // post is acquired here, and `is_empty` sees it; if this one is, the caller sees ASLEEP, and wakes.
        self.sleeps().swap(ASLEEP, Ordering::AcqRel);
        if is_empty() {
            wait::wait(self.sleeps(), ASLEEP, at_most);
        }
        // AcqRel: a store would hide from the next exchange what the callers' have released.
        self.sleeps().swap(AWAKE, Ordering::AcqRel);
    }

    /// Wakes the agent if it sleeps, or is about to.
    pub(super) fn wake(&self) {
        // AcqRel: as in `sleep`. An exchange and no load: a load may be of before.
        if self.sleeps().swap(AWAKE, Ordering::AcqRel) != AWAKE {
            wait::wake_one(self.sleeps());
        }
    }

    pub(super) fn beat(&self, now_ns: u64) {
        // Relaxed: it says nothing of other words.
        self.beat.around(0).store(now_ns, Ordering::Relaxed);
    }

    pub(super) fn last_beat(&self) -> u64 {
        // Relaxed: as above.
        self.beat.around(0).load(Ordering::Relaxed)
    }

    pub(super) fn set_state(&self, state: State) {
        // Relaxed: it says nothing of other words.
        self.words.around(1).store(state as u32, Ordering::Relaxed);
    }

    pub(super) fn state(&self) -> State {
        // Relaxed: as above.
        let state = self.words.around(1).load(Ordering::Relaxed);
        [State::Here, State::Away].into_iter().find(|known| *known as u32 == state).unwrap_or(State::NoAgent)
    }
}

/// Whether anybody waits: the lowest bit of an answer. It is left by one who was killed: then the next answer wakes in vain.
const WAITED_FOR: u32 = 1;

/// Answers are counted in the other bits.
pub(super) struct Answer<'b>(pub(super) &'b AtomicU32);

impl Answer<'_> {
    pub(super) fn ticket(&self) -> u32 {
        // Relaxed: memory that is mapped for reading alone may be read by no other load.
        let ticket = self.0.load(Ordering::Relaxed) & !WAITED_FOR;
        // Acquire: what the agent had written before the answers that are counted here is seen afterwards.
        crate::sync::fence(Ordering::Acquire);
        ticket
    }

    pub(super) fn wait(&self, ticket: u32, timeout: Duration) -> bool {
        let (ticket, waited_for) = (ticket & !WAITED_FOR, ticket | WAITED_FOR);
        // Relaxed: the word alone decides who sleeps, and who waits takes another ticket before it looks at anything.
        match self.0.compare_exchange(ticket, waited_for, Ordering::Relaxed, Ordering::Relaxed) {
            Err(found) if found != waited_for => return true,
            Ok(_) | Err(_) => wait::wait(self.0, waited_for, timeout),
        };
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed) & !WAITED_FOR != ticket
    }

    pub(super) fn count(&self) {
        // Relaxed: only the exchange says what it was.
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let next = (seen | WAITED_FOR).wrapping_add(1);
            // Release: a ticket that counts this answer sees what was written before it. Relaxed: as above.
            match self.0.compare_exchange(seen, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                // Somebody came to wait, or another agent has answered.
                Err(found) => seen = found,
            }
        }
        if seen & WAITED_FOR != 0 {
            wait::wake_all(self.0);
        }
    }
}
