//! Names: which keys were denied and how often, for those who look in from outside.
//!
//! | word of a line | what |
//! | --- | --- |
//! | 0 | the [state](state): who has the line, and how often that key was denied |
//! | 1 | how many denials were counted in this line, of whichever key; it only grows |
//! | 2 | the key's hash, bound to the state |
//! | 3 to 7 | the key's [name] |
//!
//! There are 16 parts of 256 lines. A denied request looks at two of them, which are fetched together, in the part of its
//! thread, and writes one: that of its key, which is in the second only if the first was another's when nobody had had the
//! second. So the threads that deny one key do not wait for each other, as long as they are few. In its line a key outlives
//! as many denials of others as it has had of its own, up to 15, and then gives way: those that are denied most keep their
//! lines.
//!
//! Every change is one exchange or is not believed before one, so a process that is killed anywhere leaves nothing to
//! repair: a line that somebody has claimed and never written gives way as others do. All of it may stand in a file, where
//! any word may be anything: what is read is believed if it [proves itself](name), and no value leads to a panic or to
//! more work.
//!
//! In memory that is mapped for reading alone, only [`Names::total`] and [`Names::entries`] may be called: they load,
//! Relaxed, and never store.

use crate::memory::{Array, Memory};
use crate::sync::AtomicU64;
use crate::table::Secret;

mod line;
mod name;
mod part;
mod state;

pub(crate) use line::Entry;
#[cfg(not(ratecell_model))]
pub(crate) use line::Mark;
pub use name::KeyName;

use line::Line;

const PARTS: usize = 16;
/// The lines of a part: 2 to the power of this.
const LINES_LOG2: u32 = 8;

/// The lines in a memory. Clones are the same, for any number of threads.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    words: Array<AtomicU64>,
    lines_log2: u32,
    secret: Secret,
}

impl Names {
    /// The bytes of a line.
    pub(crate) const LINE: usize = line::WORDS * size_of::<u64>();
    /// The bytes of all lines.
    pub(crate) const BYTES: usize = (PARTS << LINES_LOG2) * Self::LINE;

    /// Those that stand `at` bytes into `memory`, of keys that are hashed by that secret; `None` if they do not lie within.
    pub(crate) fn in_memory(memory: &Memory, at: usize, secret: Secret) -> Option<Self> {
        Self::sized(memory, at, LINES_LOG2, secret)
    }

    fn sized(memory: &Memory, at: usize, lines_log2: u32, secret: Secret) -> Option<Self> {
        let words = memory.array(at, (PARTS << lines_log2) * line::WORDS)?;
        Some(Self { words, lines_log2, secret })
    }

    /// Parts of one line, which is its own neighbour, for the models.
    #[cfg(ratecell_model)]
    pub(crate) fn alone(secret: Secret) -> Self {
        Self::sized(&Memory, 0, 0, secret).expect("names")
    }

    /// Notes that a request of the key with that hash was denied. `key` is `None` if it was given by its hash.
    pub(crate) fn note(&self, hash: u64, key: Option<&[u8]>) {
        self.note_in(part::own(), hash, key);
    }

    /// The same by a thread of that part.
    pub(crate) fn note_in(&self, part: usize, hash: u64, key: Option<&[u8]>) {
        let part = part % PARTS;
        // Keys that share a line in one part do not share one in another. Source: multiplicative hashing, Knuth, The Art of
        // Computer Programming, 6.4.
        let mixed = hash.rotate_left(32).wrapping_add(part as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let number = (part << self.lines_log2) + (mixed.unbounded_shr(64 - self.lines_log2)) as usize;
        let neighbour = number ^ usize::from(self.lines_log2 > 0);
        let lines = self.lines();
        if let (Some(first), Some(second)) = (lines.get(number), lines.get(neighbour)) {
            Line::of(first).or(Line::of(second), hash).note(&self.secret, hash, key);
        }
    }

    fn lines(&self) -> &[[AtomicU64; line::WORDS]] {
        self.words.all().as_chunks().0
    }

    /// How many denials were noted.
    pub(crate) fn total(&self) -> u64 {
        self.lines().iter().fold(0, |sum: u64, words| sum.wrapping_add(Line::of(words).total()))
    }

    /// The lines' entries, each with the number of its line.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, Entry)> {
        let lines = self.lines().iter().enumerate();
        lines.filter_map(|(number, words)| Some((number, Line::of(words).read(&self.secret)?)))
    }
}

#[cfg(all(test, not(ratecell_model)))]
mod tests;
