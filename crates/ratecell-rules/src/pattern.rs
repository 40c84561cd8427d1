//! Patterns of text and of paths. Each is decided by two comparisons of bytes for each segment.

/// Text in which one `*` stands for any bytes, also none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Wild {
    /// What stands before the star, or the whole text.
    pub(crate) begin: Box<[u8]>,
    /// What stands behind the star; `None` if there is no star.
    pub(crate) end: Option<Box<[u8]>>,
}

/// A [`Wild`] that is borrowed, or a value: text without a star.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe<'p> {
    pub(crate) begin: &'p [u8],
    pub(crate) end: Option<&'p [u8]>,
}

impl Wild {
    /// The text itself; an asterisk is an asterisk.
    pub(crate) fn literal(text: &[u8]) -> Self {
        Self { begin: text.into(), end: None }
    }

    /// The text with its first asterisk as the star.
    pub(crate) fn with_star(text: &[u8]) -> Self {
        match text.iter().position(|byte| *byte == b'*') {
            Some(at) => Self { begin: text[..at].into(), end: Some(text[at + 1..].into()) },
            None => Self::literal(text),
        }
    }

    pub(crate) fn is_literal(&self) -> bool {
        self.end.is_none()
    }

    /// Whether it holds for every value.
    pub(crate) fn is_any(&self) -> bool {
        self.begin.is_empty() && self.end.as_deref() == Some(&[])
    }

    pub(crate) fn probe(&self) -> Probe<'_> {
        Probe { begin: &self.begin, end: self.end.as_deref() }
    }

    #[inline]
    pub(crate) fn matches(&self, value: &[u8]) -> bool {
        match &self.end {
            None => *self.begin == *value,
            Some(end) => {
                value.len() >= self.begin.len() + end.len()
                    && value.starts_with(&self.begin)
                    && value.ends_with(end)
            }
        }
    }

    /// Whether `other` matches all that this matches.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        match (&self.end, &other.end) {
            (None, _) => other.matches(&self.begin),
            (Some(_), None) => false,
            (Some(end), Some(outer)) => self.begin.starts_with(&other.begin) && end.ends_with(outer),
        }
    }
}

impl<'p> Probe<'p> {
    pub(crate) fn value(text: &'p [u8]) -> Self {
        Self { begin: text, end: None }
    }

    /// The first `begin` and the last `end` bytes, if what it stands for has room for both and surely begins and ends so.
    #[inline]
    pub(crate) fn split(&self, begin: usize, end: usize) -> Option<(&'p [u8], &'p [u8])> {
        let tail = match self.end {
            Some(tail) => tail,
            None => self.begin.get(begin..)?,
        };
        Some((self.begin.get(..begin)?, tail.get(tail.len().checked_sub(end)?..)?))
    }
}

/// Any of several texts.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    /// In order.
    literals: Box<[Wild]>,
    wilds: Box<[Wild]>,
}

impl Texts {
    pub(crate) fn new(patterns: Vec<Wild>) -> Self {
        let (mut literals, wilds): (Vec<_>, Vec<_>) = patterns.into_iter().partition(Wild::is_literal);
        literals.sort();
        literals.dedup();
        Self { literals: literals.into(), wilds: wilds.into() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Wild> {
        self.literals.iter().chain(&self.wilds)
    }

    fn has_literal(&self, text: &[u8]) -> bool {
        self.literals.binary_search_by(|literal| (*literal.begin).cmp(text)).is_ok()
    }

    #[inline]
    pub(crate) fn matches(&self, value: &[u8]) -> bool {
        self.has_literal(value) || self.wilds.iter().any(|wild| wild.matches(value))
    }

    /// Whether each of these is within one of `other`.
    pub(crate) fn are_within(&self, other: &Self) -> bool {
        self.literals.iter().all(|literal| other.matches(&literal.begin))
            && self.wilds.iter().all(|wild| other.wilds.iter().any(|outer| wild.is_within(outer)))
    }
}

/// A path by its segments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathPattern {
    pub(crate) segments: Box<[Wild]>,
    /// Whether more segments may follow.
    pub(crate) rest: bool,
}

impl PathPattern {
    /// Whether it holds for every path.
    pub(crate) fn is_any(&self) -> bool {
        self.segments.is_empty() && self.rest
    }

    pub(crate) fn matches<'v>(&self, mut segments: impl ExactSizeIterator<Item = &'v [u8]>) -> bool {
        let count = self.segments.len();
        let fits = if self.rest { segments.len() >= count } else { segments.len() == count };
        fits && self.segments.iter().all(|wild| segments.next().is_some_and(|value| wild.matches(value)))
    }

    /// Whether `other` matches all that this matches.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let (count, outer) = (self.segments.len(), other.segments.len());
        let fits = if other.rest { count >= outer } else { !self.rest && count == outer };
        fits && self.segments.iter().zip(&other.segments).all(|(wild, outer)| wild.is_within(outer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_star_stands_for_has_a_place() {
        let wild = Wild::with_star(b"ab*ba");
        for (value, holds) in
            [("abba", true), ("abxba", true), ("aba", false), ("ab", false), ("abbax", false)]
        {
            assert_eq!(wild.matches(value.as_bytes()), holds, "{value}");
        }
        assert!(!Wild::literal(b"ab*ba").matches(b"abba"));
    }

    #[test]
    fn a_probe_splits_as_its_star_matches() {
        assert_eq!(Probe::value(b"aba").split(2, 2), None);
        assert_eq!(Probe::value(b"abba").split(2, 2), Some((&b"ab"[..], &b"ba"[..])));
        let wild = Wild::with_star(b"ab*a");
        assert_eq!(wild.probe().split(2, 1), Some((&b"ab"[..], &b"a"[..])));
        assert_eq!(wild.probe().split(3, 0), None);
        assert_eq!(wild.probe().split(0, 2), None);
    }
}
