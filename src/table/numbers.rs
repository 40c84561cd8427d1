//! A table of several policies: each has a number, which stands in the tags of its keys.
//!
//! Whoever ranks, reclaims or carries a slot does not know whose word it is, so the tag says it: the low 12 bits of the fp are
//! the number of the word's policy, and the key's places follow from the other 28. A number names one layer of a policy. It
//! has a policy in each generation, or none. A word whose way to the present generation leads through one in which its number
//! had none is *dead*: it is fresh, and is carried as a forget is.
//!
//! Within a generation a number that has no policy may be given one, before the first word of it is written: whoever finds
//! the word finds its policy. It is taken away by a change alone.
//!
//! | what | by |
//! | --- | --- |
//! | a word is fresh, is carried, or is counted as forgiven | the policy of its own number |
//! | two words are compared, or a floor is raised | time, in nanoseconds |
//! | a word is charged | an exchange of tag and word, after a look at the number of the generation in force |
//!
//! A charge that strays to a word in other ticks would not drain as one in its own does: it would forgive, or lock out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use once_cell::race::OnceBox;

use super::era::{InForce, Lineage, Term, carried_along};
use super::judge::{Judge, Watch};
use super::layout::Seat;
use super::tag::{NUMBERS, Tag};
use ratecell_core::algorithm::{Algorithm, Kernel, Plan};
use ratecell_core::{Generation, Layer, with_kernel};

/// The numbers that policies are given. The first of all stands for a region's own policy, and the last for rates without a
/// name.
pub(crate) const NAMED: core::ops::Range<usize> = 1..NUMBERS - 1;

/// The policy of a number, in the generations that its words can be of.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// From the one in which the number was given, if a word can be of that.
    lineage: Lineage,
    /// The layer that the number names.
    layer: usize,
    /// That of the last generation.
    kernel: Kernel,
}

impl Named {
    /// The layer of that number in the policies of `lineage`; `None` if it has no word.
    pub(crate) fn new(lineage: &Lineage, layer: usize) -> Option<Self> {
        match lineage.last()?.policy().layers().get(layer).map(Layer::plan)? {
            Plan::Word(kernel) => Some(Self { lineage: Arc::clone(lineage), layer, kernel }),
            Plan::Log(_) => None,
        }
    }

    /// What a word of that generation is in the last one; `None` if it is dead.
    fn carried(&self, from: u64, word: u64) -> Option<u64> {
        let first = self.lineage.first().map_or(0, Generation::number);
        (first <= from).then(|| carried_along(&self.lineage, self.layer, from, word))
    }
}

/// So many numbers take memory together, once the first of them is given.
const PART: usize = 64;

type Part = [OnceBox<Named>; PART];

/// The policies of a table in one generation, by their numbers.
#[derive(Debug)]
pub(crate) struct Numbers {
    parts: Box<[OnceBox<Part>]>,
    /// The longest heal time of any of them.
    heal: AtomicU64,
}

impl Default for Numbers {
    fn default() -> Self {
        let parts = core::iter::repeat_with(OnceBox::new).take(NUMBERS.div_ceil(PART));
        Self { parts: parts.collect(), heal: AtomicU64::new(0) }
    }
}

impl FromIterator<Option<Named>> for Numbers {
    fn from_iter<I: IntoIterator<Item = Option<Named>>>(named: I) -> Self {
        let numbers = Self::default();
        for (number, named) in named.into_iter().enumerate() {
            named.into_iter().for_each(|named| numbers.give(number, named));
        }
        numbers
    }
}

impl Numbers {
    /// The policy of that number, if it has one.
    pub(crate) fn get(&self, number: usize) -> Option<&Named> {
        self.parts.get(number / PART)?.get()?.get(number % PART)?.get()
    }

    /// Gives a number without a policy this one. Its words are written afterwards.
    pub(crate) fn give(&self, number: usize, named: Named) {
        let heal = with_kernel!(&named.kernel, algorithm => algorithm.heal()).unwrap_or(u64::MAX);
        // Relaxed: a floor that needs it is raised by a caller that has found a word of that number, and the word was
        // released after this; the reader of a floor loads it before.
        self.heal.fetch_max(heal, Ordering::Relaxed);
        let unset = || Box::new(core::array::from_fn(|_| OnceBox::new()));
        let part = self.parts.get(number / PART).map(|part| part.get_or_init(unset));
        if let Some(place) = part.and_then(|part| part.get(number % PART)) {
            // One that has a policy keeps it.
            let _ = place.set(Box::new(named));
        }
    }

    /// The numbers that may be given, in this generation or by the next change. One that a change drops is not among those
    /// that it gives: the numbers are enough for the old policies and the new ones.
    pub(crate) fn vacant(&self) -> impl Iterator<Item = usize> {
        NAMED.filter(|number| self.get(*number).is_none())
    }

    fn of(&self, tag: Tag) -> Option<&Kernel> {
        Some(&self.get(tag.number())?.kernel)
    }
}

/// The judge of a handle by one of several policies. Newcomers share no cell: one word would be of several policies.
#[derive(Clone, Debug)]
pub(crate) struct Numbered {
    term: Term,
    numbers: Arc<Numbers>,
    /// The handle's own.
    own: usize,
}

impl Numbered {
    /// For a handle by the policy of the number `own`, in the generation of that number, in which the policies are `numbers`.
    pub(crate) fn new(in_force: InForce, generation: u64, numbers: &Arc<Numbers>, own: usize) -> Self {
        Self { term: Term::new(in_force, generation), numbers: Arc::clone(numbers), own }
    }

    fn judged(&self, tag: Tag, judge: impl FnOnce(&Kernel) -> u64) -> u64 {
        // A word without a policy is dead.
        self.numbers.of(tag).map_or(0, judge)
    }
}

impl Judge for Numbered {
    type Watch<'j> = &'j Term;

    const MAY_SHARE: bool = false;

    #[inline(always)]
    fn term(&self) -> &Term {
        &self.term
    }

    #[inline(always)]
    fn watch(&self) -> &Term {
        &self.term
    }

    #[inline(always)]
    fn placed(&self, h: u64) -> u64 {
        Tag::numbered(h, self.own)
    }

    #[cold]
    fn carried(&self, tag: Tag, word: u64) -> (Tag, u64) {
        let from = self.term.meant(tag.generation());
        let to = tag.of_generation(self.in_tag());
        match self.numbers.get(tag.number()).and_then(|named| named.carried(from, word)) {
            Some(word) => (to, word),
            // Another life: what was held of this one is not of that.
            None => (to.forgotten(), 0),
        }
    }

    /// The time until it is fresh: what two policies have in common.
    fn weight<A: Algorithm>(&self, _: &A, tag: Tag, word: u64, now: u64) -> u64 {
        self.judged(tag, |kernel| {
            with_kernel!(kernel, algorithm => match algorithm.is_fresh(word, now) {
                true => 0,
                false => algorithm.fresh_at(word).saturating_sub(now).max(1),
            })
        })
    }

    fn fresh_at<A: Algorithm>(&self, _: &A, tag: Tag, word: u64) -> u64 {
        self.judged(tag, |kernel| with_kernel!(kernel, algorithm => algorithm.fresh_at(word)))
    }

    fn level<A: Algorithm>(&self, _: &A, tag: Tag, word: u64, now: u64) -> u64 {
        self.judged(tag, |kernel| with_kernel!(kernel, algorithm => algorithm.level(word, now)))
    }

    fn latest_believed<A: Algorithm>(&self, _: &A, now: u64) -> u64 {
        // Relaxed: as where it is written.
        now.saturating_add(self.numbers.heal.load(Ordering::Relaxed))
    }
}

/// In a table of several policies.
impl Watch for &Term {
    const IS_EXACT: bool = true;

    /// The word is loaded after the tag, the tag again after it, and then the number of the generation in force. So tag and
    /// word are of this generation, and the exchange of both is of what was stepped, or fails.
    #[inline]
    fn charge(seat: Seat<'_, Self>, before: u64, after: u64) -> bool {
        let tag = seat.slot.tag();
        tag.is_tenure_of(seat.tag)
            && seat.watch.is_in_force()
            && seat.slot.replace((tag, before), (tag, after))
    }

    #[inline]
    fn may_go_on(seat: Seat<'_, Self>) -> bool {
        seat.is_held() && seat.watch.is_in_force()
    }
}
