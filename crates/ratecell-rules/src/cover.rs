//! Rules that can never be reached: an earlier rule ends the evaluation for each request that they match.
//!
//! Rules that end the evaluation for the same others form a class with an index of its own. A rule that covers another has
//! an anchor whose patterns contain those of the other's condition on that attribute, so it is found by the first of them.
//! What has no list of patterns, but the negation of one, is found by a sorted list: what its first pattern contains
//! begins with the same bytes.

use std::collections::{BTreeMap, HashMap};

use crate::attribute::Id;
use crate::client::Network;
use crate::condition::{Condition, Patterns};
use crate::index::{Index, Sought};
use crate::pattern::{PathPattern, Wild};
use crate::rule::{Mode, Rule};

/// Rules that end the evaluation for the same rules below them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Class {
    Enforcing(u32),
    Shadow(u32),
    Skip,
    /// A skip with a condition on the path, which may not hold for an unclear one.
    SkipOfPath,
}

#[derive(Debug)]
struct Enders {
    index: Index,
    /// Those without an anchor by a negated condition: by its attribute and what its first pattern begins with.
    negated: BTreeMap<(Id, Vec<u8>), Vec<u32>>,
    /// All others without an anchor.
    loose: Vec<u32>,
}

/// The first rule that cannot be reached, and the first that covers it.
pub(crate) fn unreachable(rules: &[Rule], refuse_unclear: bool) -> Option<(usize, usize)> {
    let mut members: HashMap<Class, Vec<u32>> = HashMap::new();
    for (number, rule) in (0..).zip(rules) {
        if let Some(class) = class(rule) {
            members.entry(class).or_default().push(number);
        }
    }
    // A class of one rule, the last, ends nothing.
    let classes: HashMap<Class, Enders> =
        members.into_iter().map(|(class, members)| (class, Enders::new(rules, &members))).collect();
    let mut search = Search::default();
    rules.iter().enumerate().find_map(|(number, rule)| {
        let first = enders_of(rule, refuse_unclear)
            .into_iter()
            .flatten()
            .filter_map(|class| classes.get(&class)?.first_that_covers(rules, number, &mut search))
            .min()?;
        Some((number, first as usize))
    })
}

fn class(rule: &Rule) -> Option<Class> {
    match (rule.mode, &rule.group) {
        (Mode::Skip, _) if rule.matches.iter().any(|(id, _)| *id == Id::PATH) => Some(Class::SkipOfPath),
        (Mode::Skip, _) => Some(Class::Skip),
        (Mode::Enforce, Some(group)) => Some(Class::Enforcing(group.number)),
        (Mode::Shadow, Some(group)) => Some(Class::Shadow(group.number)),
        (_, None) => None,
    }
}

/// The classes that end the evaluation for this rule.
fn enders_of(rule: &Rule, refuse_unclear: bool) -> [Option<Class>; 4] {
    let group = rule.group.as_ref().map(|group| group.number);
    [
        Some(Class::Skip),
        (rule.mode == Mode::Skip || refuse_unclear).then_some(Class::SkipOfPath),
        group.map(Class::Enforcing),
        group.filter(|_| rule.mode == Mode::Shadow).map(Class::Shadow),
    ]
}

/// Buffers that are used again.
#[derive(Debug, Default)]
struct Search {
    found: Vec<u32>,
    walk: Vec<(u32, usize)>,
}

impl Enders {
    fn new(rules: &[Rule], members: &[u32]) -> Self {
        let (index, _) = Index::new(rules, members.iter().copied());
        let mut negated: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        let mut loose = Vec::new();
        for number in index.loose() {
            let mut conditions = rules[*number as usize].matches.iter();
            let key = conditions.find_map(|(id, condition)| match condition {
                Condition::No(patterns) => Some((*id, order(first(patterns)).0)),
                _ => None,
            });
            match key {
                Some(key) => negated.entry(key).or_default().push(*number),
                None => loose.push(*number),
            }
        }
        Self { index, negated, loose }
    }

    /// The first rule above that of this number that covers it.
    fn first_that_covers(&self, rules: &[Rule], number: usize, search: &mut Search) -> Option<u32> {
        let rule = &rules[number];
        let Search { found, walk } = search;
        found.clear();
        for (id, condition) in &rule.matches {
            match condition {
                Condition::Any(patterns) => self.containing(*id, first(patterns), walk, found),
                Condition::No(patterns) => self.negated_within(*id, patterns, found),
                Condition::Present(false) => {
                    let all = self.negated.range((*id, Vec::new())..).take_while(|((of, _), _)| of == id);
                    found.extend(all.flat_map(|(_, numbers)| numbers));
                }
                Condition::Present(true) => {}
            }
        }
        let above = |numbers: &[u32]| {
            let above = numbers.iter().copied().filter(|above| (*above as usize) < number);
            above.filter(|above| covers(&rules[*above as usize], rule)).min()
        };
        above(found).into_iter().chain(above(&self.loose)).min()
    }

    /// Appends the rules with an anchor that contains the pattern.
    fn containing(&self, id: Id, pattern: First<'_>, walk: &mut Vec<(u32, usize)>, found: &mut Vec<u32>) {
        match pattern {
            First::Text(text) => self.index.find(id, Sought::Text(text.probe()), found),
            First::Network(network) => self.index.find(id, Sought::Network(network), found),
            First::Path(path) => {
                let segment = |number: usize| path.segments.get(number).map(Wild::probe);
                self.index.find_path(path.segments.len(), path.rest, segment, walk, found);
            }
        }
    }

    /// Appends the rules whose first negated pattern may be within one of these.
    fn negated_within(&self, id: Id, patterns: &Patterns, found: &mut Vec<u32>) {
        if self.negated.is_empty() {
            return;
        }
        each(patterns, |pattern| {
            let (text, is_whole) = order(pattern);
            let start = (id, text);
            if is_whole {
                found.extend(self.negated.get(&start).into_iter().flatten());
                return;
            }
            let within = self.negated.range(start.clone()..);
            let within = within.take_while(|((of, text), _)| *of == id && text.starts_with(&start.1));
            found.extend(within.flat_map(|(_, numbers)| numbers));
        });
    }
}

/// The same, by a look at each pair of rules.
#[cfg(test)]
pub(crate) fn unreachable_by_pairs(rules: &[Rule], refuse_unclear: bool) -> Option<(usize, usize)> {
    let ends = |first: &Rule, rule: &Rule| {
        class(first).is_some_and(|class| enders_of(rule, refuse_unclear).contains(&Some(class)))
    };
    (0..rules.len()).find_map(|number| {
        let rule = &rules[number];
        let first = rules[..number].iter().position(|first| ends(first, rule) && covers(first, rule))?;
        Some((number, first))
    })
}

/// Whether `rule` matches wherever `other` does.
fn covers(rule: &Rule, other: &Rule) -> bool {
    rule.matches.iter().all(|(id, condition)| {
        let mut same = other.matches.iter().filter(|(of, _)| of == id);
        same.any(|(_, narrower)| narrower.is_within(condition))
    })
}

/// A pattern of any kind.
#[derive(Clone, Copy, Debug)]
enum First<'p> {
    Text(&'p Wild),
    Path(&'p PathPattern),
    Network(Network),
}

/// The first of at least one.
fn first(patterns: &Patterns) -> First<'_> {
    match patterns {
        Patterns::Texts(texts) => First::Text(texts.iter().next().expect("a condition has a pattern")),
        Patterns::Paths(paths) => First::Path(&paths[0]),
        Patterns::Networks(networks) => First::Network(networks[0]),
    }
}

fn each<'p>(patterns: &'p Patterns, each: impl FnMut(First<'p>)) {
    match patterns {
        Patterns::Texts(texts) => texts.iter().map(First::Text).for_each(each),
        Patterns::Paths(paths) => paths.iter().map(First::Path).for_each(each),
        Patterns::Networks(networks) => networks.iter().copied().map(First::Network).for_each(each),
    }
}

/// What the order of a pattern within this one begins with; and whether this one contains no other than itself.
fn order(pattern: First<'_>) -> (Vec<u8>, bool) {
    match pattern {
        First::Text(text) => (text.begin.to_vec(), text.is_literal()),
        First::Path(path) => {
            let mut order = Vec::new();
            for segment in &path.segments {
                order.push(b'/');
                order.extend_from_slice(&segment.begin);
                if !segment.is_literal() {
                    return (order, false);
                }
            }
            (order, !path.rest)
        }
        First::Network(network) => {
            let whole = if network.is_v6 { 128 } else { 32 };
            let bits = (0..network.length).map(|bit| (network.bits >> (whole - 1 - bit) & 1) as u8);
            let order = std::iter::once(u8::from(network.is_v6)).chain(bits).collect();
            (order, network.length == whole)
        }
    }
}
