//! AWS Application Load Balancer.

use super::{ReadLine, Stateless};
use crate::client::without_port;
use crate::number;
use crate::reason::{NoRecord, Reason};
use crate::record::Record;
use crate::text::{Mark, is_none, some, words};
use crate::time::{Zone, iso};

const PROTOCOLS: [&[u8]; 6] = [b"http", b"https", b"h2", b"grpcs", b"ws", b"wss"];

/// Places of fields, from 0.
const TIME: usize = 1;
const CLIENT: usize = 3;
const STATUS: usize = 8;
const BYTES: usize = 11;
const REQUEST: usize = 12;
const AGENT: usize = 13;
const SNI: usize = 18;
const CREATED: usize = 21;
const OTHERS: [(&str, usize); 4] = [("elb", 2), ("target_addr", 4), ("target_status", 9), ("trace_id", 17)];

pub(super) fn reader(zone: Zone) -> Box<dyn ReadLine> {
    Box::new(Stateless { read, zone })
}

fn read(text: &[u8], zone: Zone) -> Result<Record<'_>, NoRecord> {
    let words = words(text)?;
    if words.len() <= AGENT || !PROTOCOLS.contains(&&*words[0].text) || words[REQUEST].mark != Mark::Quoted {
        return Err(Reason::Fields.into());
    }
    let field = |place: usize| words.get(place).map(|word| word.text.clone());
    let word = |place: usize| words[place].text.clone();
    let mut record = Record::at(iso(&words[TIME].text, zone)?);
    record.client = Some(without_port(word(CLIENT)));
    if let Some(host) = field(SNI).and_then(some) {
        record.set_host(Some(host));
    }
    let request = word(REQUEST);
    let end = if request.starts_with(b"- ") && request.ends_with(b"- ") {
        request.len() - 2
    } else {
        request.len()
    };
    record.request_line = Some(crate::text::part(&request, 0..end));
    record.status = number::status(&words[STATUS].text)?;
    record.bytes = number::bytes(&words[BYTES].text, None)?;
    record.agent = some(word(AGENT));
    if let Some(created) = words.get(CREATED).filter(|word| !is_none(&word.text)) {
        let created = iso(&created.text, zone)?;
        record.duration_ns = Some(record.time.ns.saturating_sub(created.ns).into());
    }
    for (name, place) in OTHERS {
        if let Some(text) = field(place) {
            record.set_other(name.as_bytes(), text);
        }
    }
    Ok(record)
}
