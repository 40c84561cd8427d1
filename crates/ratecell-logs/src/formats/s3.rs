//! S3 server access log.

use super::{ReadLine, Stateless};
use crate::number::{self, Unit, duration_ns};
use crate::reason::{NoRecord, Reason};
use crate::record::Record;
use crate::text::{Mark, some, words};
use crate::time::{Zone, clf};

/// Places of fields, from 0.
const TIME: usize = 2;
const CLIENT: usize = 3;
const REQUESTER: usize = 4;
const REQUEST: usize = 8;
const STATUS: usize = 9;
const BYTES: usize = 11;
const TOTAL_TIME: usize = 13;
const REFERER: usize = 15;
const AGENT: usize = 16;
const HOST: usize = 22;
const OTHERS: [(&str, usize); 3] = [("bucket", 1), ("operation", 6), ("object", 7)];

pub(super) fn reader(zone: Zone) -> Box<dyn ReadLine> {
    Box::new(Stateless { read, zone })
}

fn read(text: &[u8], zone: Zone) -> Result<Record<'_>, NoRecord> {
    let words = words(text)?;
    if words.len() <= AGENT
        || words[TIME].mark != Mark::Bracketed
        || (words[REQUEST].mark != Mark::Quoted && *words[REQUEST].text != *b"-")
    {
        return Err(Reason::Fields.into());
    }
    let word = |place: usize| words[place].text.clone();
    let mut record = Record::at(clf(&words[TIME].text, zone)?);
    record.client = some(word(CLIENT));
    record.user = some(word(REQUESTER));
    if let Some(host) = words.get(HOST) {
        record.set_host(some(host.text.clone()));
    }
    record.request_line = Some(word(REQUEST));
    record.status = number::status(&words[STATUS].text)?;
    record.bytes = number::bytes(&words[BYTES].text, Some(0))?;
    record.duration_ns = duration_ns(&words[TOTAL_TIME].text, Unit::Ms);
    record.referer = some(word(REFERER));
    record.agent = some(word(AGENT));
    for (name, place) in OTHERS {
        record.set_other(name.as_bytes(), word(place));
    }
    Ok(record)
}
