//! Who says what the words of a table mean: its one policy, or several of which each has a number in the tags.
//!
//! A caller decides on the word of its own key by its own algorithm. Words of other keys it judges as a [`Judge`] says:
//! which of them are fresh, which holds least, and what they become in another generation. The table is written once for
//! both kinds. With one policy all of this is known when it is compiled.

use core::fmt::Debug;

use super::era::Term;
use super::layout::Seat;
use super::tag::{GenerationNumber, Tag};
use ratecell_core::algorithm::Algorithm;

/// See the module.
pub(crate) trait Judge: Clone + Debug {
    /// What a charge watches besides the slot.
    type Watch<'j>: Watch
    where
        Self: 'j;

    /// Whether newcomers without room may share a cell: its word is of one policy.
    const MAY_SHARE: bool;

    /// The generation that the handle decides by.
    fn term(&self) -> &Term;

    fn watch(&self) -> Self::Watch<'_>;

    /// The hash by which a key with hash `h` stands in the table.
    fn placed(&self, h: u64) -> u64;

    /// The tag and the word that those of a slot become in this generation, one of the three before it being theirs.
    fn carried(&self, tag: Tag, word: u64) -> (Tag, u64);

    /// What orders the words of slots by what they hold at `now`; 0 for a fresh word, and for no other. The word is one of
    /// this generation, and `own` the algorithm of whoever asks.
    fn weight<A: Algorithm>(&self, own: &A, tag: Tag, word: u64, now: u64) -> u64;

    /// The instant from which a word of this generation is fresh.
    fn fresh_at<A: Algorithm>(&self, own: &A, tag: Tag, word: u64) -> u64;

    /// Units that a word of this generation holds at `now`.
    fn level<A: Algorithm>(&self, own: &A, tag: Tag, word: u64, now: u64) -> u64;

    /// The latest floor that any policy of the table believes at `now`.
    fn latest_believed<A: Algorithm>(&self, own: &A, now: u64) -> u64;

    /// Whether the generation in force is still this one.
    #[inline(always)]
    fn is_in_force(&self) -> bool {
        self.term().is_in_force()
    }

    /// Whether a tag of this generation, loaded before, means it.
    #[inline(always)]
    fn is_near(&self) -> bool {
        self.term().is_near()
    }

    #[inline(always)]
    fn in_tag(&self) -> GenerationNumber {
        self.term().in_tag()
    }

    /// Whether a word under that tag is one of this generation.
    #[inline(always)]
    fn is_of(&self, tag: Tag) -> bool {
        tag.generation() == self.in_tag()
    }
}

/// How the word of a slot is charged.
pub(crate) trait Watch: Copy {
    /// Whether a charge that succeeds is on the key's own word, of the generation that it was computed by: no look at the
    /// tag is needed afterwards.
    const IS_EXACT: bool;

    /// Charges the word from exactly `before`, or not at all. The caller has loaded the word after the tag of the seat.
    fn charge(seat: Seat<'_, Self>, before: u64, after: u64) -> bool;

    /// Whether an attempt that failed may succeed the next time.
    fn may_go_on(seat: Seat<'_, Self>) -> bool;
}

/// In a table of one policy. A charge that strays to another key denies it more, and is noticed afterwards.
impl Watch for () {
    const IS_EXACT: bool = false;

    /// The tag is looked at between the load of the word and its exchange: what `before` was stepped by is the policy of
    /// the tag's generation, and so the word was one of it. A carry leaves 0 as it is, so from there the tag is exchanged
    /// with the word.
    #[inline(always)]
    fn charge(seat: Seat<'_>, before: u64, after: u64) -> bool {
        seat.is_held()
            && if before == 0 { seat.begin(after) } else { seat.slot.charge(seat.tag, before, after) }
    }

    #[inline(always)]
    fn may_go_on(seat: Seat<'_>) -> bool {
        seat.is_held()
    }
}
