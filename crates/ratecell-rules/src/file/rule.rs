//! One rule of a file.

use std::ops::Range;

use toml::de::DeTable;

use super::{File, Place, is_name, listed, shown};
use crate::error::{RuleLabel, RulesError, RulesErrorKind as Kind};
use crate::rule::{Cost, Leaf, Limit, Mode, Rule};

const FIELDS: [&str; 7] = ["name", "match", "mode", "group", "key", "limit", "cost"];

/// The fields that a skip cannot have.
const NOT_IN_SKIP: [&str; 4] = ["key", "limit", "cost", "group"];

const MODES: [Mode; 3] = [Mode::Enforce, Mode::Shadow, Mode::Skip];

impl<'t> File<'t> {
    /// Reads the rule of that number, counted from 1.
    pub(super) fn rule(
        &mut self,
        number: usize,
        at: Range<usize>,
        table: &DeTable<'t>,
    ) -> Result<(), RulesError> {
        let (name, line) = self.name(number, at.clone(), table)?;
        let label = RuleLabel::Name(name.clone());
        let unknown =
            |field: &str| self.error(Kind::UnknownField, Place::of(&label, field), 0..0, String::new());
        self.known_fields(unknown, table, &FIELDS)?;
        let mode = self.mode(&label, table)?;
        let matches = self.conditions(&label, table)?;
        let number = self.model.rules.len();
        let mut rule = Rule {
            name: name.into(),
            mode,
            group: None,
            line,
            matches,
            key: Box::default(),
            limit: Limit::One(Leaf::Unlimited),
            cost: Cost::Fixed(0),
        };
        if mode == Mode::Skip {
            self.nothing_else(&label, table)?;
        } else {
            rule.group = match table.get("group") {
                None => None,
                Some(value) => {
                    let place = Place::of(&label, "group");
                    let text = self.text(place, value, "a name")?;
                    if !is_name(text) {
                        return Err(self.error(Kind::BadName, place, value.span(), malformed(text)));
                    }
                    Some(self.group(text))
                }
            };
            let required = |name| {
                let missing = || match name {
                    "key" => "absent: expected a list; [] is one cell for all requests",
                    _ => "absent: expected a policy, \"unlimited\", \"blocked\" or a table of them",
                };
                table.get(name).ok_or_else(|| {
                    self.error(Kind::MissingField, Place::of(&label, name), at.clone(), missing().to_owned())
                })
            };
            let (key, limit) = (required("key")?, required("limit")?);
            rule.key = self.key(&label, key)?;
            rule.limit = self.limit(number, &label, limit)?;
            rule.cost = match table.get("cost") {
                None => Cost::Fixed(1),
                Some(cost) => self.cost(&label, cost)?,
            };
        }
        self.model.rules.push(rule);
        Ok(())
    }

    fn name(
        &mut self,
        number: usize,
        at: Range<usize>,
        table: &DeTable<'t>,
    ) -> Result<(String, usize), RulesError> {
        let label = RuleLabel::Number(number);
        let place = Place::of(&label, "name");
        let Some(value) = table.get("name") else {
            let message = "absent: expected a name, which is part of each key".to_owned();
            return Err(self.error(Kind::MissingField, place, at, message));
        };
        let name = self.text(place, value, "a name")?;
        if !is_name(name) {
            return Err(self.error(Kind::BadName, place, value.span(), malformed(name)));
        }
        if !self.rule_names.insert(name.to_owned()) {
            let label = RuleLabel::Name(name.to_owned());
            let message = "an earlier rule has this name: expected each name once".to_owned();
            return Err(self.error(Kind::DuplicateName, Place::of(&label, "name"), value.span(), message));
        }
        Ok((name.to_owned(), self.line(value.span().start)))
    }

    fn mode(&self, label: &RuleLabel, table: &DeTable<'t>) -> Result<Mode, RulesError> {
        let Some(value) = table.get("mode") else { return Ok(Mode::Enforce) };
        let place = Place::of(label, "mode");
        let text = self.text(place, value, "a word")?;
        MODES.into_iter().find(|mode| mode.name() == text).ok_or_else(|| {
            let message = format!("`{}`: expected {}", shown(text), listed(&MODES.map(Mode::name)));
            self.error(Kind::BadValue, place, value.span(), message)
        })
    }

    fn nothing_else(&self, label: &RuleLabel, table: &DeTable<'t>) -> Result<(), RulesError> {
        for name in NOT_IN_SKIP {
            if let Some(value) = table.get(name) {
                let message =
                    "a skip limits nothing: expected no other field than name, match and mode".to_owned();
                return Err(self.error(Kind::NotInSkip, Place::of(label, name), value.span(), message));
            }
        }
        Ok(())
    }
}

fn malformed(name: &str) -> String {
    format!("`{}` is malformed: expected one of a-z 0-9, then up to 63 of a-z 0-9 `_.-`", shown(name))
}
