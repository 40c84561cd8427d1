//! The word of two aligned windows: what `sliding_window` and `in_flight` count in.
//!
//! | word | bits |
//! | --- | --- |
//! | index of the newer window | the rest |
//! | count of the older window | `bits(limit)` |
//! | count of the newer window | `bits(limit)` |

use super::divide::Divider;
use super::packing::{LayoutChoice, WordLayout};
use super::params::Params;
use super::{Resolved, WORD_LIMIT};
use crate::decision::Decision;
use crate::error::PolicyError;

/// Two counts beside an index, and when the windows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TwoWindows {
    /// The length of a window in nanoseconds.
    pub(super) window: u64,
    pub(super) limit: u32,
    /// At most 31: a limit that leaves no index is refused.
    pub(super) count_bits: u32,
    pub(super) max_now: u64,
    pub(super) heal: Option<u64>,
    by_window: Divider,
}

/// A word, unpacked and rolled forward to an instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) index: u64,
    pub(super) previous: u64,
    pub(super) current: u64,
    /// How much of the newer window has passed; 0 for a clock behind it.
    pub(super) elapsed: u64,
}

impl TwoWindows {
    pub(super) fn resolve(
        params: &Params,
        pack: LayoutChoice,
        limit: u32,
        window: u64,
    ) -> Result<(Self, Resolved), PolicyError> {
        let last_beside = |count_bits: u32| {
            // Two counts of 32 bits leave no index: then this is below any horizon.
            let indices = WORD_LIMIT.checked_shr(2 * count_bits).unwrap_or(0);
            indices.checked_mul(window).map_or(u64::MAX, |end| end.saturating_sub(1))
        };
        let count_bits = pack.count_bits(limit, 31, params, last_beside)?;
        let max_now = last_beside(count_bits);
        params.reaches_horizon(max_now, "the window's index beside two counts of this limit")?;
        let resolved = Resolved {
            capacity: u64::from(limit),
            max_now_ns: max_now,
            cell_bits: 64,
            emission: None,
            count_bits: Some(count_bits),
            quantum_ns: None,
            boundaries: None,
            boundary_digest: None,
        };
        Ok((Self::new(limit, count_bits, max_now, params.heal_ns, window), resolved))
    }

    pub(super) fn new(limit: u32, count_bits: u32, max_now: u64, heal: Option<u64>, window: u64) -> Self {
        let windows = Self { window, limit, count_bits, max_now, heal, by_window: Divider::new(window) };
        debug_assert!(max_now / window <= windows.top() && u64::from(limit) >> count_bits == 0);
        windows
    }

    pub(super) fn unpack(&self, word: u64) -> (u64, u64, u64) {
        let mask = (1u64 << self.count_bits) - 1;
        (word >> (2 * self.count_bits), (word >> self.count_bits) & mask, word & mask)
    }

    pub(super) fn pack(&self, index: u64, previous: u64, current: u64) -> u64 {
        (index << (2 * self.count_bits)) | (previous << self.count_bits) | current
    }

    pub(super) fn view(&self, word: u64, now: u64) -> View {
        let (index, previous, current) = self.unpack(word);
        let at = self.by_window.floor(now);
        let elapsed = now - at * self.window;
        if at < index {
            View { index, previous, current, elapsed: 0 }
        } else if at == index {
            View { index, previous, current, elapsed }
        } else {
            View { index: at, previous: if at == index + 1 { current } else { 0 }, current: 0, elapsed }
        }
    }

    /// Nanoseconds from `now` to `elapsed` after the start of window `index`.
    pub(super) fn until(&self, index: u64, elapsed: u64, now: u64) -> u64 {
        let at = u128::from(index) * u128::from(self.window) + u128::from(elapsed);
        Decision::until(at, now)
    }

    /// Nanoseconds from `now` until neither window counts.
    pub(super) fn reset(&self, view: View, now: u64) -> u64 {
        if view.current > 0 {
            self.until(view.index + 2, 0, now)
        } else if view.previous > 0 {
            self.until(view.index + 1, 0, now)
        } else {
            0
        }
    }

    pub(super) fn fresh_at(&self, word: u64) -> u64 {
        let (index, previous, current) = self.unpack(word);
        let windows = if current > 0 {
            index + 2
        } else if previous > 0 {
            index + 1
        } else {
            index
        };
        windows.saturating_mul(self.window)
    }

    pub(super) fn carried(&self, word: u64, instant: u64) -> u64 {
        let View { index, previous, current, .. } = self.view(word, instant);
        let top = self.top();
        if index <= top {
            self.pack(index, previous, current)
        } else {
            self.pack(top, 0, u64::from(self.limit))
        }
    }

    pub(super) fn is_healed(&self, word: u64, now: u64) -> bool {
        let (index, ..) = self.unpack(word);
        let begins = u128::from(index) * u128::from(self.window);
        self.heal.is_some_and(|heal| begins > u128::from(now) + u128::from(heal))
    }

    /// The same windows and counts in a word of `next`, or in the last window that it has.
    pub(super) fn repacked(&self, next: &Self, word: u64) -> u64 {
        let (index, previous, current) = self.unpack(word);
        next.pack(index.min(next.top()), previous, current)
    }

    /// The last index of a policy's word.
    fn top(&self) -> u64 {
        (WORD_LIMIT >> (2 * self.count_bits)) - 1
    }

    /// The word without what still counts of `units` that were charged in `window`, and how many did. Its time stays.
    pub(super) fn without(&self, word: u64, window: u64, units: u64) -> (u64, u64) {
        let (index, previous, current) = self.unpack(word);
        if index == window {
            let back = units.min(current);
            (self.pack(index, previous, current - back), back)
        } else if index.checked_sub(1) == Some(window) {
            let back = units.min(previous);
            (self.pack(index, previous - back, current), back)
        } else {
            (word, 0)
        }
    }

    /// The instant at which the window of `word` begins, or `now` if that is later.
    pub(super) fn begun(&self, word: u64, now: u64) -> u64 {
        let (index, ..) = self.unpack(word);
        now.max(index.saturating_mul(self.window))
    }

    pub(super) fn packing(&self, word: [u8; 8]) -> WordLayout {
        WordLayout { word, unit: self.window, grain: 0, count_bits: self.count_bits }
    }
}
