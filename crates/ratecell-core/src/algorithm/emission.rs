//! The emission interval of a rate, as a fraction whose ticks fit a word.

use alloc::format;

use super::WORD_LIMIT;
use crate::error::{PolicyError, PolicyErrorKind as Kind};

/// The emission interval: one unit takes `num / den` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Emission {
    /// Numerator, in nanoseconds.
    pub num: u64,
    /// Denominator: the ticks of a nanosecond.
    pub den: u64,
    /// Whether this is the rate asked for, or the nearest below it that a word can hold.
    pub exact: bool,
}

/// The least `num` of a rounded emission interval, which is thereby within one part in so many of the true one.
const MIN_ROUNDED_NUM: u128 = 1000;

impl Emission {
    /// `period / limit` reduced, where its denominator leaves room for the horizon in a word; otherwise the
    /// nearest fraction above it that does, so that the rate never exceeds the limit.
    pub(super) fn new(period: u64, limit: u32, capacity: u32, horizon: u64) -> Result<Self, PolicyError> {
        let (wide_period, wide_limit) = (u128::from(period), u128::from(limit));
        let burst_time = (u128::from(capacity) * wide_period).div_ceil(wide_limit);
        let span = u128::from(horizon) + burst_time + u128::from(capacity) + 1;
        let den_max = u128::from(WORD_LIMIT - 1) / span;
        if den_max == 0 {
            return Err(PolicyError::new(
                Kind::Range,
                format!("the burst lasts {burst_time}ns: with the horizon it does not fit a 64-bit word"),
            ));
        }
        let (num, den) = reduced(wide_period, wide_limit);
        if den <= den_max {
            return Self::of(num, den, true);
        }
        let (num, excess) = rounded(den_max, period, limit);
        if num == 0 || (excess > 0 && num < MIN_ROUNDED_NUM) {
            return Err(too_fine(period, limit));
        }
        let (num, den) = reduced(num, den_max);
        Self::of(num, den, excess == 0)
    }

    /// `period / limit` in ticks of `1 / den` ns, or the nearest above it. What [`new`](Self::new) gives in such ticks is
    /// given again, though they may be of a fraction reduced since.
    pub(super) fn in_ticks(den: u64, period: u64, limit: u32) -> Result<Self, PolicyError> {
        let (num, excess) = rounded(u128::from(den), period, limit);
        if num == 0 || excess * MIN_ROUNDED_NUM > num * u128::from(limit) {
            return Err(too_fine(period, limit));
        }
        Self::of(num, u128::from(den), excess == 0)
    }

    fn of(num: u128, den: u128, exact: bool) -> Result<Self, PolicyError> {
        match (u64::try_from(num), u64::try_from(den)) {
            (Ok(num), Ok(den)) => Ok(Self { num, den, exact }),
            _ => Err(PolicyError::new(Kind::Range, "the emission interval does not fit a 64-bit word")),
        }
    }
}

/// `period / limit` in ticks of `1 / den` ns, rounded up, and by how many `limit`ths of a tick.
fn rounded(den: u128, period: u64, limit: u32) -> (u128, u128) {
    // Below 2^62 * 2^64.
    let (ticks, limit) = (u128::from(period) * den, u128::from(limit));
    let num = ticks.div_ceil(limit);
    (num, num * limit - ticks)
}

fn reduced(num: u128, den: u128) -> (u128, u128) {
    let (mut a, mut b) = (num, den);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (num / a, den / a)
}

fn too_fine(period: u64, limit: u32) -> PolicyError {
    PolicyError::new(
        Kind::Precision,
        format!(
            "{limit} in {period}ns is too fine for a 64-bit word: expected a lower rate, a divisor of it, or a shorter horizon"
        ),
    )
}
