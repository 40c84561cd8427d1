//! The numbers section: what the numbers mean in a table of several policies, in each of the last four generations.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 on | four lists of 524,288 bytes; that of a generation is the one of its number modulo 4 |
//!
//! | bytes of a list | what |
//! | --- | --- |
//! | 0 to 7 | the generation's number |
//! | 8 to 15 | the length of the text |
//! | 16 to 23 | a checksum over number, length and text |
//! | 24 to 63 | zeros |
//! | 64 on | the text, which the limiter's register reads, and then anything |
//!
//! A change writes the list of the next generation in place of the oldest, then its [record](super::policy), and then puts
//! its number in force. Pages behind the longest text are never touched.

use core::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::policy::Records;
use super::{load, store};
use crate::error::RegionError;
use crate::memory::Memory;
use crate::sync::{AtomicU64, Ordering, fence};

const LIST: usize = 1 << 19;
const LISTS: u64 = 4;
pub(super) const BYTES: usize = LISTS as usize * LIST;
const HEAD: usize = 64;
/// Of a text, in bytes.
pub(crate) const MAX_TEXT: usize = LIST - HEAD;

const WORD: usize = size_of::<u64>();

/// The lists of a region whose table has several policies.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    memory: Memory,
    /// Of the section, in which all places are within the memory.
    at: usize,
}

impl Lists {
    pub(super) fn in_memory(memory: &Memory, at: usize) -> Result<Self, RegionError> {
        memory.array::<AtomicU64>(at, BYTES / WORD).ok_or(RegionError::Corrupt)?;
        Ok(Self { memory: memory.clone(), at })
    }

    /// Writes the list of the generation of that number, in place of one that no word needs any more. One caller at a time
    /// does so.
    ///
    /// # Errors
    /// The text is too long.
    pub(crate) fn write(&self, number: u64, text: &str) -> Result<(), RegionError> {
        let length = text.len();
        if length > MAX_TEXT {
            return Err(damaged(&format!("{length} bytes of limits by name; expected at most {MAX_TEXT}")));
        }
        let at = self.place(number);
        let written = || {
            store(&self.memory, at, &[number])?;
            // Release: a caller that sees any of what follows sees the number.
            fence(Ordering::Release);
            store(&self.memory, at + WORD, &[length as u64, checksum(number, text.as_bytes())])?;
            // An array has a word at least.
            if text.is_empty() { Some(()) } else { store(&self.memory, at + HEAD, &words(text.as_bytes())) }
        };
        written().ok_or(RegionError::Corrupt)
    }

    /// The list of that generation; `None` if it has been overwritten: the number in force has gone on, or the next change is
    /// on its way, or died there.
    ///
    /// # Errors
    /// It is damaged.
    #[cfg_attr(not(any(feature = "rules", test)), expect(dead_code, reason = "rules alone have lists"))]
    pub(crate) fn read(&self, number: u64, records: &Records) -> Result<Option<String>, RegionError> {
        let at = self.place(number);
        let [held, length, sum]: [u64; 3] = load(&self.memory, at).ok_or(RegionError::Corrupt)?;
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_TEXT);
        let bytes = length.and_then(|length| self.bytes(at + HEAD, length));
        // Acquire: whatever was read of a later list, its number is seen now.
        fence(Ordering::Acquire);
        let [now]: [u64; 1] = load(&self.memory, at).ok_or(RegionError::Corrupt)?;
        let is_of_it = held == number && now == number;
        let whole = bytes.filter(|bytes| is_of_it && sum == checksum(number, bytes));
        // What is read is quoted in errors, and parsed.
        let is_plain = |bytes: &Vec<u8>| bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n'));
        match whole.filter(is_plain).and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(text) => Ok(Some(text)),
            None if !is_of_it && records.number().wrapping_sub(number) >= LISTS - 1 => Ok(None),
            None => {
                Err(damaged(&format!("no list of change {number}; expected one that was written as a whole")))
            }
        }
    }

    fn bytes(&self, at: usize, length: usize) -> Option<Vec<u8>> {
        // An array has a word at least.
        let words = self.memory.array::<AtomicU64>(at, length.div_ceil(WORD).max(1))?;
        // Relaxed: as where the words of a header are loaded.
        let loaded = words.all().iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        Some(loaded.take(length).collect())
    }

    /// Of a generation's list: where it stands.
    fn place(&self, number: u64) -> usize {
        // Below 4.
        self.at + (number % LISTS) as usize * LIST
    }
}

fn words(text: &[u8]) -> Vec<u64> {
    let chunks = text.chunks(WORD).map(|bytes| {
        let mut padded = [0; WORD];
        padded.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        u64::from_ne_bytes(padded)
    });
    chunks.collect()
}

fn checksum(number: u64, text: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write_u64(number);
    hasher.write_usize(text.len());
    hasher.write(text);
    hasher.finish()
}

/// The error of a section that says nothing of its numbers, or what cannot be.
pub(crate) fn damaged(reason: &str) -> RegionError {
    RegionError::Section { section: "numbers".to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::policy::{self, Record};
    use super::*;

    /// The lists, and the records of the generation in force.
    fn lists() -> (Lists, Records) {
        let memory = Memory::private(BYTES + policy::BYTES).expect("memory");
        let first = Record { number: 0, text: "rules".to_owned(), reach: vec![0] };
        policy::write(&memory, BYTES, &first, 0).expect("room");
        let records = Records::in_memory(&memory, BYTES).expect("room");
        (Lists::in_memory(&memory, 0).expect("room"), records)
    }

    #[test]
    fn a_list_is_there_until_the_fourth_change_after_it() {
        let (lists, records) = lists();
        let text = |number: u64| format!("{number} 1 name 1/s\n").repeat(number as usize % 7);
        lists.write(0, &text(0)).expect("room");
        for number in 1..12_u64 {
            let oldest = number.saturating_sub(4);
            lists.write(number, &text(number)).expect("room");
            // The next one is written over the oldest before it is in force.
            if number > 3 {
                assert_eq!(lists.read(oldest, &records), Ok(None));
            }
            records.in_force().advance(number - 1);
            for held in number.saturating_sub(3)..=number {
                assert_eq!(lists.read(held, &records), Ok(Some(text(held))));
            }
        }
        // One that is in force is there.
        lists.write(15, "").expect("room");
        let lost = lists.read(11, &records).expect_err("it is in force").to_string();
        assert!(lost.contains("numbers: no list of change 11"), "{lost}");
    }

    #[test]
    fn what_was_not_written_as_a_whole_is_refused() {
        let text = "1 3 name 3/h burst=3\n";
        for change in 0..HEAD / WORD + text.len().div_ceil(WORD) {
            let (lists, records) = lists();
            lists.write(0, text).expect("room");
            let [held]: [u64; 1] = load(&lists.memory, change * WORD).expect("room");
            for other in [held ^ 1, held ^ 1 << 31, u64::MAX, 1 << 19] {
                store(&lists.memory, change * WORD, &[other]).expect("room");
                // Behind the head nothing but the text is read, and of the last word no more than that.
                let is_read = !(3..HEAD / WORD).contains(&change);
                let read = lists.read(0, &records);
                assert_eq!(read.is_err(), is_read && other != held, "word {change}: {read:?}");
            }
        }
    }

    #[test]
    fn a_text_is_printable_and_has_room() {
        let (lists, records) = lists();
        lists.write(0, &"x".repeat(MAX_TEXT)).expect("room");
        assert_eq!(lists.read(0, &records).map(|text| text.map(|text| text.len())), Ok(Some(MAX_TEXT)));
        let error = lists.write(1, &"x".repeat(MAX_TEXT + 1)).expect_err("no room").to_string();
        assert!(error.contains("524225 bytes of limits by name; expected at most 524224"), "{error}");
        for text in ["1 3 name \u{1b}[2J\n", "1 3 name 3/h\0", "\r\n", "µ"] {
            lists.write(0, text).expect("room");
            assert!(lists.read(0, &records).is_err(), "{text:?}");
        }
    }
}
