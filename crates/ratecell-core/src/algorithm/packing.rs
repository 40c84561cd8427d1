//! What the bits of a word mean: what two policies must agree on to share a table.

use super::params::Params;
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use alloc::format;

/// All of a policy that its words depend on. What is not here, rates, capacities and limits, may differ
/// between those who share a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordLayout {
    /// What kind of word it is, in letters: it is kept in memory and files.
    pub word: [u8; 8],
    /// Ticks of a nanosecond, of a TAT; else the nanoseconds of the window or interval.
    pub unit: u64,
    /// What moves aligned windows, or the grain of a start, in nanoseconds; of a TAT that heals, its reach in ticks.
    pub grain: u64,
    /// The bits of a count.
    pub count_bits: u32,
}

/// The word of a TAT.
pub(super) const GCRA: [u8; 8] = *b"gcra    ";

impl WordLayout {
    /// Whether words of the two can mean the same, before one is packed as the other: they are of one kind, and of
    /// one window. Ticks are chosen in packing.
    pub fn is_like(&self, other: &Self) -> bool {
        self.word == other.word && (self.unit == other.unit || self.is_gcra())
    }

    /// Whether a word of one can become a word of the other, where a policy is changed over live keys: they are of one kind,
    /// and count what can be counted on in the other's time.
    pub fn may_follow(&self, other: &Self) -> bool {
        let same_time = match &self.word {
            b"gcra    " | b"bucket  " | b"bucket1s" => true,
            b"fixed   " => (self.unit, self.grain) == (other.unit, other.grain),
            _ => self.unit == other.unit,
        };
        self.word == other.word && same_time
    }

    /// Whether the time in a word of one is the time in a word of the other, whatever the rates.
    pub fn keeps_times_of(&self, other: &Self) -> bool {
        !self.has_axis() && self.may_follow(other) && self.grain == other.grain
    }

    /// Whether the time in a word is the same under every policy that may follow.
    pub fn has_fixed_times(&self) -> bool {
        !self.has_axis() && &self.word != b"fixed1st"
    }

    /// Whether a part of a charge can be given back only by those who know what else was given back since: in words that
    /// are a position, which what is given back moves.
    pub fn counts_what_is_given_back(&self) -> bool {
        self.has_axis()
    }

    /// Whether the word is a position on an axis of units or time.
    fn has_axis(&self) -> bool {
        matches!(&self.word, b"gcra    " | b"bucket  " | b"bucket1s")
    }

    /// Whether the words are those of the GCRA family.
    pub fn is_gcra(&self) -> bool {
        self.word == GCRA
    }
}

/// How the words of a policy are to be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutChoice {
    /// With no bit more for a count than the limit needs: the definition's.
    Tight {
        /// The most units that words of earlier policies hold, if they are more than the limit.
        reach: u32,
    },
    /// With counts as wide as the horizon allows, so that the limit can be raised over the same words.
    Wide {
        /// As of tight ones.
        reach: u32,
    },
    /// As words that are there already.
    As(WordLayout),
}

impl LayoutChoice {
    /// Of words that no earlier policy has written.
    pub const TIGHT: Self = Self::Tight { reach: 0 };
    /// Of words that no earlier policy has written.
    pub const WIDE: Self = Self::Wide { reach: 0 };

    /// The same choice for words that hold up to so many units of earlier policies. Words that are there already stay as
    /// they are.
    #[must_use]
    pub fn reaching(self, reach: u32) -> Self {
        match self {
            Self::Tight { .. } => Self::Tight { reach },
            Self::Wide { .. } => Self::Wide { reach },
            Self::As(_) => self,
        }
    }

    /// The most units that a word holds, where the policy's own are at most `capacity`.
    pub(super) fn reach(self, capacity: u32) -> u32 {
        match self {
            Self::Tight { reach } | Self::Wide { reach } => reach.max(capacity),
            Self::As(_) => capacity,
        }
    }

    /// The bits of a count to `limit`, no more than `most`; `max_now` tells the last instant beside so many.
    pub(super) fn count_bits(
        self,
        limit: u32,
        most: u32,
        params: &Params,
        max_now: impl Fn(u32) -> u64,
    ) -> Result<u32, PolicyError> {
        let least = u32::BITS - self.reach(limit).leading_zeros();
        match self {
            Self::Tight { .. } => Ok(least),
            Self::Wide { .. } => {
                let horizon = params.horizon()?;
                let wider = (least..=most).take_while(|bits| max_now(*bits) >= horizon);
                Ok(wider.last().unwrap_or(least))
            }
            Self::As(packing) => held(limit, most, packing.count_bits),
        }
    }

    /// The bits of a count where its width decides the grain of a start: no more than needed.
    pub(super) fn count_bits_of_start(self, limit: u32) -> Result<u32, PolicyError> {
        match self {
            Self::Tight { .. } | Self::Wide { .. } => Ok(u32::BITS - self.reach(limit).leading_zeros()),
            Self::As(packing) => held(limit, u32::BITS, packing.count_bits),
        }
    }
}

/// `bits`, if they hold counts to `limit`.
fn held(limit: u32, most: u32, bits: u32) -> Result<u32, PolicyError> {
    if bits <= most && u64::from(limit) >> bits == 0 {
        return Ok(bits);
    }
    let highest = (1u64 << bits.min(most)) - 1;
    Err(PolicyError::new(
        Kind::Range,
        format!("{limit} does not fit the counts of this table: expected at most {highest}"),
    ))
}
