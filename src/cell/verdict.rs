//! What came of a request, in words: the decision is computed from it.

use super::{Cell, Charge};

/// The word that a request was decided on, and what takes its charge back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict<C> {
    /// The word that was decided on.
    word: u64,
    /// The cell, and the words between which its charge can be taken back.
    charge: Option<(C, Charge)>,
    /// There was no room: when there may be.
    full_until: Option<u64>,
    /// Nothing was decided, for the policy was changed meanwhile.
    is_superseded: bool,
}

impl<C> Verdict<C> {
    pub(crate) fn charged(cell: C, charge: Charge) -> Self {
        Self { word: charge.before, charge: Some((cell, charge)), ..Self::without_refund(0) }
    }

    /// Of a newcomer, decided on `word`. Its charge taken back, its cell stays, with the word before that `charge` names.
    pub(crate) fn inserted(cell: C, word: u64, charge: Charge) -> Self {
        Self { word, charge: Some((cell, charge)), ..Self::without_refund(0) }
    }

    /// Decided on `word`, and there is nothing to take back: nothing was charged, or the shared cell was.
    pub(crate) fn without_refund(word: u64) -> Self {
        Self { word, charge: None, full_until: None, is_superseded: false }
    }

    /// Where no place may be taken before `free_at`.
    pub(crate) fn full(free_at: u64) -> Self {
        Self { full_until: Some(free_at), ..Self::without_refund(0) }
    }

    /// The policy was changed meanwhile: nothing was decided.
    pub(crate) fn superseded() -> Self {
        Self { is_superseded: true, ..Self::without_refund(0) }
    }

    /// The same, of a cell that stands for this one.
    #[inline]
    pub(crate) fn of<D>(self, cell: impl FnOnce(C) -> D) -> Verdict<D> {
        let Self { word, charge, full_until, is_superseded } = self;
        Verdict { word, charge: charge.map(|(own, charge)| (cell(own), charge)), full_until, is_superseded }
    }

    pub(crate) fn is_superseded(&self) -> bool {
        self.is_superseded
    }

    /// The word that was decided on.
    pub(crate) fn word(&self) -> u64 {
        self.word
    }

    /// The cell of its own that was charged, or decided on.
    pub(crate) fn cell(&self) -> Option<C>
    where
        C: Copy,
    {
        self.charge.map(|(cell, _)| cell)
    }

    /// The cell of its own, and the words before the charge and after it: the same one if nothing was charged. `None` of the
    /// shared cell.
    pub(crate) fn charge(&self) -> Option<(C, Charge)>
    where
        C: Copy,
    {
        self.charge
    }

    pub(crate) fn full_until(&self) -> Option<u64> {
        self.full_until
    }

    /// The word before the charge and after it.
    #[cfg(all(test, not(ratecell_model)))]
    pub(crate) fn words(&self) -> Option<(u64, u64)> {
        self.charge.as_ref().map(|(_, charge)| (self.word, charge.after))
    }
}

impl<C: Cell> Verdict<C> {
    /// Takes the charge back, unless the word has changed since: then it stays. Returns the cell that it was taken from.
    pub(crate) fn refund(self) -> Option<C> {
        let (cell, Charge { before, after }) = self.charge?;
        (after != before && cell.give_back(after, before)).then_some(cell)
    }

    /// Takes note that a later charge of the same caller was taken back from `cell`.
    pub(crate) fn follow(&mut self, other: &C) {
        if let Some((cell, _)) = &mut self.charge {
            cell.follow(other);
        }
    }
}
