//! From a file to lines.

use std::io::{self, ErrorKind, Read};

use flate2::read::MultiGzDecoder;
use memchr::memchr;

use crate::reason::MAX_LINE_LEN;

/// What is read at once.
const CHUNK_LEN: usize = 1 << 18;

/// So much of a line is kept: a BOM and one byte more than a line may have, by which it is known as too long.
const KEPT_LEN: usize = MAX_LINE_LEN + 4;

/// Where a file that begins so is gzip.
const GZIP: &[u8] = &[0x1F, 0x8B];

/// How files begin that are packed by what is not read, and their names. After the level of bzip2 comes the mark of
/// a block or that of the end.
const PACKED: [(&[u8], &str); 3] =
    [(b"\xFD7zXZ\0", "xz"), (b"\x28\xB5\x2F\xFD", "zstd"), (b"PK\x03\x04", "zip")];

/// The longest beginning.
const MARK_LEN: u64 = 6;

/// The lines of a file, which gzip may have packed.
pub struct Lines {
    source: Box<dyn Read>,
    buffer: Vec<u8>,
    /// Where in the buffer the next line begins.
    start: usize,
    /// Where in the buffer what was read ends.
    end: usize,
    number: u64,
    at_end: bool,
    /// Whether lines that were read stay in the buffer.
    keeps: bool,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Lines {
    /// The lines of `source`.
    ///
    /// # Errors
    /// Its first bytes cannot be read; [`ErrorKind::Unsupported`] if they are those of xz, zstd, bzip2 or zip.
    pub fn new(mut source: impl Read + 'static) -> io::Result<Self> {
        let mut first = Vec::new();
        (&mut source).take(MARK_LEN).read_to_end(&mut first)?;
        if let Some(packer) = packer(&first) {
            return Err(io::Error::new(ErrorKind::Unsupported, format!("is {packer}: only gzip is read")));
        }
        let is_gzip = first.starts_with(GZIP);
        let source = io::Cursor::new(first).chain(source);
        Ok(Self {
            source: if is_gzip { Box::new(MultiGzDecoder::new(source)) } else { Box::new(source) },
            buffer: Vec::new(),
            start: 0,
            end: 0,
            number: 0,
            at_end: false,
            keeps: false,
        })
    }

    /// The next line, without its `\n`, and its number from 1; `None` at the end. Of a line that is too long,
    /// one that is too long as well.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn next_line(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        let mut searched = 0;
        let (line_end, next) = loop {
            if let Some(at) = memchr(b'\n', &self.buffer[self.start + searched..self.end]) {
                let line_end = self.start + searched + at;
                break (line_end, line_end + 1);
            }
            if self.at_end {
                if self.start == self.end {
                    return Ok(None);
                }
                break (self.end, self.end);
            }
            searched = (self.end - self.start).min(KEPT_LEN);
            self.end = self.start + searched;
            self.fill()?;
        };
        let line = self.start..line_end;
        self.start = next;
        self.number += 1;
        Ok(Some((self.number, &self.buffer[line])))
    }

    /// The number of the last line that was read.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The first lines: as many as `count` lets through `most` times. The next line is again the first one.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn sample(&mut self, most: usize, count: impl Fn(&[u8]) -> bool) -> io::Result<Vec<Vec<u8>>> {
        self.keeps = true;
        let sample = self.take_sample(most, count);
        (self.start, self.number, self.keeps) = (0, 0, false);
        sample
    }

    fn take_sample(&mut self, most: usize, count: impl Fn(&[u8]) -> bool) -> io::Result<Vec<Vec<u8>>> {
        let mut sample = Vec::new();
        let mut counted = 0;
        while counted < most {
            let Some((_, line)) = self.next_line()? else { break };
            counted += usize::from(count(line));
            sample.push(line.to_vec());
        }
        Ok(sample)
    }

    /// Reads on into the buffer, in which the line that has begun stays.
    fn fill(&mut self) -> io::Result<()> {
        if !self.keeps {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() < self.end + CHUNK_LEN / 2 {
            self.buffer.resize(self.end + CHUNK_LEN, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(len) => self.end += len,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

/// Which program has packed a file that begins so, if it is none that is read.
fn packer(first: &[u8]) -> Option<&'static str> {
    if let [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41] | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72] = first {
        return Some("bzip2");
    }
    PACKED.iter().find_map(|(mark, name)| first.starts_with(mark).then_some(*name))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Gives a few bytes at a time.
    struct Slow(io::Cursor<Vec<u8>>, usize);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(self.1);
            self.0.read(&mut buffer[..len])
        }
    }

    fn lines(text: &[u8], at_once: usize, sampled: usize) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(Slow(io::Cursor::new(text.to_vec()), at_once)).unwrap();
        let sample = lines.sample(sampled, |_| true).unwrap();
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next_line().unwrap() {
            all.push(line.to_vec());
            assert_eq!(number, all.len() as u64);
        }
        assert_eq!(sample, all[..sampled.min(all.len())]);
        all
    }

    #[test]
    fn lines_are_the_same_however_they_are_read() {
        let text = b"one\n\ntwo\r\n# three\nfour";
        for at_once in 1..=text.len() {
            for sampled in 0..7 {
                let expected = [&b"one"[..], b"", b"two\r", b"# three", b"four"];
                assert_eq!(lines(text, at_once, sampled), expected);
            }
        }
        assert!(lines(b"", 1, 1).is_empty());
        assert_eq!(lines(b"\n", 1, 0), [b""]);
    }

    #[test]
    fn a_sample_that_fails_takes_no_line() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(b"one\ntwo\n").unwrap();
        let mut packed = packer.finish().unwrap();
        *packed.last_mut().unwrap() ^= 1;
        let mut lines = Lines::new(io::Cursor::new(packed)).unwrap();
        lines.sample(3, |_| true).unwrap_err();
        assert_eq!(lines.next_line().unwrap(), Some((1, &b"one"[..])));
        assert_eq!(lines.next_line().unwrap(), Some((2, &b"two"[..])));
    }

    #[test]
    fn a_line_that_is_too_long_takes_no_memory() {
        let text = ["a".repeat(9 * MAX_LINE_LEN).as_bytes(), b"\nb\n"].concat();
        for sampled in [0, 2] {
            let mut lines = Lines::new(io::Cursor::new(text.clone())).unwrap();
            lines.sample(sampled, |_| true).unwrap();
            let (_, long) = lines.next_line().unwrap().unwrap();
            assert!(long.len() > MAX_LINE_LEN && long.iter().all(|byte| *byte == b'a'));
            assert_eq!(lines.next_line().unwrap(), Some((2, &b"b"[..])));
            assert!(lines.buffer.len() < 2 * MAX_LINE_LEN, "{}", lines.buffer.len());
        }
    }
}
