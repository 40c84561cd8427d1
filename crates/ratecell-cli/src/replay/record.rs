//! From a line of a log to a record: who asked, and when.

use std::str::FromStr;

use jiff::Timestamp;

use super::access_log::{AccessLine, LogField};
use super::selector::Selector;
use super::time::{ClfClock, TimeFormat};

/// Why a line is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// One request of a log.
#[derive(Clone, Copy, Debug)]
pub struct Record<'l> {
    /// Who asked.
    pub key: &'l [u8],
    /// When.
    pub time: Timestamp,
}

/// Where the key of a record is.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// A field of an access log.
    AccessLog(LogField),
    /// A part of any text.
    Selected(Selector),
}

impl FromStr for KeySource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, field)) = LogField::NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(Self::AccessLog(*field));
        }
        if text.contains(':') {
            return text.parse().map(Self::Selected);
        }
        let names = LogField::NAMES.map(|(name, _)| name).join(", ");
        Err(format!("expected {names}, {}", Selector::EXPECTED))
    }
}

/// Where the time of a record is.
#[derive(Clone, Debug)]
pub enum TimeSource {
    /// In the square brackets of an access log.
    AccessLog(ClfClock),
    /// In a part of any text, written so.
    Selected(Selector, TimeFormat),
}

/// Reads the lines of one log.
#[derive(Clone, Debug)]
pub struct RecordParser {
    /// Where the keys are.
    pub key: KeySource,
    /// Where the times are.
    pub time: TimeSource,
}

impl RecordParser {
    /// Reads one line, without its end.
    ///
    /// # Errors
    /// Says what a line that is no record lacks.
    pub fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Record<'l>, Malformed> {
        match (&self.key, &mut self.time) {
            (KeySource::AccessLog(field), TimeSource::AccessLog(clock)) => {
                let line = AccessLine::parse(line)?;
                Ok(Record { key: line.field(*field)?, time: clock.parse(line.time)? })
            }
            (KeySource::AccessLog(field), TimeSource::Selected(selector, format)) => Ok(Record {
                key: AccessLine::parse(line)?.field(*field)?,
                time: format.parse(selector.select(line)?)?,
            }),
            (KeySource::Selected(selector), TimeSource::AccessLog(clock)) => {
                Ok(Record { key: selector.select(line)?, time: clock.parse(AccessLine::parse(line)?.time)? })
            }
            (KeySource::Selected(key), TimeSource::Selected(time, format)) => {
                Ok(Record { key: key.select(line)?, time: format.parse(time.select(line)?)? })
            }
        }
    }
}
