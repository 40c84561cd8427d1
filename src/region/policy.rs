//! The policy section: the policy of the region's maker, which whoever attaches without one follows.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 to 7 | g: how often the policy was changed |
//! | 8 to 79 | zeros |
//! | 80 to 87 | a digest of the boundaries of its calendars, by the maker's rules of their zones; 0 without a calendar |
//! | 88 to 127 | zeros |
//! | 128 on | four records of 2,048 bytes; that of g is the one numbered g modulo 4 |
//!
//! | bytes of a record | what |
//! | --- | --- |
//! | 0 to 15 | g; `at`, from when on it holds |
//! | 16 to 31 | the length of the text; a checksum over all else that is in the record |
//! | 32 to 2,031 | the text, and zeros |
//! | 2,032 to 2,047 | zeros |
//!
//! No policy changes, so g is 0, and the other records are zeros.

use super::{checksum, load, store};
use crate::error::RegionError;
use crate::memory::Memory;

/// The bytes before the records.
const HEAD: usize = 128;
const ZONE_RULES: usize = 80;
const RECORD: usize = 2_048;
const RECORDS: usize = 4;
pub(super) const BYTES: usize = HEAD + RECORDS * RECORD;
/// Of the text, in bytes.
pub(crate) const MAX_TEXT: usize = 2_000;

const RECORD_WORDS: usize = RECORD / size_of::<u64>();
const LENGTH: usize = 2;
const CHECKSUM: usize = 3;
const TEXT: usize = 4;

type Record = [u64; RECORD_WORDS];

fn sealed(record: &Record) -> u64 {
    let [g, at, length, _, rest @ ..] = record;
    let mut words = vec![*g, *at, *length];
    words.extend(rest);
    checksum(&words)
}

/// Writes a policy, and the digest of its calendars, into a section of zeros.
pub(super) fn write(memory: &Memory, at: usize, text: &str, zone_rules: u64) -> Option<()> {
    let mut record: Record = [0; RECORD_WORDS];
    if text.len() > MAX_TEXT {
        return None;
    }
    record[LENGTH] = text.len() as u64;
    for (word, bytes) in record[TEXT..].iter_mut().zip(text.as_bytes().chunks(size_of::<u64>())) {
        let mut padded = [0; size_of::<u64>()];
        padded.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        *word = u64::from_ne_bytes(padded);
    }
    record[CHECKSUM] = sealed(&record);
    store(memory, at + ZONE_RULES, &[zone_rules])?;
    store(memory, at + HEAD, &record)
}

/// The digest of the calendars of the policy, by its maker's rules of their zones; 0 without a calendar.
pub(super) fn zone_rules(memory: &Memory, at: usize) -> Result<u64, RegionError> {
    let [digest] = load(memory, at + ZONE_RULES).ok_or(RegionError::Corrupt)?;
    Ok(digest)
}

/// The text of the policy that holds.
pub(super) fn read(memory: &Memory, at: usize) -> Result<String, RegionError> {
    let damaged =
        |reason: &str| RegionError::Section { section: "policy".to_owned(), reason: reason.to_owned() };
    let [g]: [u64; 1] = load(memory, at).ok_or(RegionError::Corrupt)?;
    let record: Record = load(memory, at + HEAD).ok_or(RegionError::Corrupt)?;
    if g != 0 || record[0] != 0 {
        return Err(damaged(&format!(
            "changed {} times; expected a policy as it was made",
            g.max(record[0])
        )));
    }
    if record[CHECKSUM] != sealed(&record) {
        return Err(damaged("a text that its checksum is not of; expected one that was written as a whole"));
    }
    let bytes: Vec<u8> = record[TEXT..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let length = usize::try_from(record[LENGTH]).ok().filter(|length| *length <= MAX_TEXT);
    let text = length.and_then(|length| bytes.get(..length)).and_then(|text| core::str::from_utf8(text).ok());
    // Errors quote it: no control character of a file gets into a log or onto a terminal.
    let text = text.filter(|text| text.bytes().all(|byte| matches!(byte, b' '..=b'~')));
    text.map(str::to_owned).ok_or_else(|| damaged("no text; expected at most 2000 bytes of printable ASCII"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_not_to_be_printed_is_not_read() {
        let read_back = |text: &str| {
            let memory = Memory::private(BYTES).expect("memory");
            write(&memory, 0, text, 0).expect("room");
            read(&memory, 0)
        };
        assert_eq!(read_back("3/h burst=9").as_deref(), Ok("3/h burst=9"));
        for text in ["3/h\u{1b}[2J", "3/h\0", "3/h\n", "3/\u{7f}", "3/µs"] {
            let error = read_back(text).expect_err(text).to_string();
            assert!(error.contains("printable ASCII"), "{error}");
        }
    }
}
