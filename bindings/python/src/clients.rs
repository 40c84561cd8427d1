//! `Clients`: the keys of clients.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};
use ratecell::client_key::{self, ClientField, ClientKey, ClientsError, SearchEnd, Trust, Width};

use crate::arguments::wrong_type;

/// Knows the clients of requests: one key for each, the same text in every language and program that limits by
/// ratecell.
///
/// A key is an IPv4 address ("203.0.113.7"), a network of IPv6 ("2001:db8:1:2::/64"), "unix" for all peers on Unix
/// sockets, or "unknown" for all whose address cannot be read. There is always a key, of at most 43 characters, and
/// it is never text that a client has written.
#[pyclass(frozen, subclass, module = "ratecell._native")]
pub(crate) struct Clients {
    core: client_key::Clients,
    /// The name of the field that is read; `None` where the peer is the client.
    field: Option<String>,
}

#[pymethods]
impl Clients {
    #[new]
    #[pyo3(signature = (*, field=None, kind="list", hops=None, networks=None, v4_width=None, v6_width=None))]
    fn new(
        field: Option<&Bound<'_, PyAny>>,
        kind: &str,
        hops: Option<&Bound<'_, PyAny>>,
        networks: Option<&Bound<'_, PyAny>>,
        v4_width: Option<&Bound<'_, PyAny>>,
        v6_width: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let v4 = v4_width.map_or(Ok(32), |width| number(width, "bad_width", "v4_width", "8 to 32"))?;
        let v6 = v6_width.map_or(Ok(64), |width| number(width, "bad_width", "v6_width", "32 to 128"))?;
        let width = Width::new(v4, v6).map_err(refused)?;
        let field = field.map(|field| text(field, "field", "str")).transpose()?;
        if field.is_none() && hops.is_none() && networks.is_none() && kind == "list" {
            return Ok(Self { core: client_key::Clients::new(width, None), field: None });
        }
        let name = field.unwrap_or_default();
        let kind = kind.parse().map_err(refused)?;
        let trusted = ClientField::new(&name, kind).map_err(refused)?;
        let trust = trust(trusted, hops, networks)?;
        let field = Some(String::from_utf8_lossy(&name).into_owned());
        Ok(Self { core: client_key::Clients::new(width, Some(trust)), field })
    }

    /// The key of the client of a request: of its `peer`, an address with a port or without, "" for a Unix socket,
    /// and of the `lines` of its header, each a name and a value. A character of a `str` is one byte.
    #[pyo3(signature = (peer, lines=None))]
    fn key(&self, peer: &Bound<'_, PyAny>, lines: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        self.found(peer, lines).map(|(key, _)| key.to_string())
    }

    /// The `key`, and why it is that one: "end", at the client; "short", the field has no more addresses;
    /// "malformed", the next is none; "long", all of the 64 that are read are trusted proxies.
    #[pyo3(signature = (peer, lines=None))]
    fn search(
        &self,
        peer: &Bound<'_, PyAny>,
        lines: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(String, &'static str)> {
        self.found(peer, lines).map(|(key, end)| (key.to_string(), end.name()))
    }

    /// The name of the field in which proxies name the client; None where the peer is the client.
    #[getter]
    fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }
}

impl Clients {
    fn found(
        &self,
        peer: &Bound<'_, PyAny>,
        lines: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(ClientKey, SearchEnd)> {
        const EXPECTED: &str = "str or bytes";
        let peer = text(peer, "peer", EXPECTED)?;
        let mut values = Vec::new();
        let field = self.field.as_deref().unwrap_or_default();
        if let (Some(_), Some(lines)) = (&self.field, lines) {
            for line in lines.try_iter()? {
                let line = line?;
                let name = line.get_item(0)?;
                if text(&name, "name", EXPECTED)?.eq_ignore_ascii_case(field.as_bytes()) {
                    values.push(line.get_item(1)?);
                }
            }
        }
        let values = values.iter().map(|value| text(value, "value", EXPECTED));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        Ok(self.core.search(&*peer, values.iter().map(|value| (field, value))))
    }
}

fn trust(
    field: ClientField,
    hops: Option<&Bound<'_, PyAny>>,
    networks: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trust> {
    // Which of them are given comes before what is wrong with them.
    if let (Some(hops), None) = (hops, networks) {
        return field.hops(number(hops, "bad_hops", "hops", "1 to 16")?).map_err(refused);
    }
    let texts = match networks {
        Some(networks) if networks.is_instance_of::<PyString>() || networks.is_instance_of::<PyBytes>() => {
            return Err(wrong_type("networks", networks.as_borrowed(), "an iterable of str"));
        }
        Some(networks) => Some(networks.try_iter()?.collect::<PyResult<Vec<_>>>()?),
        None => None,
    };
    let texts = texts.as_ref().map(|texts| texts.iter().map(|network| text(network, "network", "str")));
    let texts = texts.map(Iterator::collect::<PyResult<Vec<_>>>).transpose()?;
    field.trusting(hops.map(|_| 1), texts).map_err(refused)
}

/// A number for the core; of one that it cannot hold, the error that the core would have.
fn number(object: &Bound<'_, PyAny>, code: &str, name: &str, expected: &str) -> PyResult<u32> {
    if !object.is_instance_of::<PyInt>() {
        return Err(wrong_type(name, object.as_borrowed(), &format!("int, {expected}")));
    }
    object
        .extract()
        .map_err(|_| PyValueError::new_err(format!("{code}: {name} is {object}: expected {expected}")))
}

/// The bytes of a text: a character of a `str` is one, and a `str` with others is its UTF-8.
fn text<'a>(object: &'a Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Cow::Borrowed(bytes.as_bytes()));
    }
    let Ok(text) = object.cast::<PyString>() else {
        return Err(wrong_type(name, object.as_borrowed(), expected));
    };
    let utf8 = text.to_string_lossy();
    let latin = |text: &str| text.chars().map(u8::try_from).collect::<Result<Vec<_>, _>>().ok();
    Ok(match utf8 {
        Cow::Borrowed(text) if text.is_ascii() => Cow::Borrowed(text.as_bytes()),
        text => Cow::Owned(latin(&text).unwrap_or_else(|| text.into_owned().into_bytes())),
    })
}

fn refused(error: ClientsError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
