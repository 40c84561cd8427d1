//! The keys of clients: what a request's is, which texts are addresses, and which configurations are refused.

use anyhow::Result;
use ratecell_core::client_key::{ClientField, Clients, ClientsError, Trust, Width};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Judge, Judged, read};

#[derive(Debug, Deserialize)]
struct Configuration {
    width: Widths,
    trust: Option<Trusted>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Widths {
    v4: u32,
    v6: u32,
}

#[derive(Debug, Deserialize)]
struct Trusted {
    field: String,
    kind: String,
    hops: Option<u32>,
    networks: Option<Vec<String>>,
}

impl Configuration {
    fn clients(&self) -> Result<Clients, ClientsError> {
        let width = Width::new(self.width.v4, self.width.v6)?;
        let trust = self.trust.as_ref().map(Trusted::trust).transpose()?;
        Ok(Clients::new(width, trust))
    }
}

impl Trusted {
    fn trust(&self) -> Result<Trust, ClientsError> {
        let kind = self.kind.parse()?;
        ClientField::new(&self.field, kind)?.trusting(self.hops, self.networks.as_ref())
    }
}

/// A request: its peer, and the lines of its fields by name.
#[derive(Debug, Deserialize)]
struct Request(String, Vec<(String, String)>, String, String);

pub(super) fn requests() -> Judge {
    let mut section = Clients::default();
    Box::new(move |row| {
        if row.is_object() {
            section = read::<Configuration>(row, "a section with its width and trust")?.clients()?;
            return Ok(Judged::Section);
        }
        let Request(peer, lines, key, end) = read(row, "a peer, its fields, the key and the search's end")?;
        let lines = lines.iter().map(|(name, value)| (bytes(name), bytes(value)));
        let (got, got_end) = section.search(&*bytes(&peer), lines);
        Ok(Judged::compared(&json!([key, end]), &json!([got.as_str(), got_end.name()])))
    })
}

/// A text, and its keys with 128 and with 64 bits of IPv6 addresses; of a text that is no address, none.
pub(super) fn address(row: &Value) -> Result<Judged> {
    let (text, key_128, key_64): (String, Option<String>, Option<String>) =
        read(row, "a text and its two keys")?;
    let key = |v6| {
        let none: [(&str, &str); 0] = [];
        let key = Clients::new(Width::new(32, v6)?, None).key(&*bytes(&text), none).to_string();
        // A peer that is no address has a key, too.
        Ok::<_, ClientsError>((!["unix", "unknown"].contains(&&*key)).then_some(key))
    };
    Ok(Judged::compared(&json!([key_128, key_64]), &json!([key(128)?, key(64)?])))
}

pub(super) fn construct(row: &Value) -> Result<Judged> {
    let configuration: Configuration = read(row, "a width, a trust and their error")?;
    let error = configuration.clients().err().map(|error| error.kind().code());
    Ok(Judged::compared(&json!(configuration.error), &json!(error)))
}

/// A character of a value is one byte; a text with others is taken as UTF-8.
fn bytes(text: &str) -> Vec<u8> {
    let bytes: Option<Vec<_>> = text.chars().map(|character| u8::try_from(character).ok()).collect();
    bytes.unwrap_or_else(|| text.into())
}
