//! The era of a handle on a table: the generation of the policy that it decides by, and how words of the generations
//! before become words of it.
//!
//! | who | when |
//! | --- | --- |
//! | a hit | finds the key's word in another generation, and carries it by one exchange of tag and word |
//! | an insertion | judges the words of others as carried, and writes nothing of them |
//! | a [sweep](super::sweep) | carries whatever is left, before the two bits come to mean another generation |
//!
//! The number in force is loaded after the clock was read. What is decided by an older policy was then asked before the
//! change.

use std::sync::Arc;

use super::judge::Judge;
use super::tag::{GenerationNumber, Tag};
use crate::memory::{Array, Memory};
use crate::sync::{AtomicU64, Ordering};
use ratecell_core::Generation;
use ratecell_core::algorithm::Algorithm;

/// Where the number of the generation in force stands.
#[derive(Clone, Debug)]
pub(crate) struct InForce(Array<AtomicU64>);

impl InForce {
    /// That at `offset` bytes of `memory`; `None` where it does not fit.
    pub(crate) fn in_memory(memory: &Memory, offset: usize) -> Option<Self> {
        memory.array(offset, 1).map(Self)
    }

    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        // Acquire: a caller that loads a number loads words and tags after it, and sees what the changer had recorded.
        self.0.first().load(Ordering::Acquire)
    }

    /// Puts the generation after `number` in force, unless another is by now. The clock is read after it.
    pub(crate) fn advance(&self, number: u64) -> bool {
        let next = number.wrapping_add(1);
        // AcqRel: a caller that loads the number sees its record. An exchange, and no store: a processor may hold a store back
        // while the changer reads its clock.
        // Relaxed on failure: the value is not used.
        self.0.first().compare_exchange(number, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// Generations of one policy, in order: the last is the one that a handle decides by, and the first is no later than the
/// oldest that a word may be of. Between two of them the first stayed in force.
pub(crate) type Lineage = Arc<[Generation]>;

/// What `word` of the generation of number `from` becomes in the last of the lineage, in the layer of that number: by each
/// change since, at its own instant.
pub(super) fn carried_along(lineage: &[Generation], layer: usize, from: u64, word: u64) -> u64 {
    lineage.windows(2).fold(word, |word, pair| match pair {
        [before, after] if after.number() > from => before.changed(after, layer, word),
        _ => word,
    })
}

/// The generation that a handle decides by, and whether it is still in force.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    in_force: InForce,
    number: u64,
    /// In a tag.
    in_tag: GenerationNumber,
}

impl Term {
    pub(super) fn new(in_force: InForce, number: u64) -> Self {
        Self { in_force, number, in_tag: GenerationNumber::of(number) }
    }

    /// Whether the policy in force is still the one of this term.
    #[inline(always)]
    pub(super) fn is_in_force(&self) -> bool {
        self.in_force.number() == self.number
    }

    /// Whether a tag of this term's generation, loaded before, means it: the policy was changed less than four times since.
    #[inline(always)]
    pub(super) fn is_near(&self) -> bool {
        self.is_in_force() || self.is_near_after_a_change()
    }

    #[cold]
    #[inline(never)]
    fn is_near_after_a_change(&self) -> bool {
        self.in_force.number().wrapping_sub(self.number) < 4
    }

    #[inline(always)]
    pub(super) fn in_tag(&self) -> GenerationNumber {
        self.in_tag
    }

    /// The number of the generation that those bits mean while this term is in force: this one, or one of the three before.
    pub(super) fn meant(&self, bits: GenerationNumber) -> u64 {
        self.number.saturating_sub(bits.changes_until(self.in_tag) as u64)
    }
}

/// The era of a table of one policy: see the module.
#[derive(Clone, Debug)]
pub(crate) struct Era {
    term: Term,
    /// `None` of the first: no word is older.
    lineage: Option<Lineage>,
    /// Which layer of the generations the table is of.
    layer: usize,
}

impl Era {
    /// The first era of a table whose policy no other follows.
    #[cfg(any(test, feature = "store"))]
    pub(crate) fn first(in_force: InForce) -> Self {
        Self { term: Term::new(in_force, 0), lineage: None, layer: 0 }
    }

    /// The era of the last generation of `lineage`, for the table of that layer.
    pub(crate) fn last_of(in_force: InForce, lineage: &Lineage, layer: usize) -> Self {
        let number = lineage.last().map_or(0, Generation::number);
        Self { term: Term::new(in_force, number), lineage: Some(Arc::clone(lineage)), layer }
    }

    #[cfg(test)]
    pub(crate) fn alone() -> Self {
        let memory = Memory::private(size_of::<u64>()).expect("memory");
        Self::first(InForce::in_memory(&memory, 0).expect("a word"))
    }
}

/// One policy judges all words, by the algorithm of whoever asks: also views of it, which differ in what no word shows.
impl Judge for Era {
    type Watch<'j> = ();

    const MAY_SHARE: bool = true;

    #[inline(always)]
    fn term(&self) -> &Term {
        &self.term
    }

    #[inline(always)]
    fn watch(&self) {}

    #[inline(always)]
    fn placed(&self, h: u64) -> u64 {
        h
    }

    #[cold]
    fn carried(&self, tag: Tag, word: u64) -> (Tag, u64) {
        let lineage = self.lineage.as_deref().unwrap_or_default();
        let from = self.term.meant(tag.generation());
        (tag.of_generation(self.in_tag()), carried_along(lineage, self.layer, from, word))
    }

    #[inline(always)]
    fn weight<A: Algorithm>(&self, own: &A, _: Tag, word: u64, now: u64) -> u64 {
        own.weight(word, now)
    }

    #[inline(always)]
    fn fresh_at<A: Algorithm>(&self, own: &A, _: Tag, word: u64) -> u64 {
        own.fresh_at(word)
    }

    #[inline(always)]
    fn level<A: Algorithm>(&self, own: &A, _: Tag, word: u64, now: u64) -> u64 {
        own.level(word, now)
    }

    #[inline(always)]
    fn latest_believed<A: Algorithm>(&self, own: &A, now: u64) -> u64 {
        own.latest_believed(now)
    }
}
