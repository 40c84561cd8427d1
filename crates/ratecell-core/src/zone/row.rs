//! The boundaries of a calendar as a check looks them up.

use alloc::vec::Vec;

#[cfg(not(ratecell_proofs))]
mod ends;
#[cfg(ratecell_proofs)]
#[path = "row/plain.rs"]
mod ends;

use ends::Ends;

/// Boundaries in whole seconds since the epoch.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    ends: Ends,
    /// The longest window, in seconds.
    pub(crate) longest: u64,
    /// Of all boundaries.
    pub(crate) digest: u64,
}

impl Row {
    /// Of boundaries that ascend and are above 0: at least one.
    pub(crate) fn new(ends: Vec<u64>) -> Self {
        let starts = core::iter::once(0).chain(ends.iter().copied());
        let longest = starts.zip(&ends).map(|(start, end)| end - start).max().unwrap_or(0);
        let digest = digest(&ends);
        Self { ends: Ends::new(ends), longest, digest }
    }

    /// Of five boundaries, with which the decisions are proved.
    #[cfg(ratecell_proofs)]
    pub(crate) fn of_five(ends: [u64; 5]) -> Self {
        Self { ends: Ends::of(ends), longest: 0, digest: 0 }
    }

    /// The number of boundaries.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The last boundary.
    pub(crate) fn last(&self) -> u64 {
        self.ends.len().checked_sub(1).and_then(|number| self.ends.get(number)).unwrap_or(0)
    }

    /// The first boundary at `second` or after it; beyond the last one, `second` itself.
    #[inline]
    pub(crate) fn at_or_after(&self, second: u64) -> u64 {
        self.ends.get(self.ends.before(second)).unwrap_or(second)
    }

    /// The window that holds `second`: its start, which is 0 where it began before the epoch, and its end. Beyond the last
    /// boundary the end is the next second.
    #[inline]
    pub(crate) fn around(&self, second: u64) -> (u64, u64) {
        let next = second.saturating_add(1);
        let number = self.ends.before(next);
        let start = number.checked_sub(1).and_then(|number| self.ends.get(number));
        (start.unwrap_or(0), self.ends.get(number).unwrap_or(next))
    }

    /// Where the window began that ends at `end`: if no window of this calendar does, the one that ended last before.
    pub(crate) fn start(&self, end: u64) -> u64 {
        let mut number = self.ends.before(end);
        if self.ends.get(number) != Some(end) {
            number = number.saturating_sub(1);
        }
        number.checked_sub(1).and_then(|number| self.ends.get(number)).unwrap_or(0)
    }

    /// From when on a word whose window ends at `end`, and that has counted nothing, is no other than one never used: its
    /// window is then the one that would be opened, or is over.
    pub(crate) fn ground(&self, end: u64) -> u64 {
        if end == 0 {
            return 0;
        }
        let is_boundary = self.ends.get(self.ends.before(end)) == Some(end);
        if is_boundary { self.start(end) } else { self.at_or_after(end) }
    }
}

/// FNV-1a over the boundaries as little-endian `u64`.
fn digest(ends: &[u64]) -> u64 {
    let bytes = ends.iter().flat_map(|end| end.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
