//! The key of a record.

use std::borrow::Cow;
use std::str::FromStr;

use crate::client::client_key;
use crate::place::Place;
use crate::record::{Field, Record};
use crate::text::Text;

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
