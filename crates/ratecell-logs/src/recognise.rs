//! Which format the lines of a file have.

use crate::formats::{Format, Options};

use crate::reader::{BOM, Line, Reader};
use crate::reason::{Reason, Skip};

/// Lines that are neither blank nor comments, from which a format is recognised.
pub const SAMPLE_LINES: usize = 200;

/// The format that reads most of a sample.
#[derive(Clone, Debug)]
pub struct Recognised {
    /// The best format; `None` if none reads a line.
    pub best: Option<Format>,
    /// Lines that it reads.
    pub read: u64,
    /// Lines that it should read.
    pub tried: u64,
}

impl Recognised {
    /// The format, if it reads at least 80 % of the lines.
    #[must_use]
    pub fn accepted(&self) -> Option<&Format> {
        self.best.as_ref().filter(|_| self.read * 10 >= self.tried * 8)
    }
}

/// Whether a line counts for [`SAMPLE_LINES`].
#[must_use]
pub fn counts_for_sample(line: &[u8]) -> bool {
    let line = line.strip_prefix(BOM).unwrap_or(line);
    let first = line.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    first.is_some_and(|byte| *byte != b'#')
}

/// Recognises the format of a file from its first lines.
#[must_use]
pub fn recognise(sample: &[Vec<u8>]) -> Recognised {
    let counting = sample.iter().filter(|line| counts_for_sample(line)).count();
    let mut best = Recognised { best: None, read: 0, tried: u64::try_from(counting).unwrap_or(u64::MAX) };
    for format in Format::all() {
        let (read, tried) = try_format(&format, &Options::default(), sample);
        let (left, right) = (read * best.tried, best.read * tried);
        if read > 0 && (best.best.is_none() || left > right || (left == right && read > best.read)) {
            best = Recognised { best: Some(format), read, tried };
        }
    }
    best
}

/// How many lines of a sample a format reads, and how many it should read.
#[must_use]
pub fn try_format(format: &Format, options: &Options, sample: &[Vec<u8>]) -> (u64, u64) {
    let mut reader = Reader::new(format, options);
    let (mut read, mut tried) = (0, 0);
    for line in sample {
        match reader.line(line) {
            Line::Record(_) | Line::Malformed(Reason::NoZone) => (read, tried) = (read + 1, tried + 1),
            Line::Malformed(_) => tried += 1,
            Line::Skipped(Skip::Blank | Skip::Comment | Skip::Part | Skip::Other) => {}
        }
    }
    (read, tried)
}
