//! The key of a record, and what of it can be compared.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::client::client_key;
use crate::json::Pointer;
use crate::record::{Field, Record, Value, present};
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

/// Whom to limit: a part of a record, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    places: Vec<Place>,
}

/// What the text of a client is in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientText {
    /// As it is logged.
    Logged,
    /// By [`client_key`]: one text for each client.
    Key,
}

impl Selector {
    /// The key of a record; `None` if it lacks a part. No two rows of parts give one key.
    #[must_use]
    pub fn key<'r>(&self, record: &'r Record<'_>, client: ClientText) -> Option<Text<'r>> {
        if let [place] = &*self.places {
            return part(place, record, client);
        }
        let mut key = Vec::new();
        for (at, place) in self.places.iter().enumerate() {
            if at > 0 {
                key.push(b'|');
            }
            for byte in &*part(place, record, client)? {
                if matches!(byte, b'\\' | b'|') {
                    key.push(b'\\');
                }
                key.push(*byte);
            }
        }
        Some(Cow::Owned(key))
    }
}

fn part<'r>(place: &Place, record: &'r Record<'_>, client: ClientText) -> Option<Text<'r>> {
    if let (Place::Field(Field::Client), ClientText::Key) = (place, client) {
        // Of a client that is borrowed this copies nothing.
        return record.client.as_ref().map(client_key);
    }
    place.text(record)
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.split('+').any(str::is_empty) {
            return Err(
                "expected a field such as client, user or path, header:NAME, a /json/pointer, or several of them joined by +"
                    .to_owned(),
            );
        }
        Ok(Self { places: text.split('+').map(Place::parse).collect() })
    }
}

/// The units that a record takes: a number, or a field divided by one and rounded up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The same for all.
    Fixed(u32),
    /// What a field has, over a divisor.
    Field {
        /// The field.
        field: CostField,
        /// Not 0.
        divisor: u128,
    },
}

/// A field that has a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostField(Field);

impl Cost {
    /// The units of a record, at most 2^32-1; none where the field is not there or no number.
    #[must_use]
    pub fn of(&self, record: &Record<'_>) -> u32 {
        match self {
            Self::Fixed(cost) => *cost,
            Self::Field { field, divisor } => match record.field(&field.0) {
                Some(Value::Number(number)) => u32::try_from(number.div_ceil(*divisor)).unwrap_or(u32::MAX),
                _ => 0,
            },
        }
    }
}

impl FromStr for Cost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}`: expected a number below 2^32, a field such as bytes, or bytes/1024");
        let (name, divisor) = text.split_once('/').unwrap_or((text, "1"));
        let divisor = divisor.parse().ok().filter(|divisor| *divisor > 0).ok_or_else(wrong)?;
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            return text.parse().map(Self::Fixed).map_err(|_| wrong());
        }
        if name.is_empty() {
            return Err(wrong());
        }
        Ok(Self::Field { field: CostField(Field::named(name)), divisor })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(cost) => write!(f, "{cost}"),
            Self::Field { field, divisor } => write!(f, "{:?}/{divisor}", field.0),
        }
    }
}

/// A condition on a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    place: Place,
    comparison: Comparison,
    text: String,
    /// Where a status is compared with such as `4xx`: its first digit.
    class: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Is,
    IsNot,
    BeginsWith,
    Below,
    Above,
}

/// In an order in which none is found before one that is longer at the same place.
const COMPARISONS: [(&str, Comparison); 5] = [
    ("!=", Comparison::IsNot),
    ("^=", Comparison::BeginsWith),
    ("=", Comparison::Is),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

impl Filter {
    /// Whether the condition holds. What is not there fulfils `!=` alone.
    #[must_use]
    pub fn holds(&self, record: &Record<'_>) -> bool {
        let Some(text) = self.place.text(record) else { return self.comparison == Comparison::IsNot };
        let wanted = self.text.as_bytes();
        match self.comparison {
            Comparison::Is => {
                *text == *wanted || self.class.is_some_and(|class| text.first() == Some(&class))
            }
            Comparison::IsNot => *text != *wanted,
            Comparison::BeginsWith => text.starts_with(wanted),
            Comparison::Below => numbers(&text, wanted).is_some_and(|(left, right)| left < right),
            Comparison::Above => numbers(&text, wanted).is_some_and(|(left, right)| left > right),
        }
    }
}

/// Two whole numbers of any length, so that they compare as their values do.
fn numbers<'t>(left: &'t [u8], right: &'t [u8]) -> Option<((usize, &'t [u8]), (usize, &'t [u8]))> {
    let number = |text: &'t [u8]| {
        let digits = crate::text::trim_start(text, b'0');
        crate::text::is_digits(text).then_some((digits.len(), digits))
    };
    Some((number(left)?, number(right)?))
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}`: expected a field, =, !=, ^=, < or >, and a value, such as status=4xx or path^=/api"
            )
        };
        let at = text.find(['=', '!', '^', '<', '>']).ok_or_else(wrong)?;
        let (name, rest) = text.split_at(at);
        let found =
            COMPARISONS.iter().find_map(|(sign, comparison)| Some((rest.strip_prefix(sign)?, *comparison)));
        let (value, comparison) = found.ok_or_else(wrong)?;
        if name.is_empty() || name == "header:" {
            return Err(wrong());
        }
        let class = match value.as_bytes() {
            [class, b'x', b'x'] if name == "status" => Some(*class),
            _ => None,
        };
        Ok(Self { place: Place::parse(name), comparison, text: value.to_owned(), class })
    }
}
