//! The log as lines of bytes, from a file or standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

const BUFFER_LEN: usize = 1 << 18;

/// A line is read up to here, so that a file without line ends does not fill the memory. Servers cut
/// their request lines long before.
const MAX_LINE_LEN: usize = 1 << 16;

/// A file from this size on takes long enough to watch.
const LONG_FILE_LEN: u64 = 64 << 20;

/// An open log.
pub(crate) struct Input {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) progress: ProgressBar,
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    line_number: u64,
}

impl Input {
    pub(crate) fn open(file: Option<&Path>) -> Result<Self> {
        match file {
            Some(path) if path != Path::new("-") => Self::file(path),
            None if io::stdin().is_terminal() => bail!("no FILE: expected a log, or one on standard input"),
            _ => {
                let reader = BufReader::with_capacity(BUFFER_LEN, io::stdin());
                Ok(Self::of("standard input".to_owned(), ProgressBar::hidden(), Box::new(reader)))
            }
        }
    }

    fn file(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let unreadable = || format!("{name}: cannot be read, expected a log file");
        let file = File::open(path).with_context(unreadable)?;
        let metadata = file.metadata().with_context(unreadable)?;
        if metadata.is_dir() {
            bail!("{name}: is a directory, expected a log file");
        }
        let progress = if metadata.len() >= LONG_FILE_LEN && io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}")?;
            ProgressBar::new(metadata.len()).with_style(style)
        } else {
            ProgressBar::hidden()
        };
        let reader = BufReader::with_capacity(BUFFER_LEN, progress.wrap_read(file));
        Ok(Self::of(name, progress, Box::new(reader)))
    }

    fn of(name: String, progress: ProgressBar, reader: Box<dyn BufRead>) -> Self {
        Self { name, progress, reader, line: Vec::new(), line_number: 0 }
    }

    /// The next line and its number from 1; `None` at the end. A line longer than [`MAX_LINE_LEN`] is
    /// cut there.
    pub(crate) fn next_line(&mut self) -> Result<Option<(u64, &[u8])>> {
        let unreadable = || format!("{}: cannot be read after line {}", self.name, self.line_number);
        self.line.clear();
        let len = (&mut self.reader)
            .take(MAX_LINE_LEN as u64)
            .read_until(b'\n', &mut self.line)
            .with_context(unreadable)?;
        if len == 0 {
            return Ok(None);
        }
        match self.line.strip_suffix(b"\n") {
            Some(line) => {
                let len = line.strip_suffix(b"\r").unwrap_or(line).len();
                self.line.truncate(len);
            }
            None if len == MAX_LINE_LEN => {
                self.reader.skip_until(b'\n').with_context(unreadable)?;
            }
            None => {}
        }
        self.line_number += 1;
        Ok(Some((self.line_number, &self.line)))
    }
}
