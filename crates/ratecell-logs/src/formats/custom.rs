//! Lines by the user's own format string.

use std::borrow::Cow;

use memchr::memmem;

use super::ReadLine;
use super::parts::{Part, Parts, Role, TextField, TimeForm};
use crate::client::host;
use crate::number::{self, duration_ns};
use crate::reason::{NoRecord, Reason};
use crate::record::{Field, Record};
use crate::text::{Text, is_none, some, unescape};
use crate::time::{Time, Zone, clf, iso, unix};

/// A reader of a format string.
#[derive(Debug)]
pub(super) struct Custom {
    parts: Parts,
    zone: Zone,
}

impl Custom {
    pub(super) fn new(parts: &Parts, zone: Zone) -> Self {
        Self { parts: parts.clone(), zone }
    }
}

impl ReadLine for Custom {
    fn read<'l>(&'l mut self, text: &'l [u8]) -> Result<Record<'l>, NoRecord> {
        let mut record = Record::at(Time { ns: 0, digits: 0, east: None });
        let mut has_time = false;
        let mut has_bytes = false;
        let mut rest = text;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            let (role, name) = match part {
                Part::Literal(literal) => {
                    rest = rest.strip_prefix(literal.as_bytes()).ok_or(Reason::Literal)?;
                    continue;
                }
                Part::Field { role, name } => (*role, name),
            };
            let end = match parts.peek() {
                Some(Part::Literal(stop)) => field_end(rest, role, stop.as_bytes()).ok_or(Reason::Literal)?,
                _ => rest.len(),
            };
            let value = unescape(&rest[..end]);
            rest = &rest[end..];
            match role {
                Some(Role::Time(form)) => {
                    if !has_time || (form == TimeForm::Unix && record.time.digits < 3) {
                        record.time = time(&value, form, self.zone)?;
                        has_time = true;
                    }
                }
                Some(Role::Bytes) => {
                    if !has_bytes {
                        record.bytes = number::bytes(&value, Some(0))?;
                        has_bytes = true;
                    }
                }
                Some(Role::Host) => {
                    if !record.host_is_said {
                        record.set_host(host(value));
                    }
                }
                Some(Role::Duration(unit)) => record.duration_ns = duration_ns(&value, unit),
                Some(Role::Request) => {
                    record.request_line = Some(value);
                    take_host_of_target(&mut record);
                }
                Some(Role::Target) => {
                    if !is_none(&value) {
                        record.target = Some(value);
                        take_host_of_target(&mut record);
                    }
                }
                Some(Role::Status) => record.status = number::status(&value)?,
                Some(Role::Text(field)) => *slot(&mut record, field) = some(value),
                None => set_named(&mut record, name, value),
            }
        }
        if rest.is_empty() { Ok(record) } else { Err(Reason::Literal.into()) }
    }
}

/// The first field that names a host counts, be it that of a target.
fn take_host_of_target(record: &mut Record<'_>) {
    if !record.host_is_said
        && let Some(host) = record.host_of_target()
    {
        record.set_host(host);
    }
}

/// Where a field ends: before the literal that follows it.
fn field_end(text: &[u8], role: Option<Role>, stop: &[u8]) -> Option<usize> {
    // The colons of `[::1]:443` are its own.
    let is_node = matches!(role, Some(Role::Host | Role::Text(TextField::Client)));
    let from = match memchr::memchr(b']', text) {
        Some(close) if is_node && text.starts_with(b"[") => close,
        _ => 0,
    };
    // Where the literal begins with a quote, an escaped one does not end the value.
    let is_escaped = |end: usize| {
        let backslashes = text[..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        stop[0] == b'"' && backslashes % 2 == 1
    };
    let mut end = from + memmem::find(&text[from..], stop)?;
    while is_escaped(end) {
        end += 1 + memmem::find(&text[end + 1..], stop)?;
    }
    Some(end)
}

fn time(text: &[u8], form: TimeForm, zone: Zone) -> Result<Time, Reason> {
    match form {
        TimeForm::Clf => clf(text, zone),
        TimeForm::Iso => iso(text, zone),
        TimeForm::Unix => unix(text),
    }
}

fn slot<'r, 'l>(record: &'r mut Record<'l>, field: TextField) -> &'r mut Option<Text<'l>> {
    match field {
        TextField::Client => &mut record.client,
        TextField::User => &mut record.user,
        TextField::Referer => &mut record.referer,
        TextField::Agent => &mut record.agent,
        TextField::Method => &mut record.method,
        TextField::Protocol => &mut record.protocol,
    }
}

/// A field without a meaning goes under its name, be it that of a field with one.
fn set_named<'l>(record: &mut Record<'l>, name: &'l str, value: Text<'l>) {
    match Field::named(name) {
        Field::Client => record.client = Some(value),
        Field::User => record.user = Some(value),
        Field::Method => record.method = Some(value),
        Field::Protocol => record.protocol = Some(value),
        Field::Referer => record.referer = Some(value),
        Field::Agent => record.agent = Some(value),
        _ => record.set_other(Cow::Borrowed(name.as_bytes()), value),
    }
}
