//! The memory of a region, and what is changed in it.

use core::hash::Hasher;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use arbitrary::Arbitrary;
use siphasher::sip::SipHasher13;

use crate::memory::Memory;
use crate::policies::{Number, PolicyText};

/// Of the header: its words, its checksum, and the words that it is over, among them that of the directory.
const HEADER: usize = 64;
const CHECKSUM: usize = 15;
const SEALED: Range<usize> = 1..48;
const DIRECTORY_CHECKSUM: usize = 14;

/// Of the directory: its words, and how many there are to an entry.
const DIRECTORY: Range<usize> = HEADER..HEADER + 64 * ENTRY;
const ENTRY: usize = 4;
/// Where the sections begin.
const SECTIONS: usize = DIRECTORY.end;
/// The bytes before them.
pub(super) const BEFORE_SECTIONS: usize = SECTIONS * size_of::<u64>();
/// Sections, by their kinds; the words of the first two have checksums among them.
const PACKINGS: u64 = 1;
const POLICY: u64 = 2;
const TABLE: u64 = 3;
/// The words of a layer's packing, of which the last is the checksum over the others.
const PACKING: usize = 8;
/// Of the policy: where its first record is, and its words.
const RECORD: usize = 16;
const RECORD_WORDS: usize = 256;
/// Of a record: when it began to hold, the length of its text, a checksum over all else but the instant, and the text.
const RECORD_INSTANT: usize = 1;
const RECORD_LENGTH: usize = 2;
const RECORD_CHECKSUM: usize = 3;
const RECORD_TEXT: usize = 8;

#[derive(Arbitrary, Debug)]
pub(super) enum Change {
    Header {
        at: u8,
        value: Value,
    },
    Section(Section),
    Table {
        at: u16,
        value: Value,
    },
    /// All of the tables is noise.
    Flood {
        seed: u8,
    },
}

/// What stands between the header and the tables.
#[derive(Arbitrary, Debug)]
pub(super) enum Section {
    /// A field of an entry of the directory.
    Field { entry: u8, field: u8, value: Value },
    /// A section is where another is, or near it, and of another length.
    Moved { entry: u8, to: u8, by: i8, length: Option<u16> },
    /// The text of the policy.
    Text { text: PolicyText, length: Option<u16> },
    /// A word of the packings or the policy.
    Word { at: u16, value: Value },
}

#[derive(Arbitrary, Debug)]
pub(super) enum Value {
    Any(u64),
    Small(Number),
    /// As it was, but for a bit.
    Flipped(u8),
    /// As another word.
    Copied(u16),
}

/// The words of memory, as everybody else has them: atomic.
fn words(memory: &Memory) -> Vec<&AtomicU64> {
    let count = memory.bytes().len() / size_of::<u64>();
    // SAFETY: within the memory, which is aligned for them and is there for as long as they are borrowed; all who use
    // it meanwhile do so by atomics.
    (0..count).map(|at| unsafe { AtomicU64::from_ptr(memory.pointer::<u64>().add(at)) }).collect()
}

impl Change {
    pub(super) fn make(&self, memory: &Memory) {
        let words = words(memory);
        if words.len() <= SECTIONS {
            return;
        }
        match self {
            Self::Header { at, value } => value.store(&words, usize::from(*at) % HEADER),
            Self::Section(section) => section.make(&words),
            Self::Table { at, value } => {
                let tables = tables(&words);
                value.store(&words, tables + usize::from(*at) % (words.len() - tables));
            }
            Self::Flood { seed } => {
                let mut state = u64::from(*seed);
                for word in &words[tables(&words)..] {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    word.store(state ^ state >> 29, Ordering::Relaxed);
                }
            }
        }
    }
}

impl Section {
    fn make(&self, words: &[&AtomicU64]) {
        // Mostly an entry of those that there are.
        let entry = |number: u8| DIRECTORY.start + usize::from(number) % 8 * ENTRY;
        match self {
            Self::Field { entry: number, field, value } => {
                value.store(words, entry(*number) + usize::from(*field) % ENTRY);
            }
            Self::Moved { entry: number, to, by, length } => {
                let offset = words[entry(*to) + 2].load(Ordering::Relaxed);
                let offset = offset.wrapping_add_signed(i64::from(*by) * 64);
                words[entry(*number) + 2].store(offset, Ordering::Relaxed);
                if let Some(length) = length {
                    words[entry(*number) + 3].store(u64::from(*length) * 8, Ordering::Relaxed);
                }
            }
            Self::Text { text, length } => {
                let (text, Some(record)) = (text.to_c(), record(words)) else { return };
                let length = length.map_or(text.as_bytes().len() as u64, u64::from);
                record[RECORD_LENGTH].store(length, Ordering::Relaxed);
                for (word, bytes) in record[RECORD_TEXT..].iter().zip(text.as_bytes().chunks(8)) {
                    let mut padded = [0; 8];
                    padded[..bytes.len()].copy_from_slice(bytes);
                    word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
                }
            }
            Self::Word { at, value } => {
                let tables = tables(words);
                if tables > SECTIONS {
                    value.store(words, SECTIONS + usize::from(*at) % (tables - SECTIONS));
                }
            }
        }
    }
}

/// Where the tables begin.
fn tables(words: &[&AtomicU64]) -> usize {
    section(words, TABLE).map_or(SECTIONS, |(at, _)| at)
}

/// The first record of the policy.
fn record<'w, 'm>(words: &'w [&'m AtomicU64]) -> Option<&'w [&'m AtomicU64]> {
    let (at, _) = section(words, POLICY)?;
    words.get(at + RECORD..at + RECORD + RECORD_WORDS)
}

/// The first word and the words of the first section of a kind, if they are all there.
fn section(words: &[&AtomicU64], kind: u64) -> Option<(usize, usize)> {
    let load = |at: usize| words[at].load(Ordering::Relaxed);
    let entry = DIRECTORY.step_by(ENTRY).find(|at| load(*at) == kind)?;
    let [offset, length] = [entry + 2, entry + 3].map(|at| usize::try_from(load(at) / 8).ok());
    let (offset, length) = (offset?, length?);
    let end = offset.checked_add(length)?;
    (offset >= SECTIONS && end <= words.len() && length > 0).then_some((offset, length))
}

impl Value {
    fn store(&self, words: &[&AtomicU64], at: usize) {
        let was = words[at].load(Ordering::Relaxed);
        let value = match self {
            Self::Any(value) => *value,
            Self::Small(number) => number.get(),
            Self::Flipped(bit) => was ^ 1 << (bit % 64),
            Self::Copied(from) => words[usize::from(*from) % words.len()].load(Ordering::Relaxed),
        };
        words[at].store(value, Ordering::Relaxed);
    }
}

fn checksum<'w>(words: impl IntoIterator<Item = &'w &'w AtomicU64>) -> u64 {
    let mut hasher = SipHasher13::new();
    for word in words {
        hasher.write(&word.load(Ordering::Relaxed).to_ne_bytes());
    }
    hasher.finish()
}

/// Makes all checksums those of what is there, from the sections to the header.
pub(super) fn seal(memory: &Memory) {
    let words = words(memory);
    if words.len() <= SECTIONS {
        return;
    }
    if let Some((at, length)) = section(&words, PACKINGS) {
        for layer in words[at..at + length].chunks_exact(PACKING) {
            layer[PACKING - 1].store(checksum(&layer[..PACKING - 1]), Ordering::Relaxed);
        }
    }
    if let Some(record) = record(&words) {
        let others = [RECORD_INSTANT, RECORD_CHECKSUM];
        let sealed = (0..).zip(record).filter(|(at, _)| !others.contains(at)).map(|(_, word)| word);
        record[RECORD_CHECKSUM].store(checksum(sealed), Ordering::Relaxed);
    }
    words[DIRECTORY_CHECKSUM].store(checksum(&words[DIRECTORY]), Ordering::Relaxed);
    let (before, after) = (&words[SEALED.start..CHECKSUM], &words[CHECKSUM + 1..SEALED.end]);
    words[CHECKSUM].store(checksum(before.iter().chain(after)), Ordering::Relaxed);
}
