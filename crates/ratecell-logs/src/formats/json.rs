//! JSON lines: nginx with `escape=json`, Envoy, and whatever has names that are known.

use super::ReadLine;
use crate::client::{host, last_hop, without_port};
use crate::json::{Object, Pointer, parse};
use crate::number::{self, Unit, duration_ns};
use crate::reason::{NoRecord, Reason};
use crate::record::{Record, StampIs};
use crate::text::{Text, some};
use crate::time::{Zone, any};

/// A field, and the names that it has, the preferred one first.
type Names = (&'static str, &'static [&'static str]);

#[rustfmt::skip]
const NAMES: [Names; FIELDS] = [
    ("time", &["time_iso8601", "msec", "@timestamp", "timestamp", "start_time", "StartUTC", "time", "ts", "time_local", "datetime", "date"]),
    ("client", &["remote_addr", "client_ip", "clientip", "remote_ip", "client", "ClientHost", "client_addr", "ip", "downstream_remote_address", "ClientAddr", "remote_address", "host_ip"]),
    ("user", &["remote_user", "user", "user_id", "ClientUsername", "username", "auth"]),
    ("request", &["request", "request_line"]),
    ("method", &["request_method", "method", "RequestMethod", "http_method", "verb"]),
    ("target", &["request_uri", "uri", "path", "RequestPath", "url", "target", "uri_path"]),
    ("protocol", &["server_protocol", "protocol", "RequestProtocol", "proto"]),
    ("status", &["status", "response_code", "DownstreamStatus", "status_code", "response_status", "code"]),
    ("bytes", &["body_bytes_sent", "bytes_sent", "DownstreamContentSize", "bytes", "size", "response_size", "body_bytes"]),
    ("host", &["host", "http_host", "server_name", "authority", "RequestHost", "vhost", "domain"]),
    ("referer", &["http_referer", "referer", "referrer", "http_referrer"]),
    ("agent", &["http_user_agent", "user_agent", "agent", "useragent", "request_User-Agent"]),
    ("x_forwarded_for", &["http_x_forwarded_for", "x_forwarded_for"]),
];
const FIELDS: usize = 13;

/// The fields of [`NAMES`], in its order.
#[derive(Clone, Copy, Debug)]
enum Named {
    Time,
    Client,
    User,
    Request,
    Method,
    Target,
    Protocol,
    Status,
    Bytes,
    Host,
    Referer,
    Agent,
    XForwardedFor,
}

/// Where the user says that fields are; these go before the names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pointers([Option<Pointer>; FIELDS]);

impl Pointers {
    /// Sets the pointer of a field.
    pub(crate) fn set(&mut self, field: &str, pointer: &str) -> Result<(), String> {
        let place = NAMES.iter().position(|(name, _)| *name == field).ok_or_else(|| {
            let names = NAMES.map(|(name, _)| name).join(", ");
            format!("`{field}` is no field: expected one of {names}")
        })?;
        let pointer = Pointer::parse(pointer)
            .ok_or_else(|| format!("`{pointer}`: expected a JSON pointer such as /a/b"))?;
        self.0[place] = Some(pointer);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

/// A reader of JSON lines, of Traefik's too, whose names are among the known ones.
#[derive(Debug)]
pub(super) struct Json {
    zone: Zone,
    pointers: Pointers,
    traefik: bool,
    /// The line once more, where its escapes had to be changed.
    repaired: Vec<u8>,
}

impl Json {
    pub(super) fn new(traefik: bool, zone: Zone, pointers: &Pointers) -> Self {
        Self { zone, pointers: pointers.clone(), traefik, repaired: Vec::new() }
    }
}

impl ReadLine for Json {
    fn read<'l>(&'l mut self, text: &'l [u8]) -> Result<Record<'l>, NoRecord> {
        let Self { zone, pointers, traefik, repaired } = self;
        let object = parse(text, repaired)?;
        let scalar = |name: &[u8]| object.scalar(name);
        let duration = if *traefik {
            if object.get(b"RequestMethod").is_none() && object.get(b"DownstreamStatus").is_none() {
                return Err(Reason::Fields.into());
            }
            scalar(b"Duration").and_then(|text| duration_ns(&text, Unit::Ns))
        } else if let Some(seconds) = scalar(b"request_time") {
            duration_ns(&seconds, Unit::S)
        } else if is_envoy(&object) {
            scalar(b"duration").and_then(|text| duration_ns(&text, Unit::Ms))
        } else {
            None
        };
        let mut record = pointers.record(&object, *zone)?;
        record.duration_ns = duration;
        if !*traefik && is_envoy(&object) {
            record.stamp = Some(StampIs::Start);
        }
        record.object = Some(object);
        Ok(record)
    }
}

fn is_envoy(object: &Object<'_>) -> bool {
    object.get(b"start_time").is_some()
}

impl Pointers {
    fn record<'l>(&self, object: &Object<'l>, zone: Zone) -> Result<Record<'l>, Reason> {
        let places = places(object);
        let get = |field: Named| match &self.0[field as usize] {
            Some(pointer) => object.pointer(pointer),
            None => first_scalar(object, &places[field as usize]),
        };
        let text = |field: Named| get(field).and_then(some);
        let mut record = Record::at(any(&get(Named::Time).ok_or(Reason::NoTime)?, zone)?);
        let forwarded = text(Named::XForwardedFor);
        record.client = match text(Named::Client) {
            Some(client) => Some(without_port(client)),
            None => last_hop(forwarded.clone()),
        };
        record.user = text(Named::User);
        if let Some(named) = text(Named::Host) {
            record.set_host(host(named));
        }
        let status = get(Named::Status);
        let said = record.client().is_some_and(|client| !client.is_empty()) || status.is_some();
        match (text(Named::Method), text(Named::Target), get(Named::Request)) {
            (Some(method), Some(target), _) => {
                record.method = Some(method);
                record.protocol = text(Named::Protocol);
                record.target = Some(target);
            }
            (_, _, Some(request)) => record.request_line = Some(request),
            (None, None, None) if !said => return Err(Reason::NoRequest),
            _ => {}
        }
        record.status = number::status(status.as_deref().filter(|text| !text.is_empty()).unwrap_or(b"-"))?;
        record.bytes = number::bytes(get(Named::Bytes).as_deref().unwrap_or(b"-"), None)?;
        record.referer = text(Named::Referer);
        record.agent = text(Named::Agent);
        if let Some(forwarded) = forwarded {
            record.set_other(b"x_forwarded_for".as_slice(), forwarded);
        }
        Ok(record)
    }
}

/// Names that a field has, at most.
const MOST_NAMES: usize = 12;

/// Where in the object each name of each field is, last.
type Places = [[Option<usize>; MOST_NAMES]; FIELDS];

fn places(object: &Object<'_>) -> Places {
    let mut places = [[None; MOST_NAMES]; FIELDS];
    for (at, (name, _)) in object.members().enumerate() {
        if let Some((field, rank)) = known(name) {
            places[field][rank] = Some(at);
        }
    }
    places
}

/// The field that has a name, and the rank of the name there.
fn known(name: &[u8]) -> Option<(usize, usize)> {
    NAMES.iter().enumerate().find_map(|(field, (_, names))| {
        names.iter().position(|known| known.as_bytes() == name).map(|rank| (field, rank))
    })
}

fn first_scalar<'l>(object: &Object<'l>, places: &[Option<usize>]) -> Option<Text<'l>> {
    places.iter().flatten().find_map(|at| object.members().nth(*at)?.1.scalar())
}
