//! From the lines of a file to records.

use std::borrow::Cow;

use crate::formats::{Format, Options, ReadLine};
use crate::reason::{MAX_LINE_LEN, NoRecord, Reason, Skip};
use crate::record::{Record, StampIs};
use crate::text::trim_blank;
use crate::wrapper::Unwrapper;

pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What a line of a log is.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every line is a record")]
pub enum Line<'l> {
    /// A request.
    Record(Record<'l>),
    /// No request, and no fault.
    Skipped(Skip),
    /// A line that should be a request.
    Malformed(Reason),
}

/// Reads the lines of one file, in their order: lines can say what later ones mean.
#[derive(Debug)]
pub struct Reader {
    unwrapper: Unwrapper,
    format: Box<dyn ReadLine>,
    stamp: StampIs,
    inside: Vec<u8>,
}

impl Reader {
    /// A reader at the beginning of a file.
    #[must_use]
    pub fn new(format: &Format, options: &Options) -> Self {
        Self {
            unwrapper: Unwrapper::new(format.wrapper),
            format: format.reader(options),
            stamp: format.stamp_is(),
            inside: Vec::new(),
        }
    }

    /// Reads one line, without its `\n`.
    pub fn line<'l>(&'l mut self, line: &'l [u8]) -> Line<'l> {
        match self.read(line) {
            Ok(record) => Line::Record(record),
            Err(NoRecord::Skipped(skip)) => Line::Skipped(skip),
            Err(NoRecord::Malformed(reason)) => Line::Malformed(reason),
        }
    }

    fn read<'l>(&'l mut self, line: &'l [u8]) -> Result<Record<'l>, NoRecord> {
        let line = line.strip_prefix(BOM).unwrap_or(line);
        if line.len() > MAX_LINE_LEN {
            return Err(Reason::TooLong.into());
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if is_blank(line) {
            return Err(Skip::Blank.into());
        }
        let text = match self.unwrapper.open(line)? {
            Cow::Borrowed(text) => text,
            Cow::Owned(text) => {
                self.inside = text;
                &self.inside
            }
        };
        match text.iter().find(|byte| !matches!(byte, b' ' | b'\t')) {
            None => Err(Skip::Blank.into()),
            Some(b'#') => {
                self.format.comment(trim_blank(text));
                Err(Skip::Comment.into())
            }
            Some(_) => {
                let mut record = self.format.read(text)?;
                record.stamp.get_or_insert(self.stamp);
                Ok(record)
            }
        }
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t'))
}
