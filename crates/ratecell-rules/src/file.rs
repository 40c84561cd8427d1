//! A file of rules: from TOML to rules that are checked one by one.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::attribute::{Id, Names};
use crate::client::Widths;
use crate::error::{RuleLabel, RulesError, RulesErrorKind as Kind};
use crate::rule::{Group, Reference, Rule, RulePolicy, WidthList};

mod condition;
mod limit;
mod reference;
mod rule;
mod strict;

/// The most rules of a file.
const MAX_RULES: usize = 65_536;

const FILE_FIELDS: [&str; 5] = ["ratecell_rules", "attributes", "path_case", "unclear_path", "rule"];

/// What a file says.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) names: Names,
    pub(crate) widths: WidthList,
    pub(crate) refuse_unclear: bool,
    pub(crate) ignore_case: bool,
    pub(crate) rules: Vec<Rule>,
    pub(crate) policies: Vec<RulePolicy>,
    /// How many named groups there are.
    pub(crate) groups: u32,
}

type Value<'t> = Spanned<DeValue<'t>>;

/// A file while it is read.
#[derive(Debug)]
struct File<'t> {
    text: &'t str,
    /// The places of the line feeds, in order.
    line_feeds: Vec<usize>,
    model: Model,
    /// The file's own attributes.
    own: HashSet<String>,
    /// The numbers of the attributes that were used, but for the built-in ones.
    ids: HashMap<String, Id>,
    group_numbers: HashMap<String, Group>,
    rule_names: HashSet<String>,
}

/// Where in a file a value stands.
#[derive(Clone, Copy, Debug)]
struct Place<'p> {
    rule: Option<&'p RuleLabel>,
    /// The parts of the field's name, at least one: limit, of, pro.
    field: [Option<&'p str>; 3],
}

impl<'p> Place<'p> {
    fn file(field: &'p str) -> Self {
        Self { rule: None, field: [Some(field), None, None] }
    }

    fn of(rule: &'p RuleLabel, field: &'p str) -> Self {
        Self { rule: Some(rule), field: [Some(field), None, None] }
    }

    /// A field of this one, which has at most three parts then.
    fn field(self, name: &'p str) -> Self {
        let [first, second, _] = self.field;
        Self { field: [first, second.or(Some(name)), second.and(Some(name))], ..self }
    }

    fn name(self) -> String {
        self.field.into_iter().flatten().collect::<Vec<_>>().join(".")
    }
}

/// Reads a file.
pub(crate) fn read(text: &[u8]) -> Result<Model, RulesError> {
    let text = str::from_utf8(text).map_err(|error| {
        let line = 1 + text[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        not_toml(Some(line), "the file has bytes that are not UTF-8: expected TOML 1.0 in UTF-8".to_owned())
    })?;
    let mut file = File {
        text,
        line_feeds: text.bytes().enumerate().filter_map(|(at, byte)| (byte == b'\n').then_some(at)).collect(),
        model: Model::default(),
        own: HashSet::new(),
        ids: HashMap::new(),
        group_numbers: HashMap::new(),
        rule_names: HashSet::new(),
    };
    let table = DeTable::parse(text).map_err(|error| {
        let message = error.message().trim_end().replace('\n', ", ");
        not_toml(error.span().map(|span| file.line(span.start)), format!("{message}: expected TOML 1.0"))
    })?;
    strict::check(text).map_err(|(at, what)| not_toml(Some(file.line(at)), what.to_owned()))?;
    file.read(table.get_ref())?;
    Ok(file.model)
}

fn not_toml(line: Option<usize>, message: String) -> RulesError {
    RulesError { kind: Kind::Syntax, rule: None, field: None, why: None, line, message }
}

impl<'t> File<'t> {
    /// The line of a byte, counted from 1.
    fn line(&self, at: usize) -> usize {
        1 + self.line_feeds.partition_point(|feed| *feed < at)
    }

    fn error(&self, kind: Kind, place: Place<'_>, at: Range<usize>, message: String) -> RulesError {
        RulesError {
            kind,
            rule: place.rule.cloned(),
            field: Some(place.name()),
            why: None,
            line: Some(self.line(at.start)),
            message,
        }
    }

    fn wrong_type(&self, place: Place<'_>, value: &Value<'t>, expected: &str) -> RulesError {
        let found = kind_of(value.get_ref());
        self.error(Kind::WrongType, place, value.span(), format!("this is {found}: expected {expected}"))
    }

    fn text<'v>(
        &self,
        place: Place<'_>,
        value: &'v Value<'t>,
        expected: &str,
    ) -> Result<&'v str, RulesError> {
        value.get_ref().as_str().ok_or_else(|| self.wrong_type(place, value, expected))
    }

    /// Refuses fields that are none of `known`.
    fn known_fields(
        &self,
        place: impl Fn(&str) -> RulesError,
        table: &DeTable<'t>,
        known: &[&str],
    ) -> Result<(), RulesError> {
        let unknown = table.keys().filter(|key| !known.contains(&&**key.get_ref()));
        // The first in the file: the table is in the order of the names.
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(()),
            Some(key) => {
                let at = key.span();
                let mut error = place(key.get_ref());
                error.line = Some(self.line(at.start));
                error.message = format!("no such field: expected {}", listed(known));
                Err(error)
            }
        }
    }

    fn read(&mut self, table: &DeTable<'t>) -> Result<(), RulesError> {
        let unknown = |name: &str| self.error(Kind::UnknownField, Place::file(name), 0..0, String::new());
        self.known_fields(unknown, table, &FILE_FIELDS)?;
        let end = self.text.len()..self.text.len();
        let missing = |name, what: &str| {
            self.error(Kind::MissingField, Place::file(name), end.clone(), format!("absent: expected {what}"))
        };
        let version =
            table.get("ratecell_rules").ok_or_else(|| missing("ratecell_rules", "ratecell_rules = 1"))?;
        let rules = table.get("rule").ok_or_else(|| missing("rule", "at least one [[rule]]"))?;
        self.version(version)?;
        if let Some(names) = table.get("attributes") {
            self.attributes(names)?;
        }
        self.model.ignore_case = self.word(table, "path_case", ["exact", "ignore"])? == 1;
        self.model.refuse_unclear = self.word(table, "unclear_path", ["both", "refuse"])? == 1;
        if self.model.refuse_unclear {
            self.model.names.used(Id::PATH);
        }
        self.rules(rules)
    }

    fn version(&self, version: &Value<'t>) -> Result<(), RulesError> {
        let place = Place::file("ratecell_rules");
        let number =
            version.get_ref().as_integer().ok_or_else(|| self.wrong_type(place, version, "the number 1"))?;
        if i64::from_str_radix(number.as_str(), number.radix()) == Ok(1) {
            return Ok(());
        }
        let message = format!("the version is {}: expected 1", number.as_str());
        Err(self.error(Kind::BadVersion, place, version.span(), message))
    }

    fn attributes(&mut self, value: &Value<'t>) -> Result<(), RulesError> {
        let place = Place::file("attributes");
        let expected = "a list of names";
        let names = value.get_ref().as_array().ok_or_else(|| self.wrong_type(place, value, expected))?;
        for name in names {
            let text = self.text(place, name, "a name")?;
            let why = if !is_attribute_name(text) {
                "is malformed: expected a letter or `_`, then up to 63 of A-Z a-z 0-9 `_.-`"
            } else if ["method", "path", "host", "client"]
                .iter()
                .any(|taken| taken.eq_ignore_ascii_case(text))
            {
                "is taken: expected another name than method, path, host and client, in any case"
            } else if !self.own.insert(text.to_owned()) {
                "is there twice: expected each name once"
            } else {
                continue;
            };
            let message = format!("`{}` {why}", shown(text));
            return Err(self.error(Kind::BadAttribute, place, name.span(), message));
        }
        Ok(())
    }

    /// Which of the two words a field has; the first is the default.
    fn word(&self, table: &DeTable<'t>, name: &str, words: [&str; 2]) -> Result<usize, RulesError> {
        let Some(value) = table.get(name) else { return Ok(0) };
        let [first, second] = words;
        let text = self.text(Place::file(name), value, "a word")?;
        words.iter().position(|word| *word == text).ok_or_else(|| {
            let message = format!("`{}`: expected {first} or {second}", shown(text));
            self.error(Kind::BadValue, Place::file(name), value.span(), message)
        })
    }

    fn rules(&mut self, value: &Value<'t>) -> Result<(), RulesError> {
        let place = Place::file("rule");
        let expected = "tables, each written [[rule]]";
        let rules = value.get_ref().as_array().ok_or_else(|| self.wrong_type(place, value, expected))?;
        if let Some(other) = rules.iter().find(|rule| !rule.get_ref().is_table()) {
            return Err(self.wrong_type(place, other, expected));
        }
        if rules.is_empty() {
            let message = "no rule: expected at least one [[rule]]".to_owned();
            return Err(self.error(Kind::MissingField, place, value.span(), message));
        }
        if let Some(first_too_many) = rules.get(MAX_RULES) {
            let message = format!("{} rules: expected at most {MAX_RULES}", rules.len());
            return Err(self.error(Kind::TooMany, place, first_too_many.span(), message));
        }
        for (number, rule) in (1..).zip(rules.iter()) {
            if let Some(table) = rule.get_ref().as_table() {
                self.rule(number, rule.span(), table)?;
            }
        }
        Ok(())
    }

    fn group(&mut self, name: &str) -> Group {
        if let Some(group) = self.group_numbers.get(name) {
            return group.clone();
        }
        let group = Group { number: self.model.groups, name: Arc::from(name) };
        self.model.groups += 1;
        self.group_numbers.insert(name.to_owned(), group.clone());
        group
    }

    fn width(&mut self, widths: Widths) -> Reference {
        let known = self.model.widths.iter().position(|known| *known == widths);
        Reference::Client(known.unwrap_or_else(|| {
            self.model.widths.push(widths);
            self.model.widths.len() - 1
        }))
    }
}

/// What a value is, with its article.
fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// As much of a text as an error shows, without control characters.
fn shown(text: &str) -> String {
    const MOST: usize = 64;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

fn listed(words: &[&str]) -> String {
    match words {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => words.concat(),
    }
}

fn is_attribute_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && text.len() <= 64
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// The name of a rule or a group.
fn is_name(text: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut bytes = text.bytes();
    bytes.next().is_some_and(is_first)
        && text.len() <= 64
        && bytes.all(|byte| is_first(byte) || b"_.-".contains(&byte))
}
