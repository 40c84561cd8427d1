//! The name under which the store keeps the limits: its length, and its characters.

use crate::memory::{Array, Memory};
use crate::sync::{AtomicU64, Ordering};

const WORDS: usize = 1 + Name::MAX / 8;
pub(super) const BYTES: usize = WORDS * 8;

/// Where a board has its name.
#[derive(Clone, Debug)]
pub(crate) struct Name(Array<AtomicU64>);

impl Name {
    /// The most bytes of a name.
    pub(crate) const MAX: usize = 120;

    /// Whether a store's name may be so: 1 to [`MAX`](Self::MAX) letters, digits, and `_ . : -`.
    pub(crate) fn is_valid(name: &str) -> bool {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        (1..=Self::MAX).contains(&name.len()) && name.bytes().all(known)
    }

    /// That of the board that stands `at` bytes into `memory`; `None` if it does not lie within.
    pub(crate) fn in_memory(memory: &Memory, at: usize) -> Option<Self> {
        memory.array(at.checked_add(super::NAME_AT)?, WORDS).map(Self)
    }

    /// Writes a name where zeros are; `None` if none may be so.
    pub(crate) fn write(&self, name: &str) -> Option<()> {
        if !Self::is_valid(name) {
            return None;
        }
        let mut words = [0; WORDS];
        words[0] = name.len() as u64;
        for (word, bytes) in words[1..].iter_mut().zip(name.as_bytes().chunks(8)) {
            let mut padded = [0; 8];
            padded.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
            *word = u64::from_ne_bytes(padded);
        }
        for (place, word) in self.0.all().iter().zip(words) {
            // Relaxed: the region's magic comes after it.
            place.store(word, Ordering::Relaxed);
        }
        Some(())
    }

    /// The name, if it is one that may be.
    pub(crate) fn read(&self) -> Option<String> {
        // Relaxed: written once, before the region's magic.
        let mut words = self.0.all().iter().map(|word| word.load(Ordering::Relaxed));
        let length = usize::try_from(words.next()?).ok()?;
        let bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        let name = core::str::from_utf8(bytes.get(..length)?).ok()?;
        Self::is_valid(name).then(|| name.to_owned())
    }
}
