//! A line: one key's name, how often it was denied, and how another key takes its place.
//!
//! No load or exchange here orders another. Whoever reads a line believes an entry only if its words prove it: the name
//! beside the hash, and the hash beside the seq.

use super::name::{self, Name};
use super::state::State;
use crate::sync::{AtomicU64, Ordering};
use crate::table::Secret;

/// The words of a line.
pub(super) const WORDS: usize = 3 + name::WORDS;

/// A denial tries so often to be counted as its key's. Each time is lost to another thread on the same line.
const ATTEMPTS: usize = 4;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'n> {
    state: &'n AtomicU64,
    total: &'n AtomicU64,
    hash: &'n AtomicU64,
    name: &'n [AtomicU64; name::WORDS],
}

/// The hash of a key as it stands in the entry of that seq: a hash that somebody writes too late is no hash there.
fn bound(hash: u64, seq: u64) -> u64 {
    // Odd, so that no two seqs have the same.
    hash ^ seq.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<'n> Line<'n> {
    pub(super) fn of([state, total, hash, name @ ..]: &'n [AtomicU64; WORDS]) -> Self {
        Self { state, total, hash, name }
    }

    fn load(word: &AtomicU64) -> u64 {
        // Relaxed: what is read proves itself.
        word.load(Ordering::Relaxed)
    }

    fn state(self) -> State {
        State::of_bits(Self::load(self.state))
    }

    /// Changes the state from exactly `before`; where it is another, says which.
    fn change(self, before: State, after: State) -> Result<(), State> {
        // Relaxed: what is read proves itself.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let changed = self.state.compare_exchange(before.bits(), after.bits(), success, failure);
        changed.map(drop).map_err(State::of_bits)
    }

    /// Whether the entry is that key's, in that state.
    fn is_of(self, state: State, hash: u64) -> bool {
        state.is_written() && Self::load(self.hash) == bound(hash, state.seq())
    }

    /// This line, unless the key's entry is in the other one, or nobody ever had that and somebody has this.
    pub(super) fn or(self, other: Self, hash: u64) -> Self {
        let (state, others) = (self.state(), other.state());
        let is_free = others.is_unused() && !state.is_unused();
        if !self.is_of(state, hash) && (is_free || other.is_of(others, hash)) { other } else { self }
    }

    /// Counts a denial of the key with that hash, and names it if the line's entry is its own or gives way. It is in the total
    /// in any case.
    pub(super) fn note(self, secret: &Secret, hash: u64, key: Option<&[u8]>) {
        // Relaxed: a statistic.
        self.total.fetch_add(1, Ordering::Relaxed);
        for _ in 0..ATTEMPTS {
            let state = self.state();
            let next = if self.is_of(state, hash) { Some(state.counted()) } else { state.loosened() };
            let Some(next) = next else { return self.take(state, secret, hash, key) };
            if self.change(state, next).is_ok() {
                return;
            }
        }
    }

    /// Begins an entry of that key, and writes it.
    fn take(self, state: State, secret: &Secret, hash: u64, key: Option<&[u8]>) {
        let claim = state.claimed();
        if self.change(state, claim).is_err() {
            return;
        }
        let Name { length, words } = Name::of(secret, hash, key);
        // Relaxed: what is read proves itself.
        self.hash.store(bound(hash, claim.seq()), Ordering::Relaxed);
        for (place, word) in self.name.iter().zip(words) {
            // Relaxed: likewise.
            place.store(word, Ordering::Relaxed);
        }
        let mut seen = claim;
        // Others loosen it meanwhile, as often as it has grip, and then it is theirs.
        while seen.is_of_claim(claim) {
            match self.change(seen, seen.written(length)) {
                Ok(()) => return,
                Err(found) => seen = found,
            }
        }
    }

    /// Denials that were counted in this line, of whichever key.
    pub(super) fn total(self) -> u64 {
        Self::load(self.total)
    }

    /// The entry that is there, if there is one and it proves itself.
    pub(super) fn read(self, secret: &Secret) -> Option<Entry> {
        let state = self.state();
        if !state.is_written() || state.count() == 0 {
            return None;
        }
        let hash = bound(Self::load(self.hash), state.seq());
        let name = Name { length: state.length(), words: self.name.each_ref().map(Self::load) };
        let name = name.read(secret, hash).ok()?;
        Some(Entry { state, hash, name })
    }
}

/// What a line says of its key.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    state: State,
    /// By which the key stands in the tables.
    pub(crate) hash: u64,
    /// `None` of a key that was given by its hash.
    pub(crate) name: Option<name::KeyName>,
}

/// An entry as it was at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(State);

impl Entry {
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.state)
    }

    /// Denials of the key since it has this entry: no more than there were.
    pub(crate) fn count(&self) -> u64 {
        self.state.count()
    }

    /// Denials since the line was as `earlier` says: no more than there were.
    pub(crate) fn count_since(&self, earlier: Option<Mark>) -> u64 {
        match earlier {
            Some(Mark(earlier)) if earlier.seq() == self.state.seq() => {
                self.state.count_since(earlier.count())
            }
            _ => self.count(),
        }
    }
}
