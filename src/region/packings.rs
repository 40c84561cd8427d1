//! The packings: what the words of each layer mean. Written once, by the region's maker.
//!
//! | word of a layer | what |
//! | --- | --- |
//! | 0 | the kind of word, in letters |
//! | 1 to 3 | unit, grain, bits of a count |
//! | 4 to 6 | zeros |
//! | 7 | a checksum over 0 to 6 |

use super::{checksum, load, store};
use crate::error::RegionError;
use crate::memory::Memory;
use ratecell_core::algorithm::WordLayout;

const WORDS: usize = 8;
const CHECKSUM: usize = WORDS - 1;
/// The bytes of a layer.
pub(super) const BYTES: usize = WORDS * size_of::<u64>();

pub(super) fn write(memory: &Memory, at: usize, packings: &[WordLayout]) -> Option<()> {
    for (number, packing) in packings.iter().enumerate() {
        let WordLayout { word, unit, grain, count_bits } = *packing;
        let mut words = [u64::from_ne_bytes(word), unit, grain, count_bits.into(), 0, 0, 0, 0];
        words[CHECKSUM] = checksum(&words[..CHECKSUM]);
        store(memory, at + number * BYTES, &words)?;
    }
    Some(())
}

/// The packings of so many layers.
pub(super) fn read(memory: &Memory, at: usize, layers: usize) -> Result<Vec<WordLayout>, RegionError> {
    let packing = |number: usize| {
        let words: [u64; WORDS] = load(memory, at + number * BYTES)?;
        let [word, unit, grain, count_bits, ..] = words;
        let count_bits = u32::try_from(count_bits).ok()?;
        let packing = WordLayout { word: word.to_ne_bytes(), unit, grain, count_bits };
        (words[CHECKSUM] == checksum(&words[..CHECKSUM])).then_some(packing)
    };
    (0..layers).map(packing).collect::<Option<_>>().ok_or(RegionError::Corrupt)
}
