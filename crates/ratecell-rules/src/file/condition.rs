//! The conditions of a rule.

use toml::de::{DeTable, DeValue};

use super::{File, Place, Value, listed, shown};
use crate::attribute::Id;
use crate::client::{Network, Refused};
use crate::condition::{Condition, Patterns};
use crate::error::{RuleLabel, RulesError, RulesErrorKind as Kind};
use crate::pattern::{PathPattern, Texts, Wild};

impl<'t> File<'t> {
    pub(super) fn conditions(
        &mut self,
        label: &RuleLabel,
        table: &DeTable<'t>,
    ) -> Result<Box<[(Id, Condition)]>, RulesError> {
        let Some(value) = table.get("match") else { return Ok(Box::default()) };
        let place = Place::of(label, "match");
        let expected = "a table of conditions, such as match.path = \"/api/**\"";
        let conditions = value.get_ref().as_table().ok_or_else(|| self.wrong_type(place, value, expected))?;
        let mut sorted: Vec<_> = conditions.iter().collect();
        sorted.sort_by_key(|(name, _)| name.span().start);
        let mut made = Vec::with_capacity(sorted.len());
        for (name, condition) in sorted {
            let place = place.field(name.get_ref());
            let id = self.attribute(name.get_ref(), place, name.span())?;
            made.push((id, self.condition(id, place, condition, false)?));
        }
        Ok(made.into())
    }

    fn condition(
        &self,
        id: Id,
        place: Place<'_>,
        value: &Value<'t>,
        is_inner: bool,
    ) -> Result<Condition, RulesError> {
        match value.get_ref() {
            DeValue::Boolean(present) => Ok(Condition::Present(*present)),
            DeValue::String(_) => self.patterns(id, place, std::slice::from_ref(value)),
            DeValue::Array(list) => {
                self.not_empty(place, value, list.len())?;
                self.patterns(id, place, list)
            }
            DeValue::Table(table) => self.condition_table(id, place, value, table, is_inner),
            _ => Err(self.wrong_type(
                place,
                value,
                "text, a list of texts, true, false, or a table with is or not",
            )),
        }
    }

    fn condition_table(
        &self,
        id: Id,
        place: Place<'_>,
        value: &Value<'t>,
        table: &DeTable<'t>,
        is_inner: bool,
    ) -> Result<Condition, RulesError> {
        let only = table.iter().next().filter(|_| table.len() == 1);
        match only.map(|(name, inner)| (&**name.get_ref(), inner)) {
            Some(("is", texts)) if id != Id::PATH => self.exact(place, texts),
            Some(("not", inner)) if !is_inner => Ok(match self.condition(id, place, inner, true)? {
                Condition::Present(present) => Condition::Present(!present),
                Condition::Any(patterns) | Condition::No(patterns) => Condition::No(patterns),
            }),
            _ => {
                let expected = match (id, is_inner) {
                    (Id::PATH, false) => "{ not = .. }; for a path there is no { is = .. }",
                    (Id::PATH, true) => "a pattern, a list of patterns, true or false in `not`",
                    (_, false) => "{ is = .. } or { not = .. }, with nothing beside it",
                    (_, true) => "{ is = .. }, with nothing beside it, in `not`",
                };
                let names: Vec<_> = table.keys().map(|name| shown(name.get_ref())).collect();
                let message = format!("a table with {} is no condition: expected {expected}", quoted(&names));
                Err(self.error(Kind::BadMatch, place, value.span(), message))
            }
        }
    }

    fn not_empty(&self, place: Place<'_>, value: &Value<'t>, count: usize) -> Result<(), RulesError> {
        if count > 0 {
            return Ok(());
        }
        let message = "an empty list would never hold: expected at least one pattern".to_owned();
        Err(self.error(Kind::BadMatch, place, value.span(), message))
    }

    /// The texts themselves.
    fn exact(&self, place: Place<'_>, value: &Value<'t>) -> Result<Condition, RulesError> {
        let texts = value.get_ref().as_array().map_or(std::slice::from_ref(value), |list| list);
        let literals = texts.iter().map(|text| Ok(Wild::literal(self.text(place, text, "text")?.as_bytes())));
        let literals = literals.collect::<Result<Vec<_>, _>>()?;
        self.not_empty(place, value, literals.len())?;
        Ok(Condition::Any(Patterns::Texts(Texts::new(literals))))
    }

    /// Any of the patterns; if one holds for every value, that the attribute is present.
    fn patterns(&self, id: Id, place: Place<'_>, list: &[Value<'t>]) -> Result<Condition, RulesError> {
        let texts = list.iter().map(|value| Ok((self.text(place, value, "a pattern")?, value)));
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        let refuse = |kind, text: &str, value: &Value<'t>, why: &str| {
            self.error(kind, place, value.span(), format!("`{}` {why}", shown(text)))
        };
        let (patterns, is_any) = match id {
            Id::PATH => {
                let paths = texts.into_iter().map(|(text, value)| {
                    self.path(text).map_err(|why| refuse(Kind::BadPattern, text, value, why))
                });
                let paths = paths.collect::<Result<Vec<_>, _>>()?;
                let is_any = paths.iter().any(PathPattern::is_any);
                (Patterns::Paths(paths.into()), is_any)
            }
            Id::CLIENT => {
                let networks = texts.into_iter().map(|(text, value)| {
                    Network::of_condition(text)
                        .map_err(|why| refuse(Kind::BadCidr, text, value, no_network(why)))
                });
                (Patterns::Networks(networks.collect::<Result<_, _>>()?), false)
            }
            _ => {
                let wilds = texts.into_iter().map(|(text, value)| {
                    wild(id, text).map_err(|why| refuse(Kind::BadPattern, text, value, why))
                });
                let wilds = wilds.collect::<Result<Vec<_>, _>>()?;
                let is_any = wilds.iter().any(Wild::is_any);
                (Patterns::Texts(Texts::new(wilds)), is_any)
            }
        };
        Ok(if is_any { Condition::Present(true) } else { Condition::Any(patterns) })
    }

    fn path(&self, text: &str) -> Result<PathPattern, &'static str> {
        let Some(relative) = text.strip_prefix('/') else {
            return Err("does not begin with `/`, as each reading of a path does: expected a path");
        };
        if text.contains(['%', '?', '#', ';', '\\']) {
            return Err(
                "has one of `% ? # ; \\`: expected the bytes that are meant themselves, without a query",
            );
        }
        let mut segments: Vec<_> =
            if relative.is_empty() { Vec::new() } else { relative.split('/').collect() };
        let rest = segments.pop_if(|last| *last == "**").is_some();
        let made = segments.into_iter().map(|segment| {
            if matches!(segment, "" | "." | "..") {
                return Err("has an empty segment, `.` or `..`: expected none, also at the end");
            }
            let segment =
                if self.model.ignore_case { segment.to_ascii_lowercase() } else { segment.to_owned() };
            star(&segment)
        });
        Ok(PathPattern { segments: made.collect::<Result<_, _>>()?, rest })
    }
}

/// Text with at most one star.
fn star(text: &str) -> Result<Wild, &'static str> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("has a control character: expected none in a pattern");
    }
    let wild = Wild::with_star(text.as_bytes());
    if wild.end.as_ref().is_some_and(|end| end.contains(&b'*')) {
        return Err(
            "has a second `*`: expected one in a text or a segment, and /** only at the end of a path",
        );
    }
    Ok(wild)
}

fn wild(id: Id, text: &str) -> Result<Wild, &'static str> {
    match id {
        Id::METHOD if text.bytes().any(|byte| byte.is_ascii_lowercase()) => {
            Err("has small letters: expected capitals, as methods are sent")
        }
        Id::HOST if text.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            Err("has capitals: expected small letters, as hosts are compared")
        }
        _ => star(text),
    }
}

fn no_network(why: Refused) -> &'static str {
    match why {
        Refused::Unreadable => {
            "is no network: expected ADDRESS or ADDRESS/LENGTH, without leading zeros or a zone"
        }
        Refused::BitsBeyond => "has bits beyond its length: expected the network's first address",
        Refused::IsIpv4 => "would never hold, its addresses are compared as IPv4: expected it as IPv4",
    }
}

fn quoted(names: &[String]) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    listed(&names.iter().map(|name| &**name).collect::<Vec<_>>())
}
