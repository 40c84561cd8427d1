//! The index of rules by their patterns: which rules can match a value, without a look at the others.
//!
//! Each rule that has a list of patterns is indexed by one such condition, its *anchor*: the one whose patterns are shared
//! with the fewest rules. The patterns of an anchor stand in a trie of segments; a text is one segment. From a node, an
//! edge leads on by the bytes of a segment, or by what stands before and behind a star. All stars with as many bytes
//! before and behind are found by one look.
//!
//! The same walk finds, for a pattern, the rules with a pattern that contains it.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};
use std::hash::{BuildHasher, Hash};

use crate::attribute::Id;
use crate::client::Network;
use crate::condition::{Condition, Patterns};
use crate::pattern::{PathPattern, Probe, Wild};
use crate::rule::Rule;

/// Keys come from the file alone, so that no request can make them collide.
type State = FixedState;

/// Rules by number, in order.
type Numbers = Vec<u32>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    trie: Trie,
    roots: Vec<(Id, Root)>,
    /// The rules without an anchor.
    loose: Numbers,
}

#[derive(Clone, Debug)]
enum Root {
    Texts(u32),
    Paths(u32),
    Networks(Networks),
}

#[derive(Clone, Debug, Default)]
struct Networks {
    /// The lengths that there are, of IPv4 and of IPv6.
    lengths: Vec<(bool, u8)>,
    rules: HashMap<Network, Numbers, State>,
}

#[derive(Clone, Debug, Default)]
struct Trie {
    nodes: Vec<Node>,
    edges: HashTable<Edge>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The bytes before and behind the stars of the edges from here.
    shapes: Vec<(usize, usize)>,
    has_literals: bool,
    /// The rules of patterns that end here.
    here: Numbers,
    /// The rules of patterns that end here in `/**`.
    rest: Numbers,
}

#[derive(Clone, Debug)]
struct Edge {
    from: u32,
    wild: Wild,
    to: u32,
}

/// A pattern among those of all rules.
#[derive(PartialEq, Eq, Hash)]
enum Counted<'r> {
    Text(Id, &'r Wild),
    Path(&'r PathPattern),
    Network(Network),
}

/// What is looked for in an index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sought<'p> {
    Text(Probe<'p>),
    Network(Network),
}

impl Index {
    /// The index of these rules, and for each the number of its anchor among its conditions.
    pub(crate) fn new(
        rules: &[Rule],
        members: impl Iterator<Item = u32> + Clone,
    ) -> (Self, Vec<Option<usize>>) {
        let mut counts: HashMap<Counted<'_>, u32, State> = HashMap::default();
        for (id, condition) in members.clone().flat_map(|number| &rules[number as usize].matches) {
            each_pattern(*id, condition, |pattern, _| *counts.entry(pattern).or_default() += 1);
        }
        let mut index = Self::default();
        let anchors = members.map(|number| index.insert(number, &rules[number as usize], &counts)).collect();
        (index, anchors)
    }

    /// The index that finds each rule for every value: none has an anchor.
    #[cfg(test)]
    pub(crate) fn of_all(numbers: impl Iterator<Item = u32>) -> Self {
        Self { loose: numbers.collect(), ..Self::default() }
    }

    fn insert(
        &mut self,
        number: u32,
        rule: &Rule,
        counts: &HashMap<Counted<'_>, u32, State>,
    ) -> Option<usize> {
        let cost = |(id, condition): &(Id, Condition)| {
            let (mut shared, mut has_star) = (0, false);
            each_pattern(*id, condition, |pattern, star| {
                shared = shared.max(counts.get(&pattern).copied().unwrap_or(0));
                has_star |= star;
            });
            (shared > 0).then_some((shared, has_star, *id))
        };
        let costs = rule.matches.iter().enumerate().filter_map(|(at, matched)| Some((cost(matched)?, at)));
        let Some((_, anchor)) = costs.min() else {
            self.loose.push(number);
            return None;
        };
        let (id, condition) = &rule.matches[anchor];
        if let Condition::Any(patterns) = condition {
            self.insert_patterns(number, *id, patterns);
        }
        Some(anchor)
    }

    fn insert_patterns(&mut self, number: u32, id: Id, patterns: &Patterns) {
        let is_of = |root: &Root| {
            matches!(
                (root, patterns),
                (Root::Texts(_), Patterns::Texts(_))
                    | (Root::Paths(_), Patterns::Paths(_))
                    | (Root::Networks(_), Patterns::Networks(_))
            )
        };
        let at = self.roots.iter().position(|(of, root)| *of == id && is_of(root)).unwrap_or_else(|| {
            let root = match patterns {
                Patterns::Texts(_) => Root::Texts(self.trie.push()),
                Patterns::Paths(_) => Root::Paths(self.trie.push()),
                Patterns::Networks(_) => Root::Networks(Networks::default()),
            };
            self.roots.push((id, root));
            self.roots.len() - 1
        });
        match (&mut self.roots[at].1, patterns) {
            (Root::Texts(root), Patterns::Texts(texts)) => {
                for text in texts.iter() {
                    let node = self.trie.child(*root, text);
                    add(&mut self.trie.nodes[node as usize].here, number);
                }
            }
            (Root::Paths(root), Patterns::Paths(paths)) => {
                for path in paths {
                    let node =
                        path.segments.iter().fold(*root, |node, segment| self.trie.child(node, segment));
                    let node = &mut self.trie.nodes[node as usize];
                    add(if path.rest { &mut node.rest } else { &mut node.here }, number);
                }
            }
            (Root::Networks(index), Patterns::Networks(networks)) => {
                for network in networks {
                    let length = (network.is_v6, network.length);
                    if !index.lengths.contains(&length) {
                        index.lengths.push(length);
                    }
                    add(index.rules.entry(*network).or_default(), number);
                }
            }
            _ => unreachable!("a root is of its patterns' kind"),
        }
    }

    /// The rules without an anchor, in order.
    pub(crate) fn loose(&self) -> &[u32] {
        &self.loose
    }

    /// The attributes that rules are anchored by.
    pub(crate) fn anchored(&self) -> impl Iterator<Item = Id> {
        self.roots.iter().map(|(id, _)| *id)
    }

    /// Appends the rules anchored by a pattern of `id` that contains what is sought: no path.
    #[inline]
    pub(crate) fn find(&self, id: Id, sought: Sought<'_>, found: &mut Numbers) {
        for (_, root) in self.roots.iter().filter(|(of, _)| *of == id) {
            match (root, sought) {
                (Root::Texts(root), Sought::Text(probe)) => {
                    self.trie.each_child(*root, probe, |child| {
                        found.extend_from_slice(&self.trie.nodes[child as usize].here);
                    });
                }
                (Root::Networks(index), Sought::Network(network)) => index.find(network, found),
                _ => {}
            }
        }
    }

    /// Appends the rules anchored by a path that contains the one of these segments, with more after them if `rest`.
    #[inline]
    pub(crate) fn find_path<'p>(
        &self,
        count: usize,
        rest: bool,
        segment: impl Fn(usize) -> Option<Probe<'p>>,
        walk: &mut Vec<(u32, usize)>,
        found: &mut Numbers,
    ) {
        walk.clear();
        walk.extend(self.roots.iter().filter_map(|(_, root)| match root {
            Root::Paths(root) => Some((*root, 0)),
            _ => None,
        }));
        while let Some((at, depth)) = walk.pop() {
            let node = &self.trie.nodes[at as usize];
            found.extend_from_slice(&node.rest);
            if depth == count {
                if !rest {
                    found.extend_from_slice(&node.here);
                }
            } else if let Some(probe) = segment(depth) {
                self.trie.each_child(at, probe, |child| walk.push((child, depth + 1)));
            }
        }
    }
}

/// Adds a number above all others; of one rule's patterns, only the first adds it.
fn add(numbers: &mut Numbers, number: u32) {
    if numbers.last() != Some(&number) {
        numbers.push(number);
    }
}

/// The patterns of a condition that a rule can be indexed by, and whether each has a star.
fn each_pattern<'r>(id: Id, condition: &'r Condition, mut each: impl FnMut(Counted<'r>, bool)) {
    match condition {
        Condition::Any(Patterns::Texts(texts)) => {
            texts.iter().for_each(|text| each(Counted::Text(id, text), !text.is_literal()));
        }
        Condition::Any(Patterns::Paths(paths)) => {
            for path in paths {
                let has_star = path.rest || path.segments.iter().any(|segment| !segment.is_literal());
                each(Counted::Path(path), has_star);
            }
        }
        Condition::Any(Patterns::Networks(networks)) => {
            networks.iter().for_each(|network| each(Counted::Network(*network), true));
        }
        Condition::Present(_) | Condition::No(_) => {}
    }
}

impl Networks {
    fn find(&self, network: Network, found: &mut Numbers) {
        for (_, length) in
            self.lengths.iter().filter(|(v6, length)| *v6 == network.is_v6 && *length <= network.length)
        {
            if let Some(rules) = self.rules.get(&network.shortened(*length)) {
                found.extend_from_slice(rules);
            }
        }
    }
}

fn hash(from: u32, begin: &[u8], end: Option<&[u8]>) -> u64 {
    State::default().hash_one((from, begin, end))
}

impl Trie {
    fn push(&mut self) -> u32 {
        self.nodes.push(Node::default());
        u32::try_from(self.nodes.len() - 1).expect("fewer nodes than bytes in a file of rules")
    }

    fn find(&self, from: u32, begin: &[u8], end: Option<&[u8]>) -> Option<u32> {
        let is_it =
            |edge: &Edge| edge.from == from && *edge.wild.begin == *begin && edge.wild.end.as_deref() == end;
        self.edges.find(hash(from, begin, end), is_it).map(|edge| edge.to)
    }

    /// The node behind this segment, which is made if there is none.
    fn child(&mut self, from: u32, wild: &Wild) -> u32 {
        let Probe { begin, end } = wild.probe();
        if let Some(child) = self.find(from, begin, end) {
            return child;
        }
        let to = self.push();
        let node = &mut self.nodes[from as usize];
        match end {
            None => node.has_literals = true,
            Some(end) if !node.shapes.contains(&(begin.len(), end.len())) => {
                node.shapes.push((begin.len(), end.len()));
            }
            Some(_) => {}
        }
        let again = |edge: &Edge| hash(edge.from, &edge.wild.begin, edge.wild.end.as_deref());
        self.edges.insert_unique(hash(from, begin, end), Edge { from, wild: wild.clone(), to }, again);
        to
    }

    /// The nodes behind the segments that contain `probe`.
    #[inline]
    fn each_child(&self, from: u32, probe: Probe<'_>, mut each: impl FnMut(u32)) {
        let node = &self.nodes[from as usize];
        if node.has_literals
            && probe.end.is_none()
            && let Some(child) = self.find(from, probe.begin, None)
        {
            each(child);
        }
        for (begin, end) in &node.shapes {
            if let Some((begin, end)) = probe.split(*begin, *end)
                && let Some(child) = self.find(from, begin, Some(end))
            {
                each(child);
            }
        }
    }
}
