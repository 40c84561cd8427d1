//! The files of envoyproxy/ratelimit, written as a file of rules.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use crate::config::{self, Config, Descriptor, Limit, Pattern, Rate, Unit};
use crate::error::ImportError;
use crate::names::{self, DOMAIN, ENTRIES, HITS, RuleNames};
use crate::yaml;

#[cfg(test)]
mod tests;

/// The most parts of a rule's key.
const MAX_PARTS: usize = 8;

/// A file of rules under construction, from files of envoyproxy/ratelimit.
///
/// ```
/// use ratecell_envoy::Import;
///
/// let mut import = Import::new();
/// import.add("
/// domain: edge
/// descriptors:
///   - key: remote_address
///     rate_limit: { unit: minute, requests_per_unit: 100 }
/// ")?;
/// let rules = import.finish();
/// assert!(rules.contains("key = [\"remote_address\"]\nlimit = \"fixed_window 100/1m\"\n"), "{rules}");
/// # Ok::<(), ratecell_envoy::ImportError>(())
/// ```
#[derive(Debug, Default)]
pub struct Import {
    domains: HashSet<String>,
    attributes: BTreeSet<String>,
    names: RuleNames,
    rules: String,
    ignores_replaces: bool,
}

impl Import {
    /// Begins a file without a rule.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves `replaces` out where rules cannot say it: then both limits apply.
    #[must_use]
    pub fn ignoring_replaces(mut self) -> Self {
        self.ignores_replaces = true;
        self
    }

    /// Adds the limits of one file, which are those of one domain.
    ///
    /// # Errors
    /// The file is no such configuration, says what rules cannot express, or has the domain of another. Nothing was added
    /// then.
    pub fn add(&mut self, text: &str) -> Result<(), ImportError> {
        let document = yaml::read(text)?;
        let config = config::read(&document)?;
        if self.domains.contains(&config.domain) {
            return Err(ImportError::at(
                config.line,
                format!("the domain {:?} is that of another file: expected each domain once", config.domain),
            ));
        }
        let mut named = HashSet::new();
        names_of_limits(&config.descriptors, &mut named);
        let mut writer = Writer { import: self, config: &config, named, rules: String::new() };
        let mut path = Vec::new();
        writer.level(&mut path, &config.descriptors)?;
        let rules = writer.rules;
        self.rules.push_str(&rules);
        self.domains.insert(config.domain);
        Ok(())
    }

    /// The file of rules. One without any limits nothing.
    #[must_use]
    pub fn finish(mut self) -> String {
        // Of a file whose limits are all hidden there are notes.
        if !self.rules.contains("\n[[rule]]") {
            self.rules.push_str("\n# No limit: this rule limits no request.\n");
            self.rules.push_str("[[rule]]\nname = \"nothing\"\nkey = []\nlimit = \"unlimited\"\n");
        }
        self.attributes.extend([DOMAIN, ENTRIES, HITS].map(str::to_owned));
        let attributes: Vec<_> = self.attributes.iter().map(|name| quoted(name)).collect();
        format!("ratecell_rules = 1\nattributes = [{}]\n{}", attributes.join(", "), self.rules)
    }
}

fn names_of_limits<'c>(descriptors: &'c [Descriptor], named: &mut HashSet<&'c str>) {
    for descriptor in descriptors {
        named.extend(descriptor.limit.iter().map(|limit| &*limit.name).filter(|name| !name.is_empty()));
        names_of_limits(&descriptor.children, named);
    }
}

/// Writes the rules of one domain.
///
/// A descriptor of a request takes one way down the tree, and never a second one: at each level it takes the child with its
/// value, otherwise the first wildcard that holds, otherwise the child without a value. So all rules of a domain are one
/// group, in that order. Where a way ends without a limit, or with a shadow, a rule without a limit keeps the rules below
/// from being tried.
struct Writer<'w> {
    import: &'w mut Import,
    config: &'w Config,
    /// The names of all limits of the domain.
    named: HashSet<&'w str>,
    rules: String,
}

/// The keys below a node, from the node's own on.
type Keys<'c> = Vec<&'c str>;

impl<'w> Writer<'w> {
    /// The rules of a level, and of what is below.
    fn level(&mut self, path: &mut Vec<&'w Descriptor>, level: &'w [Descriptor]) -> Result<(), ImportError> {
        let (ordered, hidden) = in_order(level);
        for (one, first) in hidden {
            self.note(one.line, &format!("is left out: line {} takes all that it would match", first.line));
        }
        let whole = ordered.partition_point(|one| matches!(one.value, Pattern::Exact(_)));
        for (number, one) in ordered.iter().enumerate() {
            path.push(one);
            self.node(path)?;
            // Two whole values never meet.
            let below = ordered[whole.max(number + 1)..].iter();
            let below = below.filter(|other| other.key == one.key && other.value.meets(&one.value));
            let mut open = Vec::new();
            for other in below {
                limited(other, &mut Vec::new(), &mut open);
            }
            let mut closed = Vec::new();
            ended(one, &mut Vec::new(), &mut closed);
            open.retain(|keys| !closed.contains(keys));
            open.sort();
            open.dedup();
            if !open.is_empty() {
                self.close(path, &open);
            }
            path.pop();
        }
        Ok(())
    }

    /// The rules of a node, the last of the path, and of what is below.
    fn node(&mut self, path: &mut Vec<&'w Descriptor>) -> Result<(), ImportError> {
        let Some(node) = path.last().copied() else { return Ok(()) };
        if let Some(limit) = &node.limit {
            self.replaces(path, limit)?;
            self.limit(path, node, limit)?;
        }
        self.level(path, &node.children)
    }

    /// Whether the group says what `replaces` does: of siblings only one applies to a descriptor.
    fn replaces(&mut self, path: &[&'w Descriptor], limit: &Limit) -> Result<(), ImportError> {
        for (line, name) in &limit.replaces {
            if !self.named.contains(&**name) {
                self.note(*line, &format!("is left out: no limit of the domain is called {name:?}"));
                continue;
            }
            if self.is_sibling(path, name) {
                continue;
            }
            if self.import.ignores_replaces {
                self.note(*line, &format!("is left out: the limit {name:?} applies, too"));
                continue;
            }
            return Err(ImportError::at(
                *line,
                format!(
                    "replaces {name:?}, a limit of another descriptor: expected a limit of the same key beside it; rules \
                     limit a request by all of its descriptors"
                ),
            ));
        }
        Ok(())
    }

    /// Whether all limits of that name are beside the last of the path, with its key.
    fn is_sibling(&self, path: &[&'w Descriptor], name: &str) -> bool {
        fn count(level: &[Descriptor], name: &str) -> usize {
            let is_named = |one: &&Descriptor| one.limit.as_ref().is_some_and(|limit| limit.name == name);
            let below: usize = level.iter().map(|one| count(&one.children, name)).sum();
            below + level.iter().filter(is_named).count()
        }
        let Some((node, above)) = path.split_last() else { return false };
        let level = above.last().map_or(&self.config.descriptors, |parent| &parent.children);
        let is_beside = |one: &&Descriptor| {
            one.key == node.key && one.limit.as_ref().is_some_and(|limit| limit.name == name)
        };
        level.iter().filter(is_beside).count() == count(&self.config.descriptors, name)
    }

    fn limit(
        &mut self,
        path: &[&'w Descriptor],
        node: &Descriptor,
        limit: &Limit,
    ) -> Result<(), ImportError> {
        let attributes = self.attributes(path);
        let counted = path.iter().zip(&attributes).filter(|(one, _)| match one.value {
            Pattern::Exact(_) => false,
            Pattern::Prefix(_) => !one.is_shared,
            Pattern::Any => true,
        });
        let parts: Vec<_> = counted.map(|(_, attribute)| quoted(attribute)).collect();
        if parts.len() > MAX_PARTS {
            return Err(ImportError::at(
                node.line,
                format!("{} values name a count here: expected at most {MAX_PARTS}", parts.len()),
            ));
        }
        let policy = match limit.rate {
            Rate::Unlimited => "unlimited".to_owned(),
            Rate::Window { requests: 0, .. } => "blocked".to_owned(),
            Rate::Window { requests, unit } => format!("fixed_window {requests}/{}", window(unit)),
        };
        let name = self.import.names.name(&self.title(path));
        self.begin(limit.line, &name, path, &attributes, &[path.iter().map(|one| &*one.key).collect()]);
        let _ = write!(self.rules, "key = [{}]\nlimit = {}\n", parts.join(", "), quoted(&policy));
        if limit.rate != Rate::Unlimited {
            let _ = writeln!(self.rules, "cost = {{ from = \"{HITS}\", default = 1 }}");
            if node.is_shadow {
                self.rules.push_str("mode = \"shadow\"\n");
            }
        }
        Ok(())
    }

    /// Ends the group for what took this way, and has these keys from its last node on.
    fn close(&mut self, path: &[&'w Descriptor], open: &[Keys<'w>]) {
        let attributes = self.attributes(path);
        let line = path.last().map_or(self.config.line, |one| one.line);
        let name = self.import.names.name(&format!("{}.else", self.title(path)));
        let above = path.split_last().map_or(&[][..], |(_, above)| above);
        let whole = |keys: &Keys<'w>| above.iter().map(|one| &*one.key).chain(keys.iter().copied()).collect();
        let lists: Vec<Keys<'w>> = open.iter().map(whole).collect();
        self.begin(line, &name, path, &attributes, &lists);
        self.rules.push_str("key = []\nlimit = \"unlimited\"\n");
    }

    /// A rule up to its conditions: one of these lists of keys, and the values of the path.
    fn begin(
        &mut self,
        line: usize,
        name: &str,
        path: &[&'w Descriptor],
        attributes: &[Cow<'w, str>],
        lists: &[Keys<'w>],
    ) {
        let domain = &self.config.domain;
        let lists: Vec<_> = lists.iter().map(|keys| quoted(&names::entries(keys.iter().copied()))).collect();
        let lists = if let [one] = &*lists { one.clone() } else { format!("[{}]", lists.join(", ")) };
        let _ = write!(
            self.rules,
            "\n[[rule]]                               # line {line}\nname = {}\ngroup = {}\nmatch.{DOMAIN} = {}\nmatch.{ENTRIES} = {lists}\n",
            quoted(name),
            quoted(&RuleNames::default().name(domain)),
            literal(domain),
        );
        for (one, attribute) in path.iter().zip(attributes) {
            let condition = match &one.value {
                Pattern::Any => continue,
                Pattern::Exact(value) => literal(value),
                Pattern::Prefix(prefix) if prefix.is_empty() => continue,
                Pattern::Prefix(prefix) => quoted(&format!("{prefix}*")),
            };
            let _ = writeln!(self.rules, "match.{} = {condition}", field(attribute));
        }
    }

    /// What the entries of the path are called. Those that rules look at are declared.
    fn attributes(&mut self, path: &[&'w Descriptor]) -> Vec<Cow<'w, str>> {
        let keys: Vec<_> = path.iter().map(|one| &*one.key).collect();
        let attributes = names::attributes(&keys);
        self.import.attributes.extend(attributes.iter().map(|name| name.to_string()));
        attributes
    }

    /// What envoyproxy/ratelimit calls the limit.
    fn title(&self, path: &[&Descriptor]) -> String {
        let mut title = self.config.domain.clone();
        for one in path {
            let _ = match &one.value {
                Pattern::Any => write!(title, ".{}", one.key),
                Pattern::Exact(value) => write!(title, ".{}_{value}", one.key),
                Pattern::Prefix(value) => write!(title, ".{}_{value}*", one.key),
            };
        }
        title
    }

    fn note(&mut self, line: usize, text: &str) {
        let _ = write!(self.rules, "\n# Line {line} {text}.\n");
    }
}

/// The nodes of a level in the order in which they are tried: whole values, wildcards, and what has no value. Beside them
/// those that nothing reaches, each with one before it that takes all of its values.
fn in_order(level: &[Descriptor]) -> (Vec<&Descriptor>, Vec<(&Descriptor, &Descriptor)>) {
    let mut sorted: Vec<_> = level.iter().collect();
    sorted.sort_by_key(|one| match one.value {
        Pattern::Exact(_) => 0,
        Pattern::Prefix(_) => 1,
        Pattern::Any => 2,
    });
    let (mut ordered, mut hidden) = (Vec::<&Descriptor>::new(), Vec::new());
    // Of each key, what is not a whole value.
    let mut wide: HashMap<&str, Vec<&Descriptor>> = HashMap::new();
    for one in sorted {
        let before = wide.entry(&one.key).or_default();
        if let Some(first) = before.iter().find(|first| first.value.covers(&one.value)) {
            hidden.push((one, *first));
            continue;
        }
        if !matches!(one.value, Pattern::Exact(_)) {
            before.push(one);
        }
        ordered.push(one);
    }
    (ordered, hidden)
}

/// The keys of all limits of a node and below.
fn limited<'c>(node: &'c Descriptor, keys: &mut Keys<'c>, found: &mut Vec<Keys<'c>>) {
    keys.push(&node.key);
    if node.limit.is_some() {
        found.push(keys.clone());
    }
    for child in in_order(&node.children).0 {
        limited(child, keys, found);
    }
    keys.pop();
}

/// The keys of which, whatever the values are, a rule of the node or below ends the group.
fn ended<'c>(node: &'c Descriptor, keys: &mut Keys<'c>, found: &mut Vec<Keys<'c>>) {
    keys.push(&node.key);
    let ends = |limit: &Limit| !node.is_shadow || limit.rate == Rate::Unlimited;
    if node.limit.as_ref().is_some_and(ends) {
        found.push(keys.clone());
    }
    for child in in_order(&node.children).0.into_iter().filter(|child| child.value.covers(&Pattern::Any)) {
        ended(child, keys, found);
    }
    keys.pop();
}

/// The windows are aligned to 1970; a week from then on begins on a Thursday.
fn window(unit: Unit) -> &'static str {
    match unit {
        Unit::Second => "1s",
        Unit::Minute => "1m",
        Unit::Hour => "1h",
        Unit::Day => "1d",
        Unit::Week => "1w offset=3d",
        Unit::Month => "30d",
        Unit::Year => "365d",
    }
}

/// A condition that holds for this value alone.
fn literal(value: &str) -> String {
    if value.contains('*') { format!("{{ is = {} }}", quoted(value)) } else { quoted(value) }
}

/// A field of TOML.
fn field(name: &str) -> Cow<'_, str> {
    if name.contains('.') { quoted(name).into() } else { name.into() }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
