//! The boundaries that the kernels are proved with: a decision reads no more than five of any number of them.

use alloc::vec::Vec;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ends([u64; 5]);

impl Ends {
    pub(super) fn of(ends: [u64; 5]) -> Self {
        Self(ends)
    }

    /// The first five.
    pub(super) fn new(ends: Vec<u64>) -> Self {
        Self(core::array::from_fn(|number| ends.get(number).copied().unwrap_or(u64::MAX)))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<u64> {
        self.0.get(number).copied()
    }

    #[inline]
    pub(super) fn before(&self, second: u64) -> usize {
        let [a, b, c, d, e] = self.0.map(|end| usize::from(end < second));
        a + b + c + d + e
    }
}
