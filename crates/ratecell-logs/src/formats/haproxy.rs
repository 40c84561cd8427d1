//! HAProxy's `option httplog`.

use std::borrow::Cow;

use memchr::memchr;

use super::{ReadLine, Stateless};
use crate::number::{self, Unit, duration_ns};
use crate::reason::{NoRecord, Reason};
use crate::record::Record;
use crate::text::{Scan, Text, hex, is_digits, rsplit_once, some, split_once, trim_start};
use crate::time::{Zone, clf};

const CAPTURES: [&str; 2] = ["captured_request", "captured_response"];

pub(super) fn reader(zone: Zone) -> Box<dyn ReadLine> {
    Box::new(Stateless { read, zone })
}

/// What stands in a line.
struct Parts<'l> {
    client: &'l [u8],
    time: &'l [u8],
    frontend: &'l [u8],
    backend: &'l [u8],
    timers: &'l [u8],
    status: &'l [u8],
    bytes: &'l [u8],
    termination: &'l [u8],
    captures: [Option<&'l [u8]>; 2],
    request: &'l [u8],
}

fn read(text: &[u8], zone: Zone) -> Result<Record<'_>, NoRecord> {
    let parts = parts(text).ok_or(Reason::Fields)?;
    let mut record = Record::at(clf(parts.time, zone)?);
    record.client = some(Cow::Borrowed(parts.client));
    record.request_line = Some(unescape_hashes(parts.request));
    record.status = number::status(parts.status)?;
    record.bytes = number::bytes(trim_start(parts.bytes, b'+'), None)?;
    let total = rsplit_once(parts.timers, b'/').map_or(parts.timers, |(_, total)| total);
    record.duration_ns = duration_ns(trim_start(total, b'+'), Unit::Ms);
    record.set_other(b"frontend".as_slice(), parts.frontend.into());
    record.set_other(b"backend".as_slice(), parts.backend.into());
    record.set_other(b"termination".as_slice(), parts.termination.into());
    for (name, capture) in CAPTURES.iter().zip(parts.captures) {
        if let Some(capture) = capture {
            record.set_other(name.as_bytes(), capture.into());
        }
    }
    Ok(record)
}

fn parts(text: &[u8]) -> Option<Parts<'_>> {
    let scan = &mut Scan::of(text);
    // The address and the port; IPv6 has no brackets here.
    let (client, port) = rsplit_once(scan.word()?, b':')?;
    scan.literal(b" [")?;
    let time = scan.some_of(|byte| byte != b']')?;
    scan.literal(b"] ")?;
    let frontend = next(scan)?;
    let backend = next(scan)?;
    let timers = next(scan).filter(|timers| timers.iter().all(|byte| b"-+/0123456789".contains(byte)))?;
    let status = next(scan).filter(|status| is_digits(status.strip_prefix(b"-").unwrap_or(status)))?;
    let bytes = next(scan).filter(|bytes| bytes.iter().all(|byte| b"+0123456789".contains(byte)))?;
    let _cookies = (next(scan)?, next(scan)?);
    let termination = next(scan).filter(|termination| chars(termination) == 4)?;
    next(scan).filter(|counts| counts.iter().all(|byte| b"-+/0123456789".contains(byte)))?;
    scan.some_of(|byte| b"/0123456789".contains(&byte))?;
    let mut captures = [None; 2];
    for capture in &mut captures {
        if let Some(rest) = scan.rest.strip_prefix(b" {") {
            let (inside, rest) = split_once(rest, b'}')?;
            (*capture, scan.rest) = (Some(inside), rest);
        }
    }
    scan.literal(b" \"")?;
    // A request that was cut has lost its quote.
    let end = memchr(b'"', scan.rest).unwrap_or(scan.rest.len());
    let request = &scan.rest[..end];
    let parts =
        Parts { client, time, frontend, backend, timers, status, bytes, termination, captures, request };
    is_digits(port).then_some(parts)
}

/// How many characters, each byte that is of none as one more.
fn chars(text: &[u8]) -> usize {
    text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
}

/// A word and the space after it.
fn next<'l>(scan: &mut Scan<'l>) -> Option<&'l [u8]> {
    let word = scan.word()?;
    scan.literal(b" ")?;
    Some(word)
}

/// `#HH` is a byte that HAProxy does not write as it is, `"` and `#` among them.
fn unescape_hashes(text: &[u8]) -> Text<'_> {
    if memchr(b'#', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let (byte, after) = match (first, after) {
            (b'#', [high, low, after @ ..]) => match hex(*high, *low) {
                Some(byte) => (byte, after),
                None => (*first, &rest[1..]),
            },
            _ => (*first, after),
        };
        out.push(byte);
        rest = after;
    }
    Cow::Owned(out)
}
