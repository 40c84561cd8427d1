//! The names that a file has for what it takes from a request, and the keys that are made of them.

use std::collections::HashSet;
use std::ops::Range;

use super::{File, Place, Value, shown};
use crate::attribute::Id;
use crate::client::Widths;
use crate::error::{RuleLabel, RulesError, RulesErrorKind as Kind};
use crate::rule::{Part, Reference};

const MAX_PARTS: usize = 8;
const MAX_SEGMENT: usize = 64;

impl<'t> File<'t> {
    /// The attribute of that name, which the file or the format knows.
    pub(super) fn attribute(
        &mut self,
        name: &str,
        place: Place<'_>,
        at: Range<usize>,
    ) -> Result<Id, RulesError> {
        let built_in = match name {
            "method" => Some(Id::METHOD),
            "path" => Some(Id::PATH),
            "host" => Some(Id::HOST),
            "client" => Some(Id::CLIENT),
            _ => None,
        };
        if let Some(id) = built_in {
            self.model.names.used(id);
            return Ok(id);
        }
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        if !self.own.contains(name) && !is_header(name) {
            let message = format!(
                "no attribute `{}`: expected method, path, host, client, header:NAME in small letters, or a name that \
                 the file lists in `attributes`",
                shown(name)
            );
            return Err(self.error(Kind::UnknownAttribute, place, at, message));
        }
        let id = self.model.names.push(name);
        self.ids.insert(name.to_owned(), id);
        Ok(id)
    }

    /// What `text` names. If it is malformed, that is an error of this kind.
    pub(super) fn reference(
        &mut self,
        text: &str,
        kind: Kind,
        place: Place<'_>,
        at: Range<usize>,
    ) -> Result<Reference, RulesError> {
        if let Some(number) = text.strip_prefix("path:") {
            self.model.names.used(Id::PATH);
            return match plain(number, 1, MAX_SEGMENT) {
                Some(number) => Ok(Reference::Segment(number - 1)),
                None => {
                    let message =
                        format!("`{}`: expected path:N, with N from 1 to {MAX_SEGMENT}", shown(text));
                    Err(self.error(kind, place, at, message))
                }
            };
        }
        if let Some(widths) = text.strip_prefix("client/") {
            self.model.names.used(Id::CLIENT);
            return match widths
                .split_once('/')
                .and_then(|(v4, v6)| Some((plain(v4, 8, 32)?, plain(v6, 32, 128)?)))
            {
                Some((v4, v6)) => Ok(self.width(Widths { v4, v6 })),
                None => {
                    let message = format!(
                        "`{}`: expected client/V4/V6, with V4 from 8 to 32 and V6 from 32 to 128",
                        shown(text)
                    );
                    Err(self.error(kind, place, at, message))
                }
            };
        }
        Ok(match self.attribute(text, place, at)? {
            Id::PATH => Reference::Path,
            Id::CLIENT => self.width(Widths::default()),
            id => Reference::Attribute(id),
        })
    }

    pub(super) fn key(&mut self, label: &RuleLabel, value: &Value<'t>) -> Result<Box<[Part]>, RulesError> {
        let place = Place::of(label, "key");
        let expected = "a list of texts, such as [\"user|client\"]";
        let parts = value.get_ref().as_array().ok_or_else(|| self.wrong_type(place, value, expected))?;
        if parts.len() > MAX_PARTS {
            let message = format!("{} parts: expected at most {MAX_PARTS}", parts.len());
            return Err(self.error(Kind::BadKey, place, value.span(), message));
        }
        let mut seen = HashSet::new();
        let mut key = Vec::with_capacity(parts.len());
        for part in parts {
            let text = self.text(place, part, "text, such as \"user|client\"")?;
            let mut references = Vec::new();
            for name in text.split('|') {
                let reference = self.reference(name, Kind::BadKey, place, part.span())?;
                if !seen.insert(name) {
                    let message = format!("`{}` is there twice: expected each once", shown(name));
                    return Err(self.error(Kind::BadKey, place, part.span(), message));
                }
                references.push((reference, format!(";{name}=").into_bytes().into()));
            }
            key.push(Part { references: references.into(), absent: format!(";{text}").into_bytes().into() });
        }
        Ok(key.into())
    }
}

/// A number without a sign or leading zeros, in this range.
fn plain<T: std::str::FromStr + PartialOrd>(digits: &str, least: T, most: T) -> Option<T> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    is_plain.then(|| digits.parse().ok())?.filter(|number| (least..=most).contains(number))
}

/// A header's name is a token in small letters.
fn is_header(name: &str) -> bool {
    name.strip_prefix("header:").is_some_and(|header| {
        !header.is_empty()
            && header.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$%&'*+.^_`~-".contains(&byte)
            })
    })
}
