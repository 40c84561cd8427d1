//! Caddy's JSON lines.

use super::ReadLine;
use crate::client::{host, without_port};
use crate::json::{Pointer, parse};
use crate::number::{self, Unit, duration_ns};
use crate::reason::{NoRecord, Reason, Skip};
use crate::record::Record;
use crate::text::some;
use crate::time::{Time, Zone, any};

/// A reader of the format.
#[derive(Debug)]
pub(super) struct Caddy {
    zone: Zone,
    agent: Option<Pointer>,
    referer: Option<Pointer>,
    /// The line once more, where its escapes had to be changed.
    repaired: Vec<u8>,
}

impl Caddy {
    pub(super) fn new(zone: Zone) -> Self {
        let header = |name: &str| Pointer::parse(&format!("/headers/{name}/0"));
        Self { zone, agent: header("User-Agent"), referer: header("Referer"), repaired: Vec::new() }
    }
}

impl ReadLine for Caddy {
    fn read<'l>(&'l mut self, text: &'l [u8]) -> Result<Record<'l>, NoRecord> {
        let object = parse(text, &mut self.repaired)?;
        let Some(request) = object.get(b"request").and_then(|request| request.object()) else {
            let is_message = object.get(b"level").is_some() && object.get(b"msg").is_some();
            return Err(if is_message { Skip::Other.into() } else { Reason::Fields.into() });
        };
        let of_request = |name: &[u8]| request.scalar(name);
        let mut record = Record::at(time(&object.scalar(b"ts").ok_or(Reason::NoTime)?, self.zone)?);
        let clients = [b"client_ip".as_slice(), b"remote_ip", b"remote_addr"];
        let client = clients.into_iter().find_map(|name| of_request(name).filter(|text| !text.is_empty()));
        record.client = client.map(without_port);
        record.user = object.scalar(b"user_id").and_then(some);
        record.set_host(of_request(b"host").and_then(host));
        record.method = Some(of_request(b"method").ok_or(Reason::Fields)?);
        record.target = Some(of_request(b"uri").ok_or(Reason::Fields)?);
        record.protocol = of_request(b"proto").and_then(some);
        let figure = |name: &[u8]| object.scalar(name).filter(|text| !text.is_empty());
        record.status = number::status(figure(b"status").as_deref().unwrap_or(b"-"))?;
        record.bytes = number::bytes(figure(b"size").as_deref().unwrap_or(b"-"), None)?;
        record.agent = self.agent.as_ref().and_then(|pointer| request.pointer(pointer));
        record.referer = self.referer.as_ref().and_then(|pointer| request.pointer(pointer));
        record.duration_ns = object.scalar(b"duration").and_then(|text| duration_ns(&text, Unit::S));
        record.object = Some(object);
        Ok(record)
    }
}

/// A time whose date may have `/` in place of `-`.
fn time(text: &[u8], zone: Zone) -> Result<Time, Reason> {
    let is_slashed = text.get(4) == Some(&b'/') && text[..4].iter().all(u8::is_ascii_digit);
    if !is_slashed {
        return any(text, zone);
    }
    let dashed: Vec<u8> = text.iter().map(|byte| if *byte == b'/' { b'-' } else { *byte }).collect();
    any(&dashed, zone)
}
