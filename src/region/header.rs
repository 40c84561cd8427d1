//! The header: 64 words, of which the first says that there is a region.
//!
//! | words | what |
//! | --- | --- |
//! | 0 | `RATECELL`, written last |
//! | 1 to 6 | layout, bytes of the region, `when_full`, epoch, secret |
//! | 7 to 13 | zeros |
//! | 14 | a checksum over the directory |
//! | 15 | a checksum over 1 to 47 |
//! | 16 to 47 | zeros |
//! | 48 to 56 | the clock: which of two copies counts, and the copies |
//! | 57 to 60 | what was last seen of the boot of each copy; zeros where that is unknown |
//!
//! All but the clock is written once. The clock changes when the machine has started anew: the copy that does
//! not count is written, and then counts, so that no moment is without a clock. Each opening of a file notes the
//! time that it saw.

use super::boot::{Boot, Medium, Relation, Sight};
use super::directory::{self, Directory, SECTIONS_AT};
use super::policy::{Record, Records};
use super::{Lists, checksum, load, packings, policy, store, unusable_name};
use crate::board::Name;
use crate::clock::{Clock, Reading};
use crate::error::{RegionError, RegionField};
use crate::memory::{Array, Memory};
use crate::sync::{AtomicU64, Ordering, fence};
use crate::table::{Secret, WhenFull};
use ratecell_core::algorithm::WordLayout;

const MAGIC: u64 = u64::from_ne_bytes(*b"RATECELL");
/// Of header, directory and sections. A change of what a bit of the first two means counts it up; of a section, its
/// form.
const LAYOUT: u64 = 2;

pub(super) const WORDS: usize = 64;
/// The bytes of the header.
pub(super) const BYTES: usize = WORDS * size_of::<u64>();
const _: () = assert!(BYTES == directory::AT);
/// The first word of the secret.
pub(super) const SECRET: usize = 5;
const DIRECTORY_CHECKSUM: usize = 14;
const CHECKSUM: usize = 15;
/// Which copy of the clock counts: this word's lowest bit.
const CLOCK: usize = 48;
/// A copy: what to add to the monotonic clock, and the boot and the namespace in which.
const CLOCK_WORDS: usize = 4;
/// Of each copy: the latest CLOCK_MONOTONIC that was seen in its boot, and by the wall clock the start of that boot.
const SIGHTS: usize = CLOCK + 1 + 2 * CLOCK_WORDS;
const SIGHT_WORDS: usize = 2;

/// What a region says of itself.
pub(crate) struct Header {
    pub(crate) directory: Directory,
    pub(crate) when_full: WhenFull,
    /// What the words mean that the first policy speaks of.
    pub(crate) packings: Vec<WordLayout>,
    /// The text of the policy in force.
    pub(crate) policy: String,
    /// The generations of the policy.
    pub(crate) records: Records,
    /// What the numbers of its table mean; `None` where the table has one policy.
    pub(crate) numbers: Option<Lists>,
    /// Of its maker's calendars, by the maker's rules of their zones; 0 without a calendar.
    pub(crate) zone_rules: u64,
    /// Where the board is, and the name of its store; `None` without a store.
    pub(crate) board: Option<(usize, String)>,
    pub(crate) secret: Secret,
    pub(crate) clock: Clock,
}

/// What the words of a header alone say.
pub(super) struct Head {
    /// The bytes of the region.
    pub(super) bytes: usize,
    when_full: WhenFull,
    epoch_wall: u64,
    secret: [u64; 2],
    directory_checksum: u64,
}

const WHEN_FULL: [WhenFull; 4] = [WhenFull::Evict, WhenFull::Share, WhenFull::Deny, WhenFull::Allow];

/// The words in which a header is kept.
pub(super) type Words = [u64; WORDS];

/// The checksum over all that is written once.
fn seal(words: &Words) -> u64 {
    let fixed = words.iter().enumerate().take(CLOCK).skip(1).filter(|(number, _)| *number != CHECKSUM);
    checksum(&fixed.map(|(_, word)| *word).collect::<Vec<_>>())
}

impl Head {
    pub(super) fn of_words(words: &Words) -> Result<Self, RegionError> {
        let [magic, layout, bytes, when_full, epoch_wall, secret, more_secret, ..] = *words;
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
        let when_full = usize::try_from(when_full).ok().and_then(|number| WHEN_FULL.get(number));
        let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes >= SECTIONS_AT);
        let (true, Some(bytes), Some(when_full)) = (words[CHECKSUM] == seal(words), bytes, when_full) else {
            return Err(RegionError::Corrupt);
        };
        Ok(Self {
            bytes,
            when_full: *when_full,
            epoch_wall,
            secret: [secret, more_secret],
            directory_checksum: words[DIRECTORY_CHECKSUM],
        })
    }
}

impl Header {
    fn words(&self, directory: &directory::Words) -> Words {
        let [secret, more_secret] = self.secret.words();
        let when_full = WHEN_FULL.iter().position(|choice| *choice == self.when_full).unwrap_or(0) as u64;
        let bytes = self.directory.bytes as u64;
        let fixed = [MAGIC, LAYOUT, bytes, when_full, self.clock.epoch_wall(), secret, more_secret];
        let mut words: Words = [0; WORDS];
        words.iter_mut().zip(fixed).for_each(|(word, value)| *word = value);
        words[DIRECTORY_CHECKSUM] = checksum(directory);
        words[CHECKSUM] = seal(&words);
        let (clock, sight) = clock_words(&self.clock);
        words[CLOCK + 1..][..CLOCK_WORDS].copy_from_slice(&clock);
        words[SIGHTS..][..SIGHT_WORDS].copy_from_slice(&sight);
        words
    }

    /// Writes header, directory, packings, the first policy and the store's name into memory of zeros. `None` where they do
    /// not fit.
    pub(super) fn write(&self, memory: &Memory, first: &Record) -> Option<()> {
        let directory = self.directory.words();
        packings::write(memory, self.directory.packings_at, &self.packings)?;
        policy::write(memory, self.directory.policy_at, first, self.zone_rules)?;
        if let Some((at, name)) = &self.board {
            Name::in_memory(memory, *at)?.write(name)?;
        }
        store(memory, directory::AT, &directory)?;
        let [_, words @ ..] = self.words(&directory);
        store(memory, size_of::<u64>(), &words)?;
        // Release: a process that sees the magic sees the rest, and the tables' zeros.
        memory.array::<AtomicU64>(0, 1)?.around(0).store(MAGIC, Ordering::Release);
        Some(())
    }

    /// The region in `memory`, with a clock of the wall's, and the words of its header.
    ///
    /// Nothing of it is believed that has not been checked, and nothing is read of it again: whatever is written there
    /// later leads nobody out of the memory.
    pub(super) fn read(memory: &Memory) -> Result<(Self, Words), RegionError> {
        let words = words(memory).ok_or(RegionError::TooSmall { needed: BYTES, len: memory.len() })?;
        let head = Head::of_words(&words)?;
        if head.bytes > memory.len() {
            return Err(RegionError::TooSmall { needed: head.bytes, len: memory.len() });
        }
        let directory: directory::Words = load(memory, directory::AT).ok_or(RegionError::Corrupt)?;
        if checksum(&directory) != head.directory_checksum {
            return Err(RegionError::Corrupt);
        }
        let directory = Directory::of_words(&directory, head.bytes)?;
        let records = Records::in_memory(memory, directory.policy_at)?;
        let header = Self {
            when_full: head.when_full,
            packings: packings::read(memory, directory.packings_at, directory.layers())?,
            policy: records.latest()?.text,
            records,
            numbers: directory.numbers_at.map(|at| Lists::in_memory(memory, at)).transpose()?,
            zone_rules: policy::zone_rules(memory, directory.policy_at)?,
            board: directory.board_at.map(|at| board(memory, at)).transpose()?,
            secret: Secret::of_words(head.secret),
            clock: Clock::carried_over(head.epoch_wall.into()),
            directory,
        };
        Ok((header, words))
    }

    /// The clock that the words of the header tell, if that is a clock of this boot.
    pub(super) fn clock_of(&self, words: &Words, medium: Medium) -> Result<Clock, RegionError> {
        let copy = (words[CLOCK] & 1) as usize;
        let [offset, id, more_id, namespace] = words[CLOCK + 1 + copy * CLOCK_WORDS..][..CLOCK_WORDS] else {
            return Err(RegionError::Corrupt);
        };
        let [monotonic, started] = words[SIGHTS + copy * SIGHT_WORDS..][..SIGHT_WORDS] else {
            return Err(RegionError::Corrupt);
        };
        let clock = Clock::of(self.clock.epoch_wall().into(), offset);
        let boot = Boot { id: [id, more_id], namespace };
        let held = Sight { boot, monotonic, monotonic_zero: clock.monotonic_zero(), started };
        let here = Sight::here();
        // A copy that was never written is of no boot.
        let written = [offset, id, more_id, namespace] != [0; CLOCK_WORDS];
        match if written { held.relation(&here, medium) } else { Relation::OtherBoot } {
            Relation::Same => Ok(clock),
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
        // Release: a process that sees that the copy counts sees the copy.
        places.around(CLOCK).store(next, Ordering::Release);
        Ok(())
    }
}

/// Where a board is, and the name of its store.
fn board(memory: &Memory, at: usize) -> Result<(usize, String), RegionError> {
    let name = Name::in_memory(memory, at).ok_or(RegionError::Corrupt)?.read();
    name.map(|name| (at, name)).ok_or_else(|| unusable_name(None))
}

fn places(memory: &Memory) -> Result<Array<AtomicU64>, RegionError> {
    memory.array(0, WORDS).ok_or(RegionError::TooSmall { needed: BYTES, len: memory.len() })
}

/// The words of the header: the magic before all that was written before it, and which copy of the clock counts before
/// the copies.
fn words(memory: &Memory) -> Option<Words> {
    let [magic]: [u64; 1] = load(memory, 0)?;
    // Acquire: what was written before the magic is seen after it.
    fence(Ordering::Acquire);
    let mut words: Words = load(memory, 0)?;
    // Acquire: the copy that counts is seen as it was written.
    fence(Ordering::Acquire);
    let clock: [u64; WORDS - CLOCK - 1] = load(memory, (CLOCK + 1) * size_of::<u64>())?;
    words[0] = magic;
    words[CLOCK + 1..].copy_from_slice(&clock);
    Some(words)
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
