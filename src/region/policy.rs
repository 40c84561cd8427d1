//! The policy section: the policy in force, which limiters without one of their own follow, and the three before it.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 to 7 | g: how often the policy was changed |
//! | 8 to 15 | the generation to which all words have been carried |
//! | 16 to 79 | of each layer the greatest capacity of any limiter that there has been, 8 bytes each |
//! | 80 to 87 | a digest of the boundaries of its maker's calendars, by the maker's rules of their zones; 0 without a calendar |
//! | 88 to 127 | zeros |
//! | 128 on | four records of 2,048 bytes; that of a generation is the one of its number modulo 4 |
//!
//! | bytes of a record | what |
//! | --- | --- |
//! | 0 to 15 | the generation's number; from when on it holds, plus 1, or 0 as long as nobody has said so |
//! | 16 to 31 | the length of the text; a checksum over all else that is in the record but the instant |
//! | 32 to 63 | of each layer the greatest capacity of any policy until then, 4 bytes each |
//! | 64 to 2,047 | the text, and zeros |
//!
//! A change writes the record of the next number, and then puts that number in force. The instant comes last, from
//! whichever caller needs it first: it is read after the number was in force, so no caller has decided by the policy before
//! at a later one.

use std::path::Path;
use std::sync::Arc;

use super::file::ChangeLock;
use super::{checksum, load, store};
use crate::error::{BuildError, RegionError};
use crate::memory::{Array, Memory};
use crate::sync::{AtomicU64, Ordering, Pair, fence};
use crate::table::era::InForce;

/// The bytes before the records.
const HEAD: usize = 128;
const SWEPT: usize = 8;
const RAISED: usize = 16;
const ZONE_RULES: usize = 80;
const RECORD: usize = 2_048;
const RECORDS: u64 = 4;
pub(super) const BYTES: usize = HEAD + RECORDS as usize * RECORD;
/// Of the text, in bytes.
pub(crate) const MAX_TEXT: usize = RECORD - TEXT * size_of::<u64>();

const RECORD_WORDS: usize = RECORD / size_of::<u64>();
const LENGTH: usize = 2;
const CHECKSUM: usize = 3;
const REACH: usize = 4;
const TEXT: usize = 8;
/// Layers of a region.
const LAYERS: usize = (TEXT - REACH) * 2;

type Words = [u64; RECORD_WORDS];

/// A generation of a region's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) text: String,
    /// Of each layer the greatest capacity of any policy until then.
    pub(crate) reach: Vec<u32>,
}

impl Record {
    /// `None` where the text is too long.
    fn words(&self) -> Option<Words> {
        if self.text.len() > MAX_TEXT {
            return None;
        }
        let mut words: Words = [0; RECORD_WORDS];
        words[0] = self.number;
        words[LENGTH] = self.text.len() as u64;
        let reach = |layer: usize| u64::from(self.reach.get(layer).copied().unwrap_or(0));
        for (number, word) in words[REACH..TEXT].iter_mut().enumerate() {
            *word = reach(2 * number) | reach(2 * number + 1) << 32;
        }
        for (word, bytes) in words[TEXT..].iter_mut().zip(self.text.as_bytes().chunks(size_of::<u64>())) {
            let mut padded = [0; size_of::<u64>()];
            padded.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
            *word = u64::from_ne_bytes(padded);
        }
        words[CHECKSUM] = sealed(&words);
        Some(words)
    }

    fn of_words(words: &Words) -> Result<Self, RegionError> {
        if words[CHECKSUM] != sealed(words) {
            return Err(damaged(
                "a text that its checksum is not of; expected one that was written as a whole",
            ));
        }
        let bytes: Vec<u8> = words[TEXT..].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let length = usize::try_from(words[LENGTH]).ok().filter(|length| *length <= MAX_TEXT);
        let text = length.and_then(|length| bytes.get(..length));
        let text = text.and_then(|text| core::str::from_utf8(text).ok());
        // Errors quote it: no control character of a file gets into a log or onto a terminal.
        let text = text.filter(|text| text.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        let text = text.ok_or_else(|| {
            damaged(&format!("no text; expected at most {MAX_TEXT} bytes of printable ASCII"))
        })?;
        // Halves of a word.
        let reach = |layer: usize| (words[REACH + layer / 2] >> (32 * (layer % 2))) as u32;
        Ok(Self { number: words[0], text: text.to_owned(), reach: (0..LAYERS).map(reach).collect() })
    }
}

fn damaged(reason: &str) -> RegionError {
    RegionError::Section { section: "policy".to_owned(), reason: reason.to_owned() }
}

fn sealed(words: &Words) -> u64 {
    let [number, _, length, _, rest @ ..] = words;
    let mut words = vec![*number, *length];
    words.extend(rest);
    checksum(&words)
}

/// Writes a first policy, and the digest of its calendars, into a section of zeros.
pub(super) fn write(memory: &Memory, at: usize, first: &Record, zone_rules: u64) -> Option<()> {
    let mut words = first.words()?;
    // It holds from the beginning.
    words[1] = 1;
    store(memory, at + ZONE_RULES, &[zone_rules])?;
    store(memory, at + HEAD, &words)
}

/// The digest of the calendars of the first policy, by its maker's rules of their zones; 0 without a calendar.
pub(super) fn zone_rules(memory: &Memory, at: usize) -> Result<u64, RegionError> {
    let [digest] = load(memory, at + ZONE_RULES).ok_or(RegionError::Corrupt)?;
    Ok(digest)
}

/// The records of a region's policy, which may change.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    memory: Memory,
    /// Of the section, in which all places are within the memory.
    at: usize,
    in_force: InForce,
    /// The file that the memory is of, by which those who change the policy come one after the other.
    path: Option<Arc<Path>>,
}

impl Records {
    pub(super) fn in_memory(memory: &Memory, at: usize) -> Result<Self, RegionError> {
        let in_force = InForce::in_memory(memory, at).ok_or(RegionError::Corrupt)?;
        // Those of all records.
        memory.array::<AtomicU64>(at, BYTES / size_of::<u64>()).ok_or(RegionError::Corrupt)?;
        Ok(Self { memory: memory.clone(), at, in_force, path: None })
    }

    pub(crate) fn of_file(self, path: &Path) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    pub(crate) fn in_force(&self) -> &InForce {
        &self.in_force
    }

    /// The number of the generation in force, also in memory that is mapped for reading alone.
    pub(crate) fn number(&self) -> u64 {
        let number = load(&self.memory, self.at).map_or(0, |[number]: [u64; 1]| number);
        // Acquire: its record is seen after it.
        fence(Ordering::Acquire);
        number
    }

    /// The right to change the policy, while it lives: `None` where the memory is no file.
    pub(crate) fn lock(&self) -> Result<Option<ChangeLock>, BuildError> {
        self.path.as_deref().map(|path| ChangeLock::new(path, &self.memory)).transpose()
    }

    /// The record of the generation in force.
    pub(super) fn latest(&self) -> Result<Record, RegionError> {
        loop {
            if let Some(record) = self.read(self.number())? {
                return Ok(record);
            }
        }
    }

    /// The record of that generation; `None` if it has been overwritten: the number in force has gone on, or the next change
    /// is on its way, or died there.
    pub(crate) fn read(&self, number: u64) -> Result<Option<Record>, RegionError> {
        let words: Words = load(&self.memory, self.place(number)).ok_or(RegionError::Corrupt)?;
        // Acquire: whatever was read of a later record, its number is seen now.
        fence(Ordering::Acquire);
        let [now]: [u64; 1] = load(&self.memory, self.place(number)).ok_or(RegionError::Corrupt)?;
        if words[0] == number && now == number {
            return Record::of_words(&words).map(Some);
        }
        let in_force = self.number();
        if in_force.wrapping_sub(number) < RECORDS - 1 {
            let reason = format!("no record of change {number}, of {in_force}; expected one");
            return Err(damaged(&reason));
        }
        Ok(None)
    }

    /// From when on that generation is in force; `None` as long as nobody has said so, or if it has been overwritten.
    pub(crate) fn instant(&self, number: u64) -> Option<u64> {
        let [held, at] = load(&self.memory, self.place(number))?;
        (held == number).then(|| at.checked_sub(1)).flatten()
    }

    /// Says from when on that generation is in force, unless it is said already. The number is compared, for the record is
    /// used again four changes later.
    pub(crate) fn set_instant(&self, number: u64, at_ns: u64) {
        if let Some(pair) = self.pair(number) {
            pair.first().replace((number, 0), (number, at_ns.saturating_add(1)));
        }
    }

    /// Writes the next record, in place of the one that no word needs any more. One caller at a time does so.
    pub(crate) fn write(&self, record: &Record) -> Result<(), RegionError> {
        let too_long =
            || damaged(&format!("a policy of {} bytes; expected at most {MAX_TEXT}", record.text.len()));
        let words = record.words().ok_or_else(too_long)?;
        let pair = self.pair(record.number).ok_or(RegionError::Corrupt)?;
        let pair = pair.first();
        loop {
            // Relaxed, both: the exchange compares them.
            let held = (pair.first(Ordering::Relaxed), pair.second(Ordering::Relaxed));
            if pair.replace(held, (record.number, 0)) {
                break;
            }
        }
        // Release: a caller that sees any of what follows sees the number.
        fence(Ordering::Release);
        let rest = words.get(LENGTH..).ok_or(RegionError::Corrupt)?;
        store(&self.memory, self.place(record.number) + LENGTH * size_of::<u64>(), rest)
            .ok_or(RegionError::Corrupt)
    }

    /// Of each layer the greatest capacity of any limiter that there has been.
    pub(crate) fn raised(&self) -> [u64; LAYERS] {
        load(&self.memory, self.at + RAISED).unwrap_or_default()
    }

    /// Takes note of a limiter with these capacities, before it decides.
    pub(crate) fn raise(&self, capacities: impl Iterator<Item = u64>) {
        let Some(raised) = self.memory.array::<AtomicU64>(self.at + RAISED, LAYERS) else { return };
        for (place, capacity) in raised.all().iter().zip(capacities) {
            // AcqRel: the number in force is looked at after it. A caller that finds a later number, and carries a word of
            // this limiter, has that from a change that came after the look.
            place.fetch_max(capacity, Ordering::AcqRel);
        }
    }

    /// The generation to which all words have been carried.
    pub(crate) fn swept(&self) -> u64 {
        let swept = load(&self.memory, self.at + SWEPT);
        swept.map_or(0, |[swept]: [u64; 1]| swept)
    }

    pub(crate) fn set_swept(&self, number: u64) {
        store(&self.memory, self.at + SWEPT, &[number]);
    }

    /// Of a generation's record: where it stands.
    fn place(&self, number: u64) -> usize {
        // Below 4.
        self.at + HEAD + (number % RECORDS) as usize * RECORD
    }

    /// The number of a record and its instant.
    fn pair(&self, number: u64) -> Option<Array<Pair>> {
        self.memory.array(self.place(number), 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> (Records, Option<()>) {
        let memory = Memory::private(BYTES).expect("memory");
        let first = Record { number: 0, text: text.to_owned(), reach: vec![9; LAYERS] };
        let written = write(&memory, 0, &first, 0);
        (Records::in_memory(&memory, 0).expect("room"), written)
    }

    #[test]
    fn a_text_that_is_not_to_be_printed_is_not_read() {
        let read_back = |text: &str| {
            let (records, written) = section(text);
            written.expect("room");
            records.read(0).map(|record| record.expect("it is in force").text)
        };
        assert_eq!(read_back("3/h burst=9").as_deref(), Ok("3/h burst=9"));
        for text in ["3/h\u{1b}[2J", "3/h\0", "3/h\n", "3/\u{7f}", "3/µs"] {
            let error = read_back(text).expect_err(text).to_string();
            assert!(error.contains("printable ASCII"), "{error}");
        }
        assert_eq!(section(&"x".repeat(MAX_TEXT + 1)).1, None);
    }

    #[test]
    fn a_record_is_there_until_the_fourth_change_after_it() {
        let (records, _) = section("1/s");
        assert_eq!((records.instant(0), records.swept()), (Some(0), 0));
        for number in 1..10 {
            let record = Record {
                number,
                text: format!("{number}/s"),
                reach: (0..8).map(|layer| layer + number as u32).collect(),
            };
            records.write(&record).expect("room");
            records.in_force().advance(number - 1);
            assert_eq!((records.in_force().number(), records.instant(number)), (number, None));
            records.set_instant(number, number * 100);
            records.set_instant(number, 7);
            records.set_instant(number.saturating_sub(4), 7);
            assert_eq!(records.instant(number), Some(number * 100));
            assert_eq!(records.read(number), Ok(Some(record)));
            let oldest = number.saturating_sub(3);
            assert!(matches!(records.read(oldest), Ok(Some(record)) if record.number == oldest));
            // The next one is written over the oldest before it is in force.
            let next = Record { number: number + 1, text: "1/s".to_owned(), reach: vec![1; LAYERS] };
            records.write(&next).expect("room");
            assert_eq!(records.read((number + 1).wrapping_sub(4)).ok().flatten(), None);
            assert!(matches!(records.read(number), Ok(Some(record)) if record.number == number));
            assert_eq!(records.read(oldest.wrapping_sub(1)).ok().flatten(), None);
        }
        let stray = Record { number: 13, text: "1/s".to_owned(), reach: vec![1; LAYERS] };
        records.write(&stray).expect("room");
        let lost = records.read(9).expect_err("it is in force").to_string();
        assert!(lost.contains("no record of change 9, of 9"), "{lost}");
    }
}
