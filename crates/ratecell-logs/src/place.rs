//! The parts of a record by which it can be limited and filtered.

use crate::json::Pointer;
use crate::record::{Field, Record, present};
use crate::text::{Text, some};

/// A part of a record: a field, a header of the request, or a place in its JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Field(Field),
    Header(Header),
    Pointer(Pointer),
}

/// A header by its names in the formats, all in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    name: String,
    /// The fields of a text format.
    fields: Vec<Field>,
    /// The names in a JSON object.
    names: [String; 3],
}

impl Place {
    pub(crate) fn parse(text: &str) -> Self {
        if let Some(pointer) = Pointer::parse(text) {
            return Self::Pointer(pointer);
        }
        let Some(name) = text.strip_prefix("header:") else { return Self::Field(Field::named(text)) };
        let name = name.to_ascii_lowercase();
        let underscored = name.replace('-', "_");
        let fields = match &*name {
            "user-agent" => vec![Field::Agent],
            "referer" => vec![Field::Referer],
            "host" => vec![Field::Host],
            "x-forwarded-for" => {
                ["x_forwarded_for", "http_x_forwarded_for"].map(|name| Field::Other(name.to_owned())).to_vec()
            }
            _ => vec![Field::Other(format!("http_{underscored}"))],
        };
        let names = [format!("http_{underscored}"), underscored, format!("request_{name}")];
        Self::Header(Header { name, fields, names })
    }

    /// The text there; none where it is `-` or empty, except in JSON by a pointer.
    pub(crate) fn text<'r>(&self, record: &'r Record<'_>) -> Option<Text<'r>> {
        match self {
            Self::Field(field) => present(record.field(field)),
            Self::Pointer(pointer) => record.object.as_ref()?.pointer(pointer),
            Self::Header(header) => header.text(record),
        }
    }
}

impl Header {
    fn text<'r>(&self, record: &'r Record<'_>) -> Option<Text<'r>> {
        let Some(object) = &record.object else {
            let mut values = self.fields.iter().filter_map(|field| record.field(field));
            return present(values.next());
        };
        let is_name = |name: &[u8], known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let inside = object.get(b"request").and_then(|request| request.object());
        let of_request = inside.as_ref().and_then(|request| request.get(b"headers"));
        for headers in [of_request, object.get(b"headers")].into_iter().flatten() {
            let Some(headers) = headers.object() else { continue };
            let header = headers.members().find(|(name, _)| is_name(name, &self.name));
            if let Some((name, _)) = header {
                let value = headers.get(name)?;
                return value.item(0).unwrap_or(value).scalar();
            }
        }
        let known = |name: &[u8]| self.names.iter().any(|known| is_name(name, known));
        let (name, _) = object.members().find(|(name, _)| known(name))?;
        object.scalar(name).and_then(some)
    }
}
