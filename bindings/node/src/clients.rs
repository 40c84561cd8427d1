//! `Clients`: the keys of clients.

use napi::Result;
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use ratecell::client_key::{self, ClientField, ClientsError, Trust, Width};

use crate::errors;

/// Knows the clients of requests.
#[napi]
pub struct Clients {
    core: client_key::Clients,
    field: String,
}

fn refused(error: ClientsError) -> napi::Error {
    errors::of_value(&error.to_string())
}

#[napi]
impl Clients {
    /// Makes one by the bytes of the field and of the networks; numbers that are out of range are the core's to refuse.
    #[napi(constructor)]
    pub fn new(
        field: Option<Uint8Array>,
        kind: String,
        hops: Option<u32>,
        networks: Option<Vec<Uint8Array>>,
        v4_width: u32,
        v6_width: u32,
    ) -> Result<Self> {
        let width = Width::new(v4_width, v6_width).map_err(refused)?;
        if field.is_none() && hops.is_none() && networks.is_none() && kind == "list" {
            return Ok(Self { core: client_key::Clients::new(width, None), field: String::new() });
        }
        let name = field.as_deref().unwrap_or_default();
        let trusted = ClientField::new(name, kind.parse().map_err(refused)?).map_err(refused)?;
        let trust = trust(trusted, hops, networks.as_deref()).map_err(refused)?;
        let field = String::from_utf8_lossy(name).into_owned();
        Ok(Self { core: client_key::Clients::new(width, Some(trust)), field })
    }

    /// The key of the client of a request with this peer, and the lines of the field in its header; and why it is that.
    #[napi]
    pub fn search(&self, peer: &[u8], lines: Vec<Uint8Array>) -> Vec<String> {
        let lines = lines.iter().map(|line| (&*self.field, &**line));
        let (key, end) = self.core.search(peer, lines);
        vec![key.to_string(), end.name().to_owned()]
    }
}

fn trust(
    field: ClientField,
    hops: Option<u32>,
    networks: Option<&[Uint8Array]>,
) -> core::result::Result<Trust, ClientsError> {
    match (hops, networks) {
        (Some(hops), None) => field.hops(hops),
        (hops, networks) => field.trusting(hops, networks.map(|texts| texts.iter().map(|text| &**text))),
    }
}
