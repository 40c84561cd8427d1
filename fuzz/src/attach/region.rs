//! The memory of a region, and what is changed in it.

use core::hash::Hasher;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::ffi::CString;

use arbitrary::Arbitrary;
use ratecell::ffi::{ratecell_config, ratecell_region_size};
use siphasher::sip::SipHasher13;

use crate::memory::Memory;
use crate::policies::Number;

/// Of the header: the words before the tables, the checksum, and the words that it is over.
const WORDS: usize = 64;
const CHECKSUM: usize = 15;
const SEALED: core::ops::Range<usize> = 1..48;

/// Where the header says how large it all is, how many buckets and how many layers there are.
const SIZE: usize = 2;
const BUCKETS: usize = 3;
const LAYERS: usize = 4;

#[derive(Arbitrary, Debug)]
pub(super) enum Change {
    Header {
        at: u8,
        value: Value,
    },
    /// Another number of layers and buckets, and the size that goes with it.
    Shape {
        layers: u8,
        buckets: u8,
    },
    Table {
        at: u16,
        value: Value,
    },
    /// All of the tables is noise.
    Flood {
        seed: u8,
    },
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
        if words.len() < WORDS {
            return;
        }
        match self {
            Self::Header { at, value } => value.store(&words, usize::from(*at) % WORDS),
            Self::Table { at, value } => {
                if words.len() > WORDS {
                    value.store(&words, WORDS + usize::from(*at) % (words.len() - WORDS));
                }
            }
            Self::Shape { layers, buckets } => {
                let (layers, buckets) = (usize::from(*layers) % 10, u64::from(*buckets));
                words[LAYERS].store(layers as u64, Ordering::Relaxed);
                words[BUCKETS].store(buckets, Ordering::Relaxed);
                words[SIZE].store(size(layers, buckets) as u64, Ordering::Relaxed);
            }
            Self::Flood { seed } => {
                let mut state = u64::from(*seed);
                for word in &words[WORDS..] {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    word.store(state ^ state >> 29, Ordering::Relaxed);
                }
            }
        }
    }
}

/// The bytes of a region of that many layers and buckets, of which each has room for 6 keys.
fn size(layers: usize, buckets: u64) -> usize {
    let policy = CString::new(vec!["1/s"; layers].join(" & ")).expect("no NUL");
    let config = ratecell_config { max_keys: buckets * 6, ..ratecell_config::default() };
    // SAFETY: a text with its NUL, and a config.
    unsafe { ratecell_region_size(policy.as_ptr(), ptr::from_ref(&config)) }
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

/// Makes the checksum that of the header.
pub(super) fn seal(memory: &Memory) {
    let words = words(memory);
    if words.len() < WORDS {
        return;
    }
    let mut hasher = SipHasher13::new();
    for at in SEALED.filter(|at| *at != CHECKSUM) {
        hasher.write(&words[at].load(Ordering::Relaxed).to_ne_bytes());
    }
    words[CHECKSUM].store(hasher.finish(), Ordering::Relaxed);
}
