//! Boundaries in order, with an index of even cells: the boundaries of a cell are a few, and the first of them is looked up by
//! a shift. No division, and no search through all of them.

use alloc::boxed::Box;
use alloc::vec::Vec;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ends {
    /// Ascending, all above 0.
    ends: Box<[u64]>,
    /// For each cell of `2^shift` seconds: the number of boundaries before it.
    cells: Box<[u32]>,
    shift: u32,
}

impl Ends {
    /// Of boundaries that ascend and are above 0: at least one.
    pub(super) fn new(ends: Vec<u64>) -> Self {
        let last = ends.last().copied().unwrap_or(0);
        // A cell is no longer than the time between two boundaries, on average.
        let apart = last.checked_div(ends.len() as u64).unwrap_or(0);
        let shift = apart.max(1).ilog2();
        let (mut cells, mut before) = (Vec::new(), 0_u32);
        for (number, end) in (0_u32..).zip(&ends) {
            while cells.len() as u64 <= end >> shift {
                cells.push(before);
            }
            before = number + 1;
        }
        Self { ends: ends.into(), cells: cells.into(), shift }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<u64> {
        self.ends.get(number).copied()
    }

    /// How many boundaries are before `second`.
    pub(super) fn before(&self, second: u64) -> usize {
        let cell = usize::try_from(second >> self.shift).unwrap_or(usize::MAX);
        let Some(before) = self.cells.get(cell) else { return self.ends.len() };
        let mut before = *before as usize;
        while self.ends.get(before).is_some_and(|end| *end < second) {
            before += 1;
        }
        before
    }
}
