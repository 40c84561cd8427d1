//! A descriptor of a request as attributes.

use std::borrow::Cow;

use ratecell::rules::{Attribute, Attributes};

use crate::names::{self, DOMAIN, ENTRIES, HITS};
use crate::proto::{RateLimitDescriptor, RateLimitRequest};

/// The attributes of one descriptor.
pub(crate) struct Described<'r> {
    domain: &'r str,
    descriptor: &'r RateLimitDescriptor,
    entries: String,
    hits: Option<String>,
}

impl<'r> Described<'r> {
    pub(crate) fn new(request: &'r RateLimitRequest, descriptor: &'r RateLimitDescriptor) -> Self {
        let own = descriptor.hits_addend.map(|hits| hits.value);
        let hits = own.or_else(|| Some(request.hits_addend).filter(|hits| *hits > 0).map(u64::from));
        let entries = names::entries(descriptor.entries.iter().map(|entry| &*entry.key));
        Self { domain: &request.domain, descriptor, entries, hits: hits.map(|hits| hits.to_string()) }
    }

    /// The units that the request asks of this descriptor: as a cost of rules, at most 2^32-1, so that no counter of them
    /// comes round.
    pub(crate) fn hits(&self) -> u64 {
        let most = u64::from(u32::MAX);
        self.hits.as_deref().map_or(1, |hits| hits.parse().unwrap_or(most).min(most))
    }

    /// The value of the first entry whose key is so.
    fn entry(&self, is_so: impl Fn(&str) -> bool) -> Option<&str> {
        let found = self.descriptor.entries.iter().find(|entry| is_so(&entry.key));
        found.map(|entry| &*entry.value)
    }

    fn own(&self, name: &str) -> Option<&str> {
        match name {
            DOMAIN => return Some(self.domain),
            ENTRIES => return Some(&self.entries),
            HITS => return self.hits.as_deref(),
            _ => {}
        }
        match names::number(name) {
            Some(number) => self.descriptor.entries.get(number).map(|entry| &*entry.value),
            None => self.entry(|key| key == name),
        }
    }
}

impl Attributes for Described<'_> {
    fn value(&self, attribute: Attribute<'_>) -> Option<Cow<'_, [u8]>> {
        let called = |name: &'static str| self.entry(|key| key.eq_ignore_ascii_case(name));
        let value = match attribute {
            Attribute::Method => called("method"),
            Attribute::Path => called("path"),
            Attribute::Host => called("host"),
            Attribute::Client => called("client").or_else(|| called("remote_address")),
            Attribute::Header(_) => None,
            Attribute::Own(name) => self.own(name),
        };
        value.map(|value| Cow::Borrowed(value.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{Entry, UInt64Value};

    fn request(entries: &[(&str, &str)], hits_addend: u32, own: Option<u64>) -> RateLimitRequest {
        let entry =
            |(key, value): &(&str, &str)| Entry { key: (*key).to_owned(), value: (*value).to_owned() };
        let hits = own.map(|value| UInt64Value { value });
        let descriptor = RateLimitDescriptor {
            entries: entries.iter().map(entry).collect(),
            hits_addend: hits,
            ..RateLimitDescriptor::default()
        };
        RateLimitRequest { domain: "d".to_owned(), descriptors: vec![descriptor], hits_addend }
    }

    fn value(request: &RateLimitRequest, attribute: &str) -> Option<String> {
        let described = Described::new(request, &request.descriptors[0]);
        let value = described.value(Attribute::named(attribute))?;
        Some(String::from_utf8(value.into_owned()).expect("text"))
    }

    #[test]
    fn entries_are_attributes_by_key_and_by_number() {
        let entries = [
            ("user", "ann"),
            ("PATH", "/x"),
            ("user", "bob"),
            ("remote_address", "203.0.113.7"),
            ("entry.9", "9"),
        ];
        let request = request(&entries, 0, None);
        for (attribute, expected) in [
            ("domain", Some("d")),
            ("entries", Some("user/PATH/user/remote_address/entry.9")),
            ("hits_addend", None),
            ("user", Some("ann")),
            ("entry.1", Some("ann")),
            ("entry.2", Some("/x")),
            ("entry.3", Some("bob")),
            ("entry.5", Some("9")),
            ("entry.9", None),
            ("entry.0", None),
            ("path", Some("/x")),
            ("client", Some("203.0.113.7")),
            ("method", None),
            ("header:user", None),
        ] {
            assert_eq!(value(&request, attribute).as_deref(), expected, "{attribute}");
        }
    }

    #[test]
    fn a_descriptor_has_the_hits_of_its_request_or_its_own() {
        let hits = |of_request, own| {
            let request = request(&[("k", "v")], of_request, own);
            (value(&request, HITS), Described::new(&request, &request.descriptors[0]).hits())
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(hits(0, None), (None, 1));
        assert_eq!(hits(5, None), (text("5"), 5));
        assert_eq!(hits(5, Some(0)), (text("0"), 0));
        assert_eq!(hits(0, Some(u64::MAX)), (text("18446744073709551615"), u64::from(u32::MAX)));
    }
}
