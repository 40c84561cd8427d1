//! A rule, checked and ready to be evaluated.

use std::sync::Arc;

use ratecell_core::Policy;

use crate::attribute::Id;
use crate::client::Widths;
use crate::condition::Condition;

/// What a rule does to the requests that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It limits them.
    Enforce,
    /// It decides and counts, and refuses nothing.
    Shadow,
    /// It ends the evaluation: no rule below it applies.
    Skip,
}

impl Mode {
    /// The word that a file has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
            Self::Skip => "skip",
        }
    }
}

/// A rule of a file.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) name: Box<str>,
    pub(crate) mode: Mode,
    pub(crate) group: Option<Group>,
    /// The line of its name.
    pub(crate) line: usize,
    pub(crate) matches: Box<[(Id, Condition)]>,
    pub(crate) key: Box<[Part]>,
    pub(crate) limit: Limit,
    pub(crate) cost: Cost,
}

#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Counted from 0, in the order of the file.
    pub(crate) number: u32,
    pub(crate) name: Arc<str>,
}

/// A part of the key: the first of these that is present.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Each with the text that stands before its value: `;user=`.
    pub(crate) references: Box<[(Reference, Box<[u8]>)]>,
    /// What stands for the part if all are absent: `;user|client`.
    pub(crate) absent: Box<[u8]>,
}

/// What is taken from a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reference {
    Attribute(Id),
    Path,
    /// A segment of the path, counted from 0.
    Segment(usize),
    /// The client's network; the widths are that of the file's list.
    Client(usize),
}

/// The distinct widths that clients are shortened to in a file.
pub(crate) type WidthList = Vec<Widths>;

/// What a limit is, for one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    Unlimited,
    Blocked,
    /// The number of its policy in the file.
    Policy(usize),
}

/// The value that chooses, and what is chosen.
#[derive(Clone, Debug)]
pub(crate) struct Choice<T> {
    pub(crate) by: Reference,
    /// In the order of the values.
    pub(crate) of: Box<[(Box<[u8]>, T)]>,
    pub(crate) default: T,
}

impl<T> Choice<T> {
    /// The number of the value in `of`, if it is named there.
    #[inline]
    pub(crate) fn find(&self, value: Option<&[u8]>) -> Option<usize> {
        let value = value?;
        self.of.binary_search_by(|(named, _)| (**named).cmp(value)).ok()
    }

    #[inline]
    pub(crate) fn get(&self, found: Option<usize>) -> &T {
        found.and_then(|at| self.of.get(at)).map_or(&self.default, |(_, chosen)| chosen)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Limit {
    One(Leaf),
    Chosen {
        choice: Choice<Leaf>,
        /// Whether the chosen policies count in one cell.
        shared: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Cost {
    Fixed(u32),
    Chosen(Choice<u32>),
    /// A value of digits is that number, divided and rounded up.
    Read {
        from: Reference,
        unit: u32,
        max: u32,
        default: u32,
    },
}

impl Rule {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The name of its group, if it has one.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        self.group.as_ref().map(|group| &*group.name)
    }

    /// The line of its name in the file, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The parts of its key as the file has them: `user|client`.
    pub fn key(&self) -> impl Iterator<Item = &str> {
        // What the file had was text, and the sign before it is one byte.
        self.key
            .iter()
            .map(|part| part.absent.get(1..).and_then(|part| str::from_utf8(part).ok()).unwrap_or(""))
    }

    /// Whether `limit` has one cell for all values that choose a policy.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.limit, Limit::Chosen { shared: true, .. })
    }
}

/// A policy of a rule.
#[derive(Clone, Debug)]
pub struct RulePolicy {
    pub(crate) rule: usize,
    pub(crate) value: Option<Box<str>>,
    pub(crate) text: Box<str>,
    pub(crate) policy: Policy,
}

impl RulePolicy {
    /// The number of its rule in the file, counted from 0.
    #[must_use]
    pub fn rule(&self) -> usize {
        self.rule
    }

    /// The value of `limit.of` that chooses it; `None` for the default, and where nothing chooses.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// Its text as the file has it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}
