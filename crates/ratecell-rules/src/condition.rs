//! Conditions on attributes: whether one holds, and whether it holds only where another does.

use crate::client::Network;
use crate::path::Reading;
use crate::pattern::{PathPattern, Texts};

/// What a rule asks of one attribute.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// Present, or absent.
    Present(bool),
    /// The value matches one of the patterns.
    Any(Patterns),
    /// The attribute is absent, or its value matches none of the patterns.
    No(Patterns),
}

/// Patterns of one kind, at least one.
#[derive(Clone, Debug)]
pub(crate) enum Patterns {
    Texts(Texts),
    Paths(Box<[PathPattern]>),
    Networks(Box<[Network]>),
}

/// An attribute of a request, as conditions look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'v> {
    Absent,
    Text(&'v [u8]),
    Path(Reading<'v>),
    /// The client's text, and its network if the text is one.
    Client(&'v [u8], Option<Network>),
}

impl Patterns {
    fn match_value(&self, value: Value<'_>) -> bool {
        match (self, value) {
            (Self::Texts(texts), Value::Text(value) | Value::Client(value, _)) => texts.matches(value),
            (Self::Paths(paths), Value::Path(reading)) => {
                paths.iter().any(|path| path.matches(reading.segments()))
            }
            (Self::Networks(networks), Value::Client(_, Some(client))) => {
                networks.iter().any(|network| client.is_within(*network))
            }
            _ => false,
        }
    }

    /// Whether each of these is within one of `other`, which is of their kind.
    fn are_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Texts(texts), Self::Texts(outer)) => texts.are_within(outer),
            (Self::Paths(paths), Self::Paths(outer)) => {
                paths.iter().all(|path| outer.iter().any(|outer| path.is_within(outer)))
            }
            (Self::Networks(networks), Self::Networks(outer)) => {
                networks.iter().all(|network| outer.iter().any(|outer| network.is_within(*outer)))
            }
            _ => false,
        }
    }
}

impl Condition {
    #[inline]
    pub(crate) fn holds(&self, value: Value<'_>) -> bool {
        match self {
            Self::Present(present) => *present != matches!(value, Value::Absent),
            Self::Any(patterns) => patterns.match_value(value),
            Self::No(patterns) => !patterns.match_value(value),
        }
    }

    /// Whether `other` holds wherever this does; `false` also where that is not decided.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Present(present), Self::Present(outer)) => present == outer,
            (Self::Any(_), Self::Present(present)) => *present,
            (Self::Any(patterns), Self::Any(outer)) => patterns.are_within(outer),
            // What matches fewer patterns does not match in more cases.
            (Self::No(patterns), Self::No(outer)) => outer.are_within(patterns),
            (Self::Present(present), Self::No(_)) => !present,
            _ => false,
        }
    }
}
