//! The configuration of envoyproxy/ratelimit, as its files have it.

use std::rc::Rc;

use crate::error::ImportError;
use crate::yaml::{Key, Node, Value};

/// As many as a file of rules can have.
const MAX_DESCRIPTORS: usize = 65_536;

/// One file: a domain, with a tree of descriptors.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) domain: String,
    pub(crate) line: usize,
    pub(crate) descriptors: Vec<Descriptor>,
}

/// A node of the tree: it matches an entry of a request's descriptor.
#[derive(Debug)]
pub(crate) struct Descriptor {
    pub(crate) line: usize,
    pub(crate) key: String,
    pub(crate) value: Pattern,
    pub(crate) limit: Option<Limit>,
    pub(crate) is_shadow: bool,
    /// Whether all values that it matches have one count.
    pub(crate) is_shared: bool,
    pub(crate) children: Vec<Descriptor>,
}

/// Which values a descriptor matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Any,
    Exact(String),
    /// What begins so.
    Prefix(String),
}

impl Pattern {
    /// Whether it matches all that the other one matches.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (Self::Exact(own), Self::Exact(other)) => own == other,
            (Self::Exact(_), _) => false,
            (Self::Prefix(own), Self::Exact(other) | Self::Prefix(other)) => other.starts_with(&**own),
            (Self::Prefix(own), Self::Any) => own.is_empty(),
        }
    }

    /// Whether there is a value that both match.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }
}

#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) line: usize,
    pub(crate) name: String,
    /// The names of the limits that it replaces, with their lines.
    pub(crate) replaces: Vec<(usize, String)>,
    pub(crate) rate: Rate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rate {
    Unlimited,
    Window { requests: u32, unit: Unit },
}

/// The units of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Unit {
    fn named(name: &str) -> Option<Self> {
        Some(match &*name.to_ascii_lowercase() {
            "second" => Self::Second,
            "minute" => Self::Minute,
            "hour" => Self::Hour,
            "day" => Self::Day,
            "week" => Self::Week,
            "month" => Self::Month,
            "year" => Self::Year,
            _ => return None,
        })
    }
}

/// Reads a file.
pub(crate) fn read(document: &Node) -> Result<Config, ImportError> {
    let root = fields(document, &["domain", "descriptors"])?;
    let domain = root.text("domain")?.unwrap_or_default();
    if domain.is_empty() {
        return Err(ImportError::at(document.line, "no `domain`: expected the domain that requests name"));
    }
    let mut left = MAX_DESCRIPTORS;
    let descriptors = root.get("descriptors").map_or(Ok(Vec::new()), |list| descriptors(list, &mut left))?;
    Ok(Config { domain, line: root.line("domain"), descriptors })
}

fn descriptors(list: &Node, left: &mut usize) -> Result<Vec<Descriptor>, ImportError> {
    let mut read: Vec<Descriptor> = Vec::new();
    for node in items(list)? {
        *left = left.checked_sub(1).ok_or_else(|| {
            ImportError::at(node.line, format!("more than {MAX_DESCRIPTORS} descriptors: expected fewer"))
        })?;
        let one = descriptor(node, left)?;
        if let Some(same) = read.iter().find(|other| other.key == one.key && other.value == one.value) {
            return Err(ImportError::at(
                one.line,
                format!("the same key and value as on line {}: expected them once", same.line),
            ));
        }
        read.push(one);
    }
    Ok(read)
}

/// Fields that only name metrics have no effect on limits.
const DESCRIPTOR: [&str; 9] = [
    "key",
    "value",
    "rate_limit",
    "descriptors",
    "shadow_mode",
    "quota_mode",
    "detailed_metric",
    "value_to_metric",
    "share_threshold",
];

fn descriptor(node: &Node, left: &mut usize) -> Result<Descriptor, ImportError> {
    let fields = fields(node, &DESCRIPTOR)?;
    let key = fields.text("key")?.unwrap_or_default();
    if key.is_empty() {
        return Err(ImportError::at(node.line, "a descriptor without `key`: expected one"));
    }
    if key.ends_with('*') {
        return Err(ImportError::at(
            fields.line("key"),
            format!("the key {key:?}: expected a whole one; only a value can end in `*`"),
        ));
    }
    let value = match fields.text("value")?.unwrap_or_default() {
        value if value.is_empty() => Pattern::Any,
        value => match value.strip_suffix('*') {
            Some(prefix) if prefix.contains('*') => {
                return Err(ImportError::at(
                    fields.line("value"),
                    format!("the value {value:?}: expected one `*` at most where it ends in one"),
                ));
            }
            Some(prefix) => Pattern::Prefix(prefix.to_owned()),
            None => Pattern::Exact(value),
        },
    };
    for metric in ["detailed_metric", "value_to_metric"] {
        fields.truth(metric)?;
    }
    if fields.truth("quota_mode")? {
        return Err(ImportError::at(
            fields.line("quota_mode"),
            "quota_mode, which answers OK and says so in metadata: expected a limit that refuses, or shadow_mode",
        ));
    }
    let is_shared = fields.truth("share_threshold")?;
    if is_shared && !matches!(value, Pattern::Prefix(_)) {
        return Err(ImportError::at(
            fields.line("share_threshold"),
            "share_threshold without a wildcard: expected a value that ends in `*`",
        ));
    }
    let limit = fields.get("rate_limit").map(limit).transpose()?;
    let children = fields.get("descriptors").map_or(Ok(Vec::new()), |list| descriptors(list, left))?;
    let is_shadow = fields.truth("shadow_mode")?;
    Ok(Descriptor { line: node.line, key, value, limit, is_shadow, is_shared, children })
}

fn limit(node: &Node) -> Result<Limit, ImportError> {
    let fields = fields(node, &["requests_per_unit", "unit", "unlimited", "name", "replaces"])?;
    let name = fields.text("name")?.unwrap_or_default();
    let mut replaces = Vec::new();
    if let Some(list) = fields.get("replaces") {
        for one in items(list)? {
            let replaced = self::fields(one, &["name"])?.text("name")?.unwrap_or_default();
            if replaced.is_empty() || replaced == name {
                let why = "an entry of `replaces` without a name, or with that of its own limit: expected another limit's";
                return Err(ImportError::at(one.line, why));
            }
            replaces.push((one.line, replaced));
        }
    }
    let unit = fields.text("unit")?.filter(|unit| !unit.is_empty());
    let rate = if fields.truth("unlimited")? {
        if unit.is_some() {
            return Err(ImportError::at(fields.line("unit"), "a unit of what is unlimited: expected none"));
        }
        Rate::Unlimited
    } else {
        let expected = "expected second, minute, hour, day, week, month or year";
        let Some(unit) = unit else {
            return Err(ImportError::at(node.line, format!("a rate_limit without `unit`: {expected}")));
        };
        let unit = Unit::named(&unit)
            .ok_or_else(|| ImportError::at(fields.line("unit"), format!("the unit {unit:?}: {expected}")))?;
        Rate::Window { requests: fields.number("requests_per_unit")?.unwrap_or(0), unit }
    };
    Ok(Limit { line: node.line, name, replaces, rate })
}

/// The fields of a mapping.
struct Fields<'n>(&'n [(Key, Rc<Node>)]);

/// The fields of a mapping, all of which are known.
fn fields<'n>(node: &'n Node, known: &[&str]) -> Result<Fields<'n>, ImportError> {
    let Value::Map(map) = &node.value else {
        return Err(ImportError::at(node.line, format!("{}: expected a mapping", node.kind())));
    };
    if let Some((key, _)) = map.iter().find(|(key, _)| !known.contains(&&*key.text)) {
        let known = known.join(", ");
        return Err(ImportError::at(
            key.line,
            format!("unknown field `{}`: expected one of {known}", key.text),
        ));
    }
    Ok(Fields(map))
}

fn items(node: &Node) -> Result<&[Rc<Node>], ImportError> {
    match &node.value {
        Value::List(list) => Ok(list),
        _ => Err(ImportError::at(node.line, format!("{}: expected a list", node.kind()))),
    }
}

impl<'n> Fields<'n> {
    /// The value, unless there is none or nothing.
    fn get(&self, name: &str) -> Option<&'n Node> {
        let found = self.0.iter().find(|(key, _)| key.text == name);
        found.map(|(_, node)| &**node).filter(|node| !node.is_null())
    }

    fn line(&self, name: &str) -> usize {
        self.0.iter().find(|(key, _)| key.text == name).map_or(1, |(key, _)| key.line)
    }

    /// A scalar, as it is written.
    fn text(&self, name: &str) -> Result<Option<String>, ImportError> {
        let text = |node: &Node| match &node.value {
            Value::Scalar { text, .. } => Ok(text.clone()),
            _ => Err(ImportError::at(self.line(name), format!("`{name}` is {}: expected text", node.kind()))),
        };
        self.get(name).map(text).transpose()
    }

    fn truth(&self, name: &str) -> Result<bool, ImportError> {
        let text = self.text(name)?;
        match text.map(|text| text.to_ascii_lowercase()).as_deref() {
            None | Some("false" | "no" | "off" | "n") => Ok(false),
            Some("true" | "yes" | "on" | "y") => Ok(true),
            Some(other) => Err(ImportError::at(
                self.line(name),
                format!("`{name}` is {other:?}: expected true or false"),
            )),
        }
    }

    fn number(&self, name: &str) -> Result<Option<u32>, ImportError> {
        let number = |text: String| {
            // With a 0 before it, it is octal there.
            let is_octal = text.len() > 1 && text.starts_with('0');
            text.parse().ok().filter(|_| !is_octal).ok_or_else(|| {
                let most = u32::MAX;
                let why = format!(
                    "`{name}` is {text:?}: expected a whole number from 0 to {most}, without a 0 before it"
                );
                ImportError::at(self.line(name), why)
            })
        };
        self.text(name)?.map(number).transpose()
    }
}
