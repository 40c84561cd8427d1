//! The default text format of Envoy.

use super::{ReadLine, Stateless};
use crate::client::{host, last_hop};
use crate::number::{self, Unit, duration_ns};
use crate::reason::{NoRecord, Reason};
use crate::record::Record;
use crate::text::{Mark, Word, is_digits, some, words};
use crate::time::{Zone, iso};

/// Places of fields, from 0.
const REQUEST: usize = 1;
const STATUS: usize = 2;
const FLAGS: usize = 3;
/// X-Forwarded-For, agent, request id, authority and upstream, all quoted.
const TAIL: usize = 5;

pub(super) fn reader(zone: Zone) -> Box<dyn ReadLine> {
    Box::new(Stateless { read, zone })
}

fn read(text: &[u8], zone: Zone) -> Result<Record<'_>, NoRecord> {
    let words = words(text)?;
    let (head, tail) = words.split_at(words.len().saturating_sub(TAIL));
    let quoted = |word: &Word<'_>| word.mark == Mark::Quoted;
    let [forwarded, agent, id, authority, upstream] = tail else { return Err(Reason::Fields.into()) };
    if words.len() < 12
        || words[0].mark != Mark::Bracketed
        || !quoted(&words[REQUEST])
        || !tail.iter().all(quoted)
    {
        return Err(Reason::Fields.into());
    }
    let mut record = Record::at(iso(&words[0].text, zone)?);
    record.set_host(host(authority.text.clone()));
    record.request_line = Some(words[REQUEST].text.clone());
    record.status = number::status(&words[STATUS].text)?;
    // Received and sent bytes, the duration, and perhaps the upstream's; before them there can be more.
    let is_figure = |text: &[u8]| is_digits(text) || text == b"-";
    let figures: Vec<_> = head[FLAGS + 1..].iter().filter(|word| is_figure(&word.text)).collect();
    let figures = &figures[figures.len().saturating_sub(4)..];
    let [_, sent, duration, ..] = figures else { return Err(Reason::Fields.into()) };
    record.bytes = number::bytes(&sent.text, None)?;
    record.duration_ns = duration_ns(&duration.text, Unit::Ms);
    let forwarded = some(forwarded.text.clone());
    record.client = last_hop(forwarded.clone());
    record.agent = some(agent.text.clone());
    record.set_other(b"flags".as_slice(), words[FLAGS].text.clone());
    record.set_other(b"request_id".as_slice(), id.text.clone());
    record.set_other(b"upstream".as_slice(), upstream.text.clone());
    if let Some(forwarded) = forwarded {
        record.set_other(b"x_forwarded_for".as_slice(), forwarded);
    }
    Ok(record)
}
