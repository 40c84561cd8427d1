//! What the first word of a line says of its entry.

/// How an entry changes hands, and how often its key was denied.
///
/// | bits from the top | | |
/// | --- | --- | --- |
/// | seq | 12 | counts entries of this line, so that no two of them are taken for one |
/// | written | 1 | whether the other words are there; otherwise somebody writes them, or was killed meanwhile |
/// | grip | 4 | how many denials of other keys the entry outlives |
/// | length | 7 | what the name is: see [`Name`](super::name::Name) |
/// | count | 40 | denials of the key since it has this entry; after the greatest number comes 1 |
///
/// 0 is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u64);

const COUNT: u64 = (1 << 40) - 1;
const LENGTH_AT: u32 = 40;
pub(super) const LENGTH: u64 = (1 << 7) - 1;
const GRIP_AT: u32 = 47;
const ONE_GRIP: u64 = 1 << GRIP_AT;
const GRIP: u64 = 15 << GRIP_AT;
const WRITTEN: u64 = 1 << 51;
const SEQ_AT: u32 = 52;

impl State {
    pub(super) fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    pub(super) fn seq(self) -> u64 {
        self.0 >> SEQ_AT
    }

    pub(super) fn is_written(self) -> bool {
        self.0 & WRITTEN != 0
    }

    pub(super) fn length(self) -> u64 {
        self.0 >> LENGTH_AT & LENGTH
    }

    pub(super) fn count(self) -> u64 {
        self.0 & COUNT
    }

    /// Whether no key ever had the line.
    pub(super) fn is_unused(self) -> bool {
        self.0 == 0
    }

    /// How often an entry was counted between two looks at it.
    pub(super) fn count_since(self, earlier: u64) -> u64 {
        let (now, then) = (self.count(), earlier & COUNT);
        if now >= then { now - then } else { now + (COUNT - then) }
    }

    /// After one more denial of its key.
    pub(super) fn counted(self) -> Self {
        let grip = if self.0 & GRIP == GRIP { 0 } else { ONE_GRIP };
        let count = self.count() % COUNT + 1;
        Self((self.0 & !COUNT | count) + grip)
    }

    /// After a denial of another key, or of one that cannot be told; `None` if the entry has no grip left.
    pub(super) fn loosened(self) -> Option<Self> {
        (self.0 & GRIP != 0).then(|| Self(self.0 - ONE_GRIP))
    }

    /// Whose next entry is being written, with all the grip that there is: that it is taken from somebody who still writes
    /// is then as good as excluded.
    pub(super) fn claimed(self) -> Self {
        Self((self.seq() + 1) << SEQ_AT | GRIP)
    }

    /// With a name of that length, whose key was denied once.
    pub(super) fn written(self, length: u64) -> Self {
        Self(self.seq() << SEQ_AT | WRITTEN | ONE_GRIP | (length & LENGTH) << LENGTH_AT | 1)
    }

    /// Whether the entry that `claim` began is still being written.
    pub(super) fn is_of_claim(self, claim: Self) -> bool {
        self.seq() == claim.seq() && !self.is_written()
    }
}

#[cfg(all(test, not(ratecell_model)))]
mod tests {
    use super::*;

    const NONE: State = State(0);

    #[test]
    fn an_entry_is_claimed_written_counted_and_outlived() {
        assert_eq!((NONE.is_written(), NONE.loosened(), NONE.count()), (false, None, 0));
        let claimed = NONE.claimed();
        assert!(NONE.is_unused() && !claimed.is_unused());
        assert_eq!((claimed.seq(), claimed.is_written(), claimed.count()), (1, false, 0));
        let mut written = claimed.written(42);
        assert_eq!(
            (written.seq(), written.is_written(), written.length(), written.count()),
            (1, true, 42, 1)
        );
        assert!(claimed.is_of_claim(claimed) && !written.is_of_claim(claimed));
        for count in 2..100 {
            written = written.counted();
            assert_eq!((written.count(), written.length(), written.seq()), (count, 42, 1));
        }
        let mut outlived = 0;
        let mut state = written;
        while let Some(looser) = state.loosened() {
            (state, outlived) = (looser, outlived + 1);
            assert_eq!((state.count(), state.length(), state.seq()), (99, 42, 1));
        }
        assert_eq!(outlived, 15);
        // A claim, too, so that the line of somebody who was killed is found again.
        let left = core::iter::successors(Some(claimed), |state| state.loosened()).count();
        assert_eq!(left, 16);
    }

    #[test]
    fn counts_and_seqs_go_around() {
        let last = State(State(u64::MAX).written(7).0 | COUNT);
        assert_eq!((last.count(), last.counted().count(), last.counted().seq()), (COUNT, 1, last.seq()));
        assert_eq!(last.counted().count_since(COUNT), 1);
        assert_eq!(last.counted().counted().count_since(COUNT - 1), 3);
        assert_eq!(State(5).count_since(2), 3);
        assert_eq!(State(u64::MAX).claimed().seq(), 0);
    }

    /// No bits lead to a panic, for they may be anybody's.
    #[test]
    fn whatever_the_bits_are() {
        for shift in 0..64 {
            for bits in [1 << shift, u64::MAX << shift, u64::MAX >> shift, 0x5555_5555_5555_5555 << shift] {
                let state = State(bits);
                let _ = (state.counted(), state.loosened(), state.claimed(), state.written(state.length()));
                assert!(state.counted().count() > 0 && state.count_since(!bits) <= COUNT);
                assert!(state.counted().seq() == state.seq());
            }
        }
    }
}
