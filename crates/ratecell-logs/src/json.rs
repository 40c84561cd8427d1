//! JSON objects, whose values stay the text that they are written as until they are asked for.
//!
//! The structure of JSON is ASCII, so that bytes which are not UTF-8 can stand in its strings.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::reason::Reason;
use crate::text::{Text, hex, offset_in};

/// A JSON object: names and values as written, in their order. Of a repeated name the last counts.
#[derive(Clone, Debug)]
pub(crate) struct Object<'l> {
    members: Vec<(Text<'l>, Raw<'l>)>,
}

/// A value as it is written, which is valid JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'l>(&'l [u8]);

impl<'l> Object<'l> {
    /// Reads strict JSON; `None` if it is not, or not an object.
    pub(crate) fn parse(text: &'l [u8]) -> Option<Self> {
        let members = with_ascii(text, |ascii| {
            let mut parser = serde_json::Deserializer::from_str(ascii);
            let members = parser.deserialize_map(Members).ok()?;
            parser.end().ok()?;
            let place = |raw: &RawValue| {
                let start = offset_in(ascii.as_bytes(), raw.get().as_bytes());
                &text[start..start + raw.get().len()]
            };
            Some(members.into_iter().map(|(name, value)| (place(name), place(value))).collect::<Vec<_>>())
        })?;
        let member = |(name, value)| Some((Raw(name).string()?, Raw(value)));
        Some(Self { members: members.into_iter().map(member).collect::<Option<_>>()? })
    }

    /// The value of a name.
    pub(crate) fn get(&self, name: &[u8]) -> Option<Raw<'l>> {
        self.members.iter().rfind(|(member, _)| **member == *name).map(|(_, value)| *value)
    }

    /// The scalar that a name has.
    pub(crate) fn scalar(&self, name: &[u8]) -> Option<Text<'l>> {
        self.get(name)?.scalar()
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&Text<'l>, Raw<'l>)> {
        self.members.iter().map(|(name, value)| (name, *value))
    }

    /// The scalar that a pointer leads to.
    pub(crate) fn pointer(&self, pointer: &Pointer) -> Option<Text<'l>> {
        let (first, steps) = pointer.steps.split_first()?;
        let mut value = self.get(first.as_bytes())?;
        for step in steps {
            value = value.step(step)?;
        }
        value.scalar()
    }
}

impl<'l> Raw<'l> {
    /// The text of a string, number, `true` or `false`.
    pub(crate) fn scalar(self) -> Option<Text<'l>> {
        match self.0.first()? {
            b'"' => self.string(),
            b'{' | b'[' | b'n' => None,
            _ => Some(Cow::Borrowed(self.0)),
        }
    }

    /// The text of a string.
    pub(crate) fn string(self) -> Option<Text<'l>> {
        let inside = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if memchr(b'\\', inside).is_none() {
            return Some(Cow::Borrowed(inside));
        }
        serde_json::Deserializer::from_slice(self.0).deserialize_bytes(Bytes).ok().map(Cow::Owned)
    }

    pub(crate) fn object(self) -> Option<Object<'l>> {
        self.0.starts_with(b"{").then(|| Object::parse(self.0))?
    }

    /// The value at a place of a list.
    pub(crate) fn item(self, place: usize) -> Option<Self> {
        if !self.0.starts_with(b"[") {
            return None;
        }
        let range = with_ascii(self.0, |ascii| {
            let item = serde_json::Deserializer::from_str(ascii).deserialize_seq(Item(place)).ok()??.get();
            let start = offset_in(ascii.as_bytes(), item.as_bytes());
            Some(start..start + item.len())
        })?;
        Some(Self(&self.0[range]))
    }

    fn step(self, step: &str) -> Option<Self> {
        match self.object() {
            Some(object) => object.get(step.as_bytes()),
            None => self.item(place(step)?),
        }
    }
}

/// Reads an object. One of nginx without `escape=json` has `\xHH`, which JSON does not know: it is then read as
/// `\u00HH`.
pub(crate) fn parse<'l>(text: &'l [u8], repaired: &'l mut Vec<u8>) -> Result<Object<'l>, Reason> {
    if let Some(object) = Object::parse(text) {
        return Ok(object);
    }
    if !repair(text, repaired) {
        return Err(Reason::Json);
    }
    Object::parse(repaired).ok_or(Reason::Json)
}

/// Whether there is anything to change.
fn repair(text: &[u8], repaired: &mut Vec<u8>) -> bool {
    repaired.clear();
    let mut rest = text;
    let mut any = false;
    while let Some(at) = memchr(b'\\', rest) {
        repaired.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        match rest {
            [b'\\', b'x', high @ b'0'..=b'7', low, ..] if hex(*high, *low).is_some() => {
                repaired.extend_from_slice(&[b'\\', b'u', b'0', b'0', *high, *low]);
                rest = &rest[4..];
                any = true;
            }
            _ => {
                repaired.push(b'\\');
                rest = &rest[1..];
            }
        }
    }
    repaired.extend_from_slice(rest);
    any
}

/// The place in a list that a step of a pointer names.
fn place(step: &str) -> Option<usize> {
    let digits = (1..=9).contains(&step.len()) && step.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = step == "0" || !step.starts_with('0');
    step.parse().ok().filter(|_| digits && canonical)
}

/// Hands over `text`, or of one that is not UTF-8 a copy in which what is not ASCII is `?`: there, no structure
/// changes.
fn with_ascii<T>(text: &[u8], read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    match std::str::from_utf8(text) {
        Ok(text) => read(text),
        Err(_) => {
            let ascii = text.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' });
            read(&ascii.collect::<String>())
        }
    }
}

/// Names and values of an object.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(16);
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// One item of a list.
struct Item(usize);

impl<'de> Visitor<'de> for Item {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        for _ in 0..self.0 {
            if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let item = list.next_element()?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(item)
    }
}

/// The bytes of a string.
struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }
}

/// A JSON pointer, RFC 6901.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    steps: Vec<String>,
}

impl Pointer {
    /// `/a/0/b`; `None` if it does not begin with `/`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let steps = text.strip_prefix('/')?.split('/');
        Some(Self { steps: steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointed(text: &[u8], pointer: &str) -> Option<Vec<u8>> {
        Object::parse(text)?.pointer(&Pointer::parse(pointer)?).map(Cow::into_owned)
    }

    #[test]
    fn numbers_are_their_digits_and_the_last_of_a_name_counts() {
        let text = br#"{"n":1646861401.5241024,"a":[0,{"b":-1.0E+2}],"n":12345678901234567890123}"#;
        assert_eq!(pointed(text, "/n").unwrap(), b"12345678901234567890123");
        assert_eq!(pointed(text, "/a/1/b").unwrap(), b"-1.0E+2");
        assert_eq!(pointed(text, "/a/01"), None);
        assert_eq!(pointed(text, "/a/2"), None);
        assert_eq!(pointed(text, "/a"), None);
    }

    #[test]
    fn bytes_that_are_not_utf_8_stay_in_strings_and_are_nowhere_else() {
        assert_eq!(pointed(b"{\"a\":{\"\xff\":[\"\xfe\\n\"]}}", "/a"), None);
        let object = Object::parse(b"{\"\xff\":\"\xfe\\n\xc3\xa9\"}").unwrap();
        assert_eq!(*object.scalar(b"\xff").unwrap(), *b"\xfe\n\xc3\xa9");
        for text in [&b"{\"a\":\xff}"[..], b"{\xff:1}", b"\xff{}", b"{\"a\":1}\xff"] {
            assert!(Object::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_strict_is_refused() {
        for text in
            ["", "[]", "{", "{\"a\":1,}", "{\"a\":01}", "{\"a\":NaN}", "{\"a\":\"\t\"}", "{'a':1}", "{} {}"]
        {
            assert!(Object::parse(text.as_bytes()).is_none(), "{text}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(pointed(deep.as_bytes(), "/a/0/0"), None);
    }
}
