//! The policies among which is searched.

use ratecell_core::algorithm::{Kernel, Plan};
use ratecell_core::{Policy, PolicyError};

use crate::scale::Scale;

/// A kind of policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `LIMIT/PERIOD`: evenly, and the limit at once.
    Gcra,
    /// `sliding_window LIMIT/PERIOD`
    SlidingWindow,
    /// `fixed_window LIMIT/PERIOD`
    FixedWindow,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Gcra, Self::SlidingWindow, Self::FixedWindow];

    fn prefix(self) -> &'static str {
        match self {
            Self::Gcra => "",
            Self::SlidingWindow => "sliding_window ",
            Self::FixedWindow => "fixed_window ",
        }
    }
}

/// One policy of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The kind of its line.
    pub kind: Kind,
    /// Its period.
    pub scale: Scale,
    /// The place of its limit among the rungs.
    pub rung: usize,
}

impl Candidate {
    /// The policy.
    ///
    /// # Errors
    /// There is no such policy, as its limit and period do not fit a word.
    pub fn policy(&self) -> Result<Policy, PolicyError> {
        format!("{}{}/{}", self.kind.prefix(), rung(self.rung), self.scale.text).parse()
    }

    /// What decides by it.
    pub(crate) fn kernel(&self) -> Option<Kernel> {
        let policy = self.policy().ok()?;
        match policy.layers() {
            [layer] => match layer.plan() {
                Plan::Word(kernel) => Some(kernel),
                Plan::Log(_) => None,
            },
            _ => None,
        }
    }
}

/// Rungs below this are the numbers from 1 to 99.
const SINGLE: usize = 99;

/// Rungs for each power of ten after them: 100, 110, … 990.
const DECADE: usize = 90;

/// How many rungs there are: the last is the greatest below 2^32.
pub const RUNGS: usize = SINGLE + 7 * DECADE + 33;

/// The limit on a rung: the whole numbers of at most two significant digits, in order.
///
/// Rungs past the last have the limit of the last.
#[must_use]
pub fn rung(place: usize) -> u32 {
    let place = place.min(RUNGS - 1);
    match place.checked_sub(SINGLE) {
        None => place as u32 + 1,
        Some(after) => (10 + (after % DECADE) as u32) * 10_u32.pow((after / DECADE) as u32 + 1),
    }
}

/// The first rung whose limit is at least `limit`, or the last.
pub(crate) fn rung_of(limit: u64) -> usize {
    let (mut below, mut above) = (0, RUNGS - 1);
    while below < above {
        let middle = below.midpoint(above);
        if u64::from(rung(middle)) < limit { below = middle + 1 } else { above = middle }
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::SCALES;

    #[test]
    fn rungs_grow_by_at_most_a_tenth_after_the_first_ten() {
        let rungs: Vec<_> = (0..RUNGS).map(rung).collect();
        assert_eq!((rungs[0], rungs[98], rungs[99], rungs[189]), (1, 99, 100, 1000));
        assert_eq!((rungs[RUNGS - 1], rung(RUNGS)), (4_200_000_000, 4_200_000_000));
        for pair in rungs.windows(2) {
            assert!(pair[0] < pair[1] && (pair[1] - pair[0]) * 10 <= pair[0].max(10), "{pair:?}");
        }
        for (limit, expected) in
            [(0, 1), (1, 1), (99, 99), (101, 110), (990, 990), (991, 1000), (u64::MAX, 4_200_000_000)]
        {
            assert_eq!(rung(rung_of(limit)), expected, "{limit}");
        }
    }

    #[test]
    fn every_rung_below_a_hundred_thousand_is_a_policy_by_a_word() {
        for (kind, scale) in Kind::ALL.iter().flat_map(|kind| SCALES.map(|scale| (*kind, scale))) {
            for rung in (0..rung_of(100_000)).step_by(7) {
                assert!(Candidate { kind, scale, rung }.kernel().is_some(), "{kind:?} {scale:?} {rung}");
            }
        }
    }
}
