//! The header: 64 words, of which the first says that there is one.
//!
//! | words | what |
//! | --- | --- |
//! | 0 | `RATECELL`, written last |
//! | 1 to 15 | layout, sizes, epoch, secret, and a checksum over 1 to 47 |
//! | 16 to 47 | the packing of each layer |
//! | 48 to 56 | the clock: which of two copies counts, and the copies |
//! | 57 to 60 | what was last seen of the boot of each copy; zeros where that is unknown |
//!
//! All but the clock is written once. The clock changes when the machine has started anew: the copy that does
//! not count is written, and then counts, so that no moment is without a clock. Each opening of a file notes the
//! time that it saw.

use siphasher::sip::SipHasher13;

use super::boot::{Boot, Medium, Relation, Sight};
use super::{TABLES_AT, bytes};
use crate::clock::{Clock, Reading};
use crate::error::{RegionError, RegionField};
use crate::memory::{Array, Memory};
use crate::sync::{AtomicU64, Ordering};
use crate::table::{Secret, WhenFull};
use ratecell_core::algorithm::Packing;

const MAGIC: u64 = u64::from_ne_bytes(*b"RATECELL");
/// Of header and tables. Whoever changes what a bit of either means counts it up.
const LAYOUT: u64 = 1;

pub(super) const WORDS: usize = TABLES_AT / size_of::<u64>();
const CHECKSUM: usize = 15;
const PACKINGS: usize = 16;
const PACKING_WORDS: usize = 4;
const MAX_LAYERS: usize = 8;
/// Which copy of the clock counts: this word's lowest bit.
const CLOCK: usize = 48;
/// A copy: what to add to the monotonic clock, and the boot and the namespace in which.
const CLOCK_WORDS: usize = 4;
/// Of each copy: the latest CLOCK_MONOTONIC that was seen in its boot, and by the wall clock the start of that boot.
const SIGHTS: usize = CLOCK + 1 + 2 * CLOCK_WORDS;
const SIGHT_WORDS: usize = 2;

/// What a header says.
pub(crate) struct Header {
    pub(crate) bytes: usize,
    pub(crate) buckets: usize,
    pub(crate) when_full: WhenFull,
    pub(crate) packings: Vec<Packing>,
    pub(crate) secret: Secret,
    pub(crate) clock: Clock,
}

const WHEN_FULL: [WhenFull; 4] = [WhenFull::Evict, WhenFull::Share, WhenFull::Deny, WhenFull::Allow];

/// The words in which a header is kept.
pub(super) type Words = [u64; WORDS];

fn checksum(words: &Words) -> u64 {
    let fixed = words.iter().enumerate().take(CLOCK).skip(1).filter(|(number, _)| *number != CHECKSUM);
    let bytes: Vec<u8> = fixed.flat_map(|(_, word)| word.to_ne_bytes()).collect();
    SipHasher13::new().hash(&bytes)
}

impl Header {
    fn words(&self) -> Words {
        let [secret, more_secret] = self.secret.words();
        let sizes = [self.bytes, self.buckets, self.packings.len()].map(|size| size as u64);
        let when_full = WHEN_FULL.iter().position(|choice| *choice == self.when_full).unwrap_or(0) as u64;
        let fixed = [MAGIC, LAYOUT].into_iter().chain(sizes);
        let fixed = fixed.chain([when_full, self.clock.epoch_wall(), secret, more_secret]);
        let mut words: Words = [0; WORDS];
        words.iter_mut().zip(fixed).for_each(|(word, value)| *word = value);
        for (words, packing) in words[PACKINGS..CLOCK].chunks_exact_mut(PACKING_WORDS).zip(&self.packings) {
            let word = u64::from_ne_bytes(packing.word);
            words.copy_from_slice(&[word, packing.unit, packing.grain, packing.count_bits.into()]);
        }
        words[CHECKSUM] = checksum(&words);
        let (clock, sight) = clock_words(&self.clock);
        words[CLOCK + 1..][..CLOCK_WORDS].copy_from_slice(&clock);
        words[SIGHTS..][..SIGHT_WORDS].copy_from_slice(&sight);
        words
    }

    /// Writes a header into memory of zeros.
    pub(super) fn write(&self, memory: &Memory) -> Result<(), RegionError> {
        let places = places(memory)?;
        let words = self.words();
        for (place, word) in places.all().iter().zip(words).skip(1) {
            // Relaxed: the magic comes after it.
            place.store(word, Ordering::Relaxed);
        }
        // Release: whoever sees the magic sees the rest, and the tables' zeros.
        places.around(0).store(MAGIC, Ordering::Release);
        Ok(())
    }

    /// The header at the start of a region.
    pub(super) fn read(memory: &Memory, medium: Medium) -> Result<Self, RegionError> {
        let places = places(memory)?;
        let mut words: Words = [0; WORDS];
        for (word, place) in words.iter_mut().zip(places.all()) {
            // Acquire: the first is the magic, and what was written before it is seen after it. The last is
            // the clock that counts, whose copy is seen as it was written.
            *word = place.load(Ordering::Acquire);
        }
        // Read again after the word that says which copy counts.
        for (word, place) in words.iter_mut().zip(places.all()).skip(CLOCK + 1) {
            // Relaxed: ordered by the load of that word.
            *word = place.load(Ordering::Relaxed);
        }
        Self::of_words(&words)?.in_this_time(&words, medium)
    }

    /// What a header's words say, but for its clock, which may be of another boot.
    pub(super) fn of_words(words: &Words) -> Result<Self, RegionError> {
        let [magic, layout, size, buckets, layers, when_full, epoch_wall, secret, more_secret, ..] = *words;
        if magic == MAGIC.swap_bytes() {
            let (held, asked) = (String::from("of the other byte order"), LAYOUT.to_string());
            return Err(RegionError::Differs { field: RegionField::Layout, held, asked });
        }
        if magic != MAGIC {
            return Err(RegionError::NotARegion);
        }
        if layout != LAYOUT {
            let (held, asked) = (layout.to_string(), LAYOUT.to_string());
            return Err(RegionError::Differs { field: RegionField::Layout, held, asked });
        }
        let sizes = [size, buckets, layers].map(usize::try_from);
        let [Ok(size), Ok(buckets), Ok(layers)] = sizes else { return Err(RegionError::Corrupt) };
        let when_full = usize::try_from(when_full).ok().and_then(|number| WHEN_FULL.get(number));
        let possible = (1..=MAX_LAYERS).contains(&layers) && buckets > 0;
        let (true, Some(when_full)) = (possible && words[CHECKSUM] == checksum(words), when_full) else {
            return Err(RegionError::Corrupt);
        };
        if bytes(layers, buckets) != Some(size) {
            return Err(RegionError::Corrupt);
        }
        let packings = words[PACKINGS..CLOCK].chunks_exact(PACKING_WORDS).take(layers).map(|words| {
            let [word, unit, grain, count_bits] = *words else { return None };
            Some(Packing {
                word: word.to_ne_bytes(),
                unit,
                grain,
                count_bits: u32::try_from(count_bits).ok()?,
            })
        });
        Ok(Self {
            bytes: size,
            buckets,
            when_full: *when_full,
            packings: packings.collect::<Option<_>>().ok_or(RegionError::Corrupt)?,
            secret: Secret::of_words([secret, more_secret]),
            clock: Clock::carried_over(epoch_wall),
        })
    }

    /// The header with the clock that its words tell, if that is a clock of this boot.
    pub(super) fn in_this_time(self, words: &Words, medium: Medium) -> Result<Self, RegionError> {
        let copy = (words[CLOCK] & 1) as usize;
        let [offset, id, more_id, namespace] = words[CLOCK + 1 + copy * CLOCK_WORDS..][..CLOCK_WORDS] else {
            return Err(RegionError::Corrupt);
        };
        let [monotonic, started] = words[SIGHTS + copy * SIGHT_WORDS..][..SIGHT_WORDS] else {
            return Err(RegionError::Corrupt);
        };
        let clock = Clock::of(self.clock.epoch_wall(), offset);
        let boot = Boot { id: [id, more_id], namespace };
        let held = Sight { boot, monotonic, monotonic_zero: clock.monotonic_zero(), started };
        let here = Sight::here();
        // A copy that was never written is of no boot.
        let written = [offset, id, more_id, namespace] != [0; CLOCK_WORDS];
        match if written { held.relation(&here, medium) } else { Relation::OtherBoot } {
            Relation::Same => Ok(Self { clock, ..self }),
            Relation::OtherBoot => {
                let [held, asked] = [held, here].map(|sight| sight.to_string());
                Err(RegionError::Differs { field: RegionField::Boot, held, asked })
            }
            Relation::OtherNamespace => {
                let [held, asked] = [held, here].map(|sight| sight.boot.namespace.to_string());
                Err(RegionError::Differs { field: RegionField::TimeNamespace, held, asked })
            }
        }
    }

    /// Has the region's clock go on in this boot, from its epoch by the wall clock.
    pub(super) fn carry_over(&self, memory: &Memory) -> Result<(), RegionError> {
        let places = places(memory)?;
        // Acquire: as when a header is read.
        let current = places.around(CLOCK).load(Ordering::Acquire);
        let next = current.wrapping_add(1);
        let copy = (next & 1) as usize;
        let (clock, sight) = clock_words(&self.clock);
        let clock = (CLOCK + 1 + copy * CLOCK_WORDS..).zip(clock);
        let sight = (SIGHTS + copy * SIGHT_WORDS..).zip(sight);
        for (number, word) in clock.chain(sight) {
            // Relaxed: it counts only after what follows.
            places.around(number).store(word, Ordering::Relaxed);
        }
        // Release: whoever sees that the copy counts sees the copy.
        places.around(CLOCK).store(next, Ordering::Release);
        Ok(())
    }
}

fn places(memory: &Memory) -> Result<Array<AtomicU64>, RegionError> {
    memory.array(0, WORDS).ok_or(RegionError::TooSmall { needed: TABLES_AT, len: memory.len() })
}

/// Notes in the region that its clock was seen now.
pub(super) fn note(memory: &Memory) -> Result<(), RegionError> {
    let places = places(memory)?;
    // Acquire: as when a header is read.
    let copy = (places.around(CLOCK).load(Ordering::Acquire) & 1) as usize;
    // Relaxed: it orders nothing, and any process of this boot may note less or more at the same time. A process
    // that has read which copy counts before another boot began is not there any more.
    places.around(SIGHTS + copy * SIGHT_WORDS).fetch_max(Reading::now().monotonic, Ordering::Relaxed);
    Ok(())
}

/// The copy of a clock that is set here and now, and what is seen of this boot.
fn clock_words(clock: &Clock) -> ([u64; CLOCK_WORDS], [u64; SIGHT_WORDS]) {
    let Sight { boot: Boot { id: [id, more_id], namespace }, monotonic, started, .. } = Sight::here();
    ([clock.monotonic_to_epoch(), id, more_id, namespace], [monotonic, started])
}
