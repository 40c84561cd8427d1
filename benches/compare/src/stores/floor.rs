//! The least that a decision can cost on this machine: its key's hash and one access to memory.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{Advice, MmapMut};
use ratecell::{DirectLimiter, Limiter};
use zerocopy::FromBytes;

use super::{CallerHasher, caller_hash};
use crate::case::Case;
use crate::workload::Key;

pub(crate) const HASH: &str = "floor: hash";
pub(crate) const LOAD: &str = "floor: hash and one line's load";
pub(crate) const FETCH_ADD: &str = "floor: hash and one line's fetch_add";
pub(crate) const BUCKETS: &str = "floor: hash and two buckets' loads";
pub(crate) const OWN: &str = "floor: own hash, and own clock";
pub(crate) const WORD_LOAD: &str = "floor: load";
pub(crate) const WORD_FETCH_ADD: &str = "floor: fetch_add";
pub(crate) const WORD_EXCHANGE: &str = "floor: load and compare_exchange";
const WORD_OWN_CLOCK: &str = "floor: own clock, load and compare_exchange";

/// Lines of a bucket.
const BUCKET: usize = 2;
const WORDS_PER_LINE: usize = 64 / size_of::<AtomicU64>();

/// Memory of a table's size, on huge pages where the system has them, as ratecell's is.
#[derive(Debug)]
pub(crate) struct Memory(MmapMut);

impl Memory {
    pub(crate) fn of(bytes: usize) -> Self {
        let mut memory = MmapMut::map_anon(bytes.next_multiple_of(64)).expect("memory for the floor");
        // Refused, the pages stay small.
        let _ = memory.advise(Advice::HugePage);
        // Pages never written all lead to one.
        memory.fill(0);
        Self(memory)
    }

    pub(crate) fn floor(&mut self) -> Floor<'_> {
        let words =
            <[AtomicU64]>::mut_from_bytes(&mut self.0).expect("a mapping is aligned, and whole lines");
        Floor { words, hasher: CallerHasher::default() }
    }
}

#[derive(Debug)]
pub(crate) struct Floor<'m> {
    words: &'m [AtomicU64],
    hasher: CallerHasher,
}

impl Floor<'_> {
    /// The first word of the line that the key's hash chooses.
    #[inline]
    fn word(&self, key: &Key) -> &AtomicU64 {
        let lines = self.words.len() / WORDS_PER_LINE;
        let hash = caller_hash(&self.hasher, key);
        let line = ((u128::from(hash) * lines as u128) >> 64) as usize;
        &self.words[line * WORDS_PER_LINE]
    }

    /// A word of each line of the two buckets that the key's hash chooses.
    #[inline]
    fn words(&self, key: &Key) -> [&AtomicU64; 2 * BUCKET] {
        let buckets = self.words.len() / (WORDS_PER_LINE * BUCKET);
        let hash = caller_hash(&self.hasher, key);
        let [home, alternate] = [hash, hash.rotate_left(32)].map(|hash| {
            let bucket = ((u128::from(hash) * buckets as u128) >> 64) as usize;
            bucket * BUCKET * WORDS_PER_LINE
        });
        let lines = [home, home + WORDS_PER_LINE, alternate, alternate + WORDS_PER_LINE];
        lines.map(|word| &self.words[word])
    }

    /// The loop and the hash alone.
    pub(crate) fn hash(&self) -> Case<'_> {
        Case::lone(HASH, || 0, |key, _| caller_hash(&self.hasher, key) < u64::MAX)
    }

    pub(crate) fn load(&self) -> Case<'_> {
        Case::lone(LOAD, || 0, |key, _| self.word(key).load(Ordering::Relaxed) < u64::MAX)
    }

    /// As many lines as a check asks for, none of which it must wait for to ask for another.
    pub(crate) fn buckets(&self) -> Case<'_> {
        let read = |key: &_| {
            self.words(key).map(|word| word.load(Ordering::Relaxed)).iter().all(|word| *word < u64::MAX)
        };
        Case::lone(BUCKETS, || 0, move |key, _| read(key))
    }

    pub(crate) fn fetch_add(&self) -> Case<'_> {
        Case::lone(FETCH_ADD, || 0, |key, _| self.word(key).fetch_add(1, Ordering::Relaxed) < u64::MAX)
    }
}

/// What a decision costs that leaves the hash and the clock to `clock`, before it decides: SipHash-1-3 of the key, and
/// one reading.
pub(crate) fn own_hash_and_clock(clock: &Limiter) -> Case<'_> {
    let secret = RandomState::new();
    let hash = move |key: &Key| {
        let mut hasher = secret.build_hasher();
        hasher.write(key);
        hasher.finish()
    };
    Case::lone(OWN, || 0, move |key, _| hash(key) | clock.now_ns() > 0)
}

/// One word for everything, on a line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Word(AtomicU64);

impl Word {
    pub(crate) fn load(&self) -> Case<'_> {
        Case::lone(WORD_LOAD, || 0, |_, _| self.0.load(Ordering::Relaxed) < u64::MAX)
    }

    pub(crate) fn fetch_add(&self) -> Case<'_> {
        Case::lone(WORD_FETCH_ADD, || 0, |_, _| self.0.fetch_add(1, Ordering::Relaxed) < u64::MAX)
    }

    /// What a word can be changed by to any value that depends on it, as a limiter's must be.
    pub(crate) fn exchange(&self) -> Case<'_> {
        Case::lone(
            WORD_EXCHANGE,
            || 0,
            |_, _| {
                let next = |word: u64| Some(word.wrapping_add(1));
                self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
            },
        )
    }

    /// The same to what depends on the time, as read by `clock`.
    pub(crate) fn own_clock<'s>(&'s self, clock: &'s DirectLimiter) -> Case<'s> {
        Case::lone(
            WORD_OWN_CLOCK,
            || 0,
            |_, _| {
                let now = clock.now_ns();
                let next = |word: u64| Some(word.max(now).wrapping_add(1));
                self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
            },
        )
    }
}
