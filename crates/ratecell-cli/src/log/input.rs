//! The logs: which files, in which formats, in which order.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use ratecell_logs::{
    Format, Line, Lines, Options, Reader, Reason, Recognised, SAMPLE_LINES, Skip, StampIs, counts_for_sample,
    recognise, try_format,
};

use super::args::LogArgs;
use super::digest::Digest;

/// Files from this size on take long enough to watch.
const LONG_LEN: u64 = 64 << 20;

/// So many malformed lines of a file are shown.
const MALFORMED_SHOWN: usize = 3;

/// All logs, the oldest first.
pub(crate) struct Inputs {
    pub(crate) files: Vec<Input>,
    pub(crate) progress: ProgressBar,
    /// The fewest digits that the stamps of a file have.
    pub(crate) coarsest_digits: u8,
}

/// An open log.
pub(crate) struct Input {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) format: Option<Format>,
    pub(crate) lines: Lines,
    /// None where there are no lines to read.
    pub(crate) reader: Option<Reader>,
    /// Of the seconds of its stamps.
    pub(crate) digits: u8,
    pub(crate) stamp: Option<StampIs>,
    /// Seconds east of UTC of the clock of its first stamp, if that is one of a clock.
    pub(crate) east_s: Option<i32>,
    /// Of its bytes, if it was asked for.
    pub(crate) digest: Option<Digest>,
    pub(crate) found: Found,
    pub(crate) warning: Option<String>,
    first_ns: Option<u64>,
}

/// What the lines of a file are.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) records: u64,
    pub(crate) skipped: BTreeMap<&'static str, u64>,
    pub(crate) malformed: BTreeMap<&'static str, u64>,
    pub(crate) first_malformed: Vec<Malformed>,
}

/// A malformed line.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) line: u64,
    pub(crate) reason: Reason,
    pub(crate) text: Vec<u8>,
}

/// More of a line is never shown.
const SHOWN_LEN: usize = 400;

impl Found {
    pub(crate) fn skip(&mut self, skip: Skip) {
        *self.skipped.entry(skip.code()).or_default() += 1;
    }

    pub(crate) fn malformed(&mut self, line: u64, reason: Reason, text: &[u8]) {
        *self.malformed.entry(reason.code()).or_default() += 1;
        if self.first_malformed.len() < MALFORMED_SHOWN {
            let text = text[..text.len().min(SHOWN_LEN)].to_vec();
            self.first_malformed.push(Malformed { line, reason, text });
        }
    }

    pub(crate) fn malformed_count(&self) -> u64 {
        self.malformed.values().sum()
    }

    pub(crate) fn skipped_count(&self) -> u64 {
        self.skipped.values().sum()
    }
}

/// What a log has of whose lines none was to be read.
pub(crate) fn no_lines(skipped: &BTreeMap<&'static str, u64>) -> &'static str {
    if skipped.contains_key(Skip::Comment.code()) { "no lines but comments" } else { "no lines" }
}

impl Inputs {
    /// Opens all files, of standard input where there are none. Those that are opened stay the same, also when
    /// they are renamed while others are read. With `has_digests` their bytes are digested.
    pub(crate) fn open(args: &LogArgs, has_digests: bool) -> Result<Self> {
        let options = args.options()?;
        let standard_input = [PathBuf::from("-")];
        let files = match &*args.files {
            [] if io::stdin().is_terminal() => {
                bail!("no FILE: expected a log, or one on standard input")
            }
            [] => &standard_input,
            files => files,
        };
        if files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
            bail!("`-` is given twice: expected standard input at most once");
        }
        let progress = progress(files)?;
        let open = |file: &PathBuf| {
            let digest = has_digests.then(Digest::default);
            Input::open(file, &progress, args.format.as_ref(), &options, digest)
        };
        let mut files = files.iter().map(open).collect::<Result<Vec<_>>>()?;
        files.sort_by_key(|file| file.first_ns);
        let coarsest_digits =
            files.iter().filter(|file| file.reader.is_some()).map(|file| file.digits).min().unwrap_or(0);
        Ok(Self { files, progress, coarsest_digits })
    }
}

/// A bar over the bytes of all files, if they take long and somebody watches.
fn progress(files: &[PathBuf]) -> Result<ProgressBar> {
    let len: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum();
    if len < LONG_LEN || !io::stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}")?;
    Ok(ProgressBar::new(len).with_style(style))
}

impl Input {
    fn open(
        file: &Path,
        progress: &ProgressBar,
        format: Option<&Format>,
        options: &Options,
        digest: Option<Digest>,
    ) -> Result<Self> {
        let name = name_of(file);
        let unreadable = || format!("{name}: cannot be read, expected a log file");
        let lines = if file == Path::new("-") {
            lines(io::stdin(), digest.as_ref())
        } else {
            let opened = File::open(file).with_context(unreadable)?;
            if opened.metadata().with_context(unreadable)?.is_dir() {
                bail!("{name}: is a directory, expected a log file");
            }
            lines(progress.wrap_read(opened), digest.as_ref())
        };
        let mut lines = match lines {
            Err(error) if error.kind() == ErrorKind::Unsupported => bail!("{name}: {error}"),
            lines => lines.with_context(unreadable)?,
        };
        let sample = lines.sample(SAMPLE_LINES, counts_for_sample).with_context(unreadable)?;
        let (format, warning) = match format {
            Some(format) => (Some(format.clone()), doubt(&name, format, options, &sample)),
            None if !sample.iter().any(|line| counts_for_sample(line)) => (None, None),
            None => (Some(recognised(&name, &recognise(&sample), options)?), None),
        };
        let mut found = Found::default();
        if format.is_none() {
            // None of them counts, so that the sample is the whole file.
            for line in &sample {
                found.skip(if line.contains(&b'#') { Skip::Comment } else { Skip::Blank });
            }
        }
        let reader = format.as_ref().map(|format| Reader::new(format, options));
        let mut input = Self {
            name,
            format,
            lines,
            reader,
            digits: 0,
            stamp: None,
            east_s: None,
            digest,
            found,
            warning,
            first_ns: None,
        };
        input.look_at(&sample, options);
        Ok(input)
    }

    /// Takes from the first lines what holds for the file: the time of its first record, what its stamps are, and the
    /// most digits that one of them has.
    fn look_at(&mut self, sample: &[Vec<u8>], options: &Options) {
        let Some(format) = &self.format else { return };
        let mut reader = Reader::new(format, options);
        for line in sample {
            if let Line::Record(record) = reader.line(line) {
                if self.first_ns.is_none() {
                    self.first_ns = Some(record.time_ns());
                    self.east_s = record.stamp_east_s();
                }
                self.stamp.get_or_insert(record.stamp_is());
                self.digits = self.digits.max(record.digits());
            }
        }
    }
}

/// The lines of `source`, which is digested if that was asked for.
fn lines(source: impl Read + 'static, digest: Option<&Digest>) -> io::Result<Lines> {
    match digest {
        Some(digest) => Lines::new(digest.reader(source)),
        None => Lines::new(source),
    }
}

fn recognised(name: &str, recognised: &Recognised, options: &Options) -> Result<Format> {
    let Recognised { best, read, tried } = recognised;
    let give =
        if options.has_pointers() { "--format json, which reads by --pointer" } else { "one with --format" };
    let not_recognised = || match best {
        None => {
            anyhow!("{name}: no known format reads any of its first {tried} lines: give {give}")
        }
        Some(best) => anyhow!(
            "{name}: its format is not recognised: the best one, {best}, reads {read} of {tried} lines, {} %: give {give}",
            read * 100 / tried.max(&1)
        ),
    };
    recognised.accepted().cloned().ok_or_else(not_recognised)
}

/// What is to be said of a format that the user gave and that does not fit.
fn doubt(name: &str, format: &Format, options: &Options, sample: &[Vec<u8>]) -> Option<String> {
    let (read, tried) = try_format(format, options, sample);
    (read * 2 < tried).then(|| format!("{name}: {format} reads only {read} of the first {tried} lines"))
}

/// What messages call a file.
fn name_of(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() }
}
