//! The boundaries of a calendar as a check looks them up: no division, and no search through all of them.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Boundaries in whole seconds since the epoch, with an index of even cells: the boundaries of a cell are a few, and the
/// first of them is looked up by a shift.
#[derive(PartialEq, Eq)]
pub(crate) struct Row {
    /// Ascending, all above 0.
    ends: Box<[u64]>,
    /// For each cell of `2^shift` seconds: the number of boundaries before it.
    cells: Box<[u32]>,
    shift: u32,
    /// The longest window, in seconds.
    pub(crate) longest: u64,
    /// Of all boundaries.
    pub(crate) digest: u64,
}

impl Row {
    /// Of boundaries that ascend and are above 0: at least one.
    pub(crate) fn new(ends: Vec<u64>) -> Self {
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
        let starts = core::iter::once(0).chain(ends.iter().copied());
        let longest = starts.zip(&ends).map(|(start, end)| end - start).max().unwrap_or(0);
        let digest = digest(&ends);
        Self { ends: ends.into(), cells: cells.into(), shift, longest, digest }
    }

    /// The number of boundaries.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The last boundary.
    pub(crate) fn last(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// How many boundaries are before `second`.
    #[inline]
    fn before(&self, second: u64) -> usize {
        let cell = usize::try_from(second >> self.shift).unwrap_or(usize::MAX);
        let Some(before) = self.cells.get(cell) else { return self.ends.len() };
        let mut before = *before as usize;
        while self.ends.get(before).is_some_and(|end| *end < second) {
            before += 1;
        }
        before
    }

    /// The first boundary at `second` or after it; beyond the last one, `second` itself.
    #[inline]
    pub(crate) fn at_or_after(&self, second: u64) -> u64 {
        self.ends.get(self.before(second)).copied().unwrap_or(second)
    }

    /// The window that holds `second`: its start, which is 0 where it began before the epoch, and its end. Beyond the last
    /// boundary the end is the next second.
    #[inline]
    pub(crate) fn around(&self, second: u64) -> (u64, u64) {
        let next = second.saturating_add(1);
        let number = self.before(next);
        let start = number.checked_sub(1).and_then(|number| self.ends.get(number));
        (start.copied().unwrap_or(0), self.ends.get(number).copied().unwrap_or(next))
    }

    /// Where the window began that ends at `end`: if no window of this calendar does, the one that ended last before.
    pub(crate) fn start(&self, end: u64) -> u64 {
        let mut number = self.before(end);
        if self.ends.get(number) != Some(&end) {
            number = number.saturating_sub(1);
        }
        number.checked_sub(1).and_then(|number| self.ends.get(number)).copied().unwrap_or(0)
    }

    /// From when on a word whose window ends at `end`, and that has counted nothing, is no other than one never used: its
    /// window is then the one that would be opened, or is over.
    pub(crate) fn ground(&self, end: u64) -> u64 {
        if end == 0 {
            return 0;
        }
        let is_boundary = self.ends.get(self.before(end)) == Some(&end);
        if is_boundary { self.start(end) } else { self.at_or_after(end) }
    }
}

/// FNV-1a over the boundaries as little-endian `u64`.
fn digest(ends: &[u64]) -> u64 {
    let bytes = ends.iter().flat_map(|end| end.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
