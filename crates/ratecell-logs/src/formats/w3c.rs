//! W3C extended logs, of IIS and CloudFront: `#Fields:` says what the columns are.

use std::borrow::Cow;

use memchr::memchr;

use super::ReadLine;
use crate::client::host;
use crate::number::{self, Unit, duration_ns};
use crate::reason::{NoRecord, Reason};
use crate::record::Record;
use crate::text::{Text, is_none, split_once};
use crate::time::{Time, iso, unix};

/// A reader, with what the directives have said.
#[derive(Debug, Default)]
pub(super) struct W3c {
    columns: Option<Vec<Vec<u8>>>,
    date: Option<Vec<u8>>,
}

impl ReadLine for W3c {
    fn read<'l>(&'l mut self, text: &'l [u8]) -> Result<Record<'l>, NoRecord> {
        let columns = self.columns.as_deref().ok_or(Reason::NoFields)?;
        let separator = if memchr(b'\t', text).is_some() { b'\t' } else { b' ' };
        let mut values: Vec<_> = text.split(|byte| *byte == separator).collect();
        if values.len() == columns.len() + 1 && values.last().is_some_and(|last| last.is_empty()) {
            values.pop();
        }
        if values.len() != columns.len() {
            return Err(Reason::Fields.into());
        }
        let row = Row { columns, values };
        let mut record = Record::at(row.time(self.date.as_deref())?);
        if let Some(client) = row.text(&[b"c-ip"]) {
            // IIS writes the scope.
            record.client = Some(split_once(client, b'%').map_or(client, |(address, _)| address).into());
        }
        let text = |names: &[&[u8]]| row.text(names).map(Cow::Borrowed);
        record.user = text(&[b"cs-username"]);
        record.method = text(&[b"cs-method"]);
        if let Some(named) = text(&[b"x-host-header", b"cs-host", b"cs(Host)"]) {
            record.set_host(host(named));
        }
        if let Some(target) = row.target() {
            record.target = Some(target);
        }
        record.status = number::status(row.text(&[b"sc-status"]).unwrap_or(b"-"))?;
        record.bytes = number::bytes(row.text(&[b"sc-bytes"]).unwrap_or(b"-"), None)?;
        record.agent = text(&[b"cs(User-Agent)"]);
        record.referer = text(&[b"cs(Referer)"]);
        record.protocol = text(&[b"cs-version", b"cs-protocol-version"]);
        if row.get(&[b"cs-version"]).is_none()
            && let Some(scheme) = text(&[b"cs-protocol"])
        {
            record.set_other(b"scheme".as_slice(), scheme);
        }
        if let Some(taken) = row.text(&[b"time-taken"]) {
            // IIS writes whole milliseconds, CloudFront seconds with a point.
            let unit = if memchr(b'.', taken).is_some() { Unit::S } else { Unit::Ms };
            record.duration_ns = duration_ns(taken, unit);
        }
        Ok(record)
    }

    fn comment(&mut self, text: &[u8]) {
        let text = text.strip_prefix(b"#").unwrap_or(text);
        let (name, rest) = split_once(text, b':').unwrap_or((text, &[]));
        let mut words =
            rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(<[u8]>::to_vec);
        match name.trim_ascii().to_ascii_lowercase().as_slice() {
            b"fields" => self.columns = Some(words.collect()),
            b"date" => self.date = words.next(),
            _ => {}
        }
    }
}

/// A line by its columns.
struct Row<'l> {
    columns: &'l [Vec<u8>],
    values: Vec<&'l [u8]>,
}

impl<'l> Row<'l> {
    /// The value of the first of `names` that there is a column for.
    fn get(&self, names: &[&[u8]]) -> Option<&'l [u8]> {
        let place = |name: &&[u8]| self.columns.iter().rposition(|column| column == name);
        names.iter().find_map(place).map(|place| self.values[place])
    }

    /// The same, if it has a value.
    fn text(&self, names: &[&[u8]]) -> Option<&'l [u8]> {
        self.get(names).filter(|text| !is_none(text))
    }

    /// W3C times are UTC.
    fn time(&self, date: Option<&[u8]>) -> Result<Time, Reason> {
        if let Some(time) = self.get(&[b"time"]) {
            let date = self.get(&[b"date"]).or(date).ok_or(Reason::NoTime)?;
            return iso(&[date, b" ", time].concat(), Some(0));
        }
        let ms = self.get(&[b"timestamp(ms)"]).filter(|ms| !ms.is_empty());
        let ms_or_s = ms.or_else(|| self.get(&[b"timestamp"]));
        match ms_or_s.or_else(|| self.get(&[b"timestamp(ms)"])) {
            Some(text) => unix(text),
            None => Err(Reason::NoTime),
        }
    }

    fn target(&self) -> Option<Text<'l>> {
        let Some(stem) = self.text(&[b"cs-uri-stem"]) else {
            return self.text(&[b"cs-uri"]).map(Cow::Borrowed);
        };
        Some(match self.text(&[b"cs-uri-query"]) {
            None => Cow::Borrowed(stem),
            Some(query) => Cow::Owned([stem, b"?", query].concat()),
        })
    }
}
