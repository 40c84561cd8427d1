//! A request's attributes, each asked for once, as rules look at them.

use std::borrow::Cow;
use std::cell::OnceCell;

use smallvec::SmallVec;

use crate::attribute::{Attribute, Attributes, Id, host_text, without_blanks};
use crate::client::{ClientText, Network};
use crate::condition::Value;
use crate::path::Reading;
use crate::rule::Reference;
use crate::rules::Rules;

#[derive(Debug)]
pub(crate) struct Request<'v> {
    rules: &'v Rules,
    /// By number; the path has its own.
    values: SmallVec<[Option<Cow<'v, [u8]>>; 8]>,
    client: Option<Network>,
    /// The client's text of each width in the file, once it is needed.
    clients: SmallVec<[OnceCell<ClientText>; 2]>,
}

impl<'v> Request<'v> {
    /// The attributes that the rules use, and the path. The host's text is written into `host`.
    pub(crate) fn new<A: Attributes + ?Sized>(
        rules: &'v Rules,
        attributes: &'v A,
        host: &'v mut Vec<u8>,
    ) -> (Self, Option<Cow<'v, [u8]>>) {
        let value = |attribute: Option<Attribute<'_>>| {
            let attribute = attribute?;
            let value = attributes.value(attribute)?;
            Some(if matches!(attribute, Attribute::Header(_)) { without_blanks(value) } else { value })
        };
        let mut values: SmallVec<[_; 8]> = rules.names.iter().map(value).collect();
        let path = values[Id::PATH.index()].take();
        if let Some(value) = values[Id::HOST.index()].take() {
            host_text(&value, host);
            values[Id::HOST.index()] = Some(Cow::Borrowed(&**host));
        }
        let client = values[Id::CLIENT.index()].as_deref().and_then(Network::read);
        let clients = rules.widths.iter().map(|_| OnceCell::new()).collect();
        (Self { rules, values, client, clients }, path)
    }

    #[inline]
    pub(crate) fn text(&self, id: Id) -> Option<&[u8]> {
        self.values.get(id.index())?.as_deref()
    }

    pub(crate) fn client(&self) -> Option<Network> {
        self.client
    }

    /// The value that conditions on this attribute look at.
    #[inline]
    pub(crate) fn value<'s>(&'s self, id: Id, reading: Option<Reading<'s>>) -> Value<'s> {
        match id {
            Id::PATH => reading.map_or(Value::Absent, Value::Path),
            Id::CLIENT => self.text(id).map_or(Value::Absent, |text| Value::Client(text, self.client)),
            _ => self.text(id).map_or(Value::Absent, Value::Text),
        }
    }

    /// What a key has of the request.
    #[inline]
    pub(crate) fn refer<'s>(
        &'s self,
        reference: Reference,
        reading: Option<Reading<'s>>,
    ) -> Option<&'s [u8]> {
        match reference {
            Reference::Attribute(id) => self.text(id),
            Reference::Path => reading.map(|reading| reading.text()),
            Reference::Segment(number) => reading?.segment(number),
            Reference::Client(width) => {
                let text = self.text(Id::CLIENT)?;
                let Some(client) = self.client else { return Some(text) };
                let shortened = || ClientText::of(client, self.rules.widths[width]);
                Some(self.clients[width].get_or_init(shortened).as_bytes())
            }
        }
    }
}
