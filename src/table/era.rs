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

use super::tag::{GenerationNumber, Tag};
use crate::memory::{Array, Memory};
use crate::sync::{AtomicU64, Ordering};
use ratecell_core::Generation;

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

/// Consecutive generations, of which the last is the one that a handle decides by: at most four, those that words may be of.
pub(crate) type Lineage = Arc<[Generation]>;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Era {
    in_force: InForce,
    number: u64,
    /// In a tag.
    in_tag: GenerationNumber,
    /// Up to this one. `None` of the first: no word is older.
    lineage: Option<Lineage>,
    /// Which layer of the generations the table is of.
    layer: usize,
}

impl Era {
    /// The first era of a table whose policy no other follows.
    #[cfg(any(test, feature = "store"))]
    pub(crate) fn first(in_force: InForce) -> Self {
        Self { in_force, number: 0, in_tag: GenerationNumber::of(0), lineage: None, layer: 0 }
    }

    /// The era of the last generation of `lineage`, for the table of that layer.
    pub(crate) fn last_of(in_force: InForce, lineage: &Lineage, layer: usize) -> Self {
        let number = lineage.last().map_or(0, Generation::number);
        let (in_tag, lineage) = (GenerationNumber::of(number), Some(Arc::clone(lineage)));
        Self { in_force, number, in_tag, lineage, layer }
    }

    #[cfg(test)]
    pub(crate) fn alone() -> Self {
        let memory = Memory::private(size_of::<u64>()).expect("memory");
        Self::first(InForce::in_memory(&memory, 0).expect("a word"))
    }

    /// Whether the policy in force is still the one of this era.
    #[inline(always)]
    pub(super) fn is_in_force(&self) -> bool {
        self.in_force.number() == self.number
    }

    /// Whether a tag of this era's generation, loaded before, means it: the policy was changed less than four times since.
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

    /// Whether a word under that tag is one of this era's.
    #[inline(always)]
    pub(super) fn is_of(&self, tag: Tag) -> bool {
        tag.generation() == self.in_tag
    }

    /// What `word` of that generation becomes in this era's, by each change since, at its own instant.
    #[cold]
    pub(super) fn carried(&self, from: GenerationNumber, word: u64) -> u64 {
        let Some(lineage) = &self.lineage else { return word };
        let changes = from.changes_until(self.in_tag);
        let first = lineage.len().saturating_sub(changes + 1);
        let since = lineage.get(first..).unwrap_or(lineage);
        since.windows(2).fold(word, |word, pair| match pair {
            [before, after] => before.changed(after, self.layer, word),
            _ => word,
        })
    }
}
