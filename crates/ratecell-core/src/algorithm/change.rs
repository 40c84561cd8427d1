//! Another policy over live words.
//!
//! What each key has used stays used, in units: not the instant at which it would be free, which forgives or locks out at
//! another rate, and not a share of the limit.

use super::{Algorithm, InFlight, Kernel, Lease, SlidingWindow};

/// An algorithm whose words can become those of the same algorithm with other parameters.
pub trait Change: Algorithm {
    /// What `word`, which is not 0, becomes under `next` by a change at the instant `at`. `reach` is the greatest capacity
    /// of any policy that the words have had, up to this one. `next` has the same kind of words.
    fn changed(&self, next: &Self, word: u64, at: u64, reach: u32) -> u64;
}

/// `n / d`, rounded up; `d` is not 0.
// Out of line: where it stands twice, the address of the function that divides is kept in a register, and a call through one
// cannot be followed in the machine code.
#[inline(never)]
pub(super) fn ceil(n: u128, d: u64) -> u128 {
    n.div_ceil(u128::from(d.max(1)))
}

impl Change for SlidingWindow {
    fn changed(&self, next: &Self, word: u64, _: u64, _: u32) -> u64 {
        self.repacked(next, word)
    }
}

impl Change for InFlight {
    fn changed(&self, next: &Self, word: u64, _: u64, _: u32) -> u64 {
        self.repacked(next, word)
    }
}

/// Its deadline is time already.
impl Change for Lease {
    fn changed(&self, _: &Self, word: u64, _: u64, _: u32) -> u64 {
        word
    }
}

impl Kernel {
    /// What `word` becomes under `next` by a change at the instant `at`: see [`Change::changed`]. The word of a key that was
    /// never seen stays so. `None` if `next` is another algorithm.
    #[must_use]
    pub fn changed(&self, next: &Self, word: u64, at: u64, reach: u32) -> Option<u64> {
        macro_rules! same {
            ($($kind:ident),+) => {
                match (self, next) {
                    $((Self::$kind(old), Self::$kind(new)) => Some(old.changed(new, word, at, reach)),)+
                    // Each kind by name, so that none is left out.
                    ($(Self::$kind(_))|+, _) => None,
                }
            };
        }
        let changed = same!(
            Gcra,
            SlidingWindow,
            FixedWindow,
            FixedWindowFirst,
            BucketInterval,
            BucketIntervalFirst,
            CalendarWindow,
            CallerWindow,
            InFlight,
            Lease
        );
        changed.map(|changed| if word == 0 { 0 } else { changed })
    }
}
