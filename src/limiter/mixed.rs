//! A table in which the words of several limiters stand: each of their layers has a [number](crate::table::numbers) there.
//!
//! The limiters are those of one [family](super::Family), whose policies change together. A number stays that of its layer
//! in all generations in which the limiter is one of those in force. In the first of the others it has no policy, which
//! takes its words away.

use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tables::LayerTable;
use super::words::WordTable;
use super::{Family, Limiter};
use crate::error::{BuildError, RegionError};
use crate::memory::{Memory, MemoryError};
use crate::table::era::{InForce, Lineage};
use crate::table::numbers::{NAMED, Named, Numbered, Numbers};
use crate::table::{Table, WhenFull, buckets_for};
use ratecell_core::Generation;

#[cfg(not(ratecell_model))]
mod region;

#[cfg(not(ratecell_model))]
pub(crate) use region::{Asked, Latest, MixedRegion};

/// What a table of several limiters is made as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making {
    pub(crate) max_keys: usize,
    pub(crate) when_full: WhenFull,
    pub(crate) memory: fn(usize) -> Result<Memory, MemoryError>,
    /// Whether what is given back is counted.
    pub(crate) counts_given: bool,
    /// Whether no layer gets a number once the table is in use: other processes that have it would not know the number.
    pub(crate) is_sealed: bool,
}

/// See the module.
pub(crate) struct MixedTable {
    /// By no number that a key has.
    base: Table<7, Numbered>,
    in_force: InForce,
    is_sealed: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// In the generation of that number.
    numbers: Arc<Numbers>,
    generation: u64,
    /// The generation to which all words have been carried.
    swept: u64,
}

impl MixedTable {
    fn new(making: &Making, in_force: &InForce, generation: u64) -> Result<Self, BuildError> {
        let Making { max_keys, when_full, memory, counts_given, is_sealed } = *making;
        let numbers = Arc::new(Numbers::default());
        let judge = Numbered::new(in_force.clone(), generation, &numbers, 0);
        let base = Table::made_in(buckets_for(max_keys)?, when_full, memory, judge)?;
        Ok(Self {
            base: if counts_given { base.with_totals(memory)? } else { base },
            in_force: in_force.clone(),
            is_sealed,
            state: Mutex::new(State { numbers, generation, swept: generation }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is done with it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, numbers: &Arc<Numbers>, generation: u64, number: usize) -> Table<7, Numbered> {
        self.base.in_era(Numbered::new(self.in_force.clone(), generation, numbers, number))
    }

    /// Carries all words to the generation in force, if the next one has the bits of one whose words may still be there. One
    /// caller at a time changes the policies.
    ///
    /// # Errors
    /// Another caller has changed them.
    fn sweep_if_due(&self) -> Result<(), BuildError> {
        let (numbers, generation, swept) = {
            let state = self.state();
            (Arc::clone(&state.numbers), state.generation, state.swept)
        };
        // The bits of the generation after this one are those of the one that is three before.
        if swept.saturating_add(2) < generation {
            // Without the lock, for which a request may wait.
            if !self.handle(&numbers, generation, 0).sweep(true) {
                return Err(RegionError::Corrupt.into());
            }
            self.state().swept = generation;
        }
        Ok(())
    }

    /// How many numbers have a policy.
    pub(crate) fn given(&self) -> usize {
        NAMED.len().saturating_sub(self.state().numbers.vacant().count())
    }
}

impl fmt::Debug for MixedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MixedTable").field("is_sealed", &self.is_sealed).finish_non_exhaustive()
    }
}

/// The words of one layer in a table of several limiters.
#[derive(Clone, Debug)]
pub(super) struct MixedWords {
    pub(super) table: Table<7, Numbered>,
    of: Arc<MixedTable>,
    number: usize,
}

impl MixedWords {
    /// The same words in the last generation of `lineage`; `None` if another has been put in force since.
    pub(super) fn followed_by(&self, lineage: &Lineage) -> Option<Self> {
        let generation = lineage.last().map_or(0, Generation::number);
        let state = self.of.state();
        let numbers = (state.generation == generation).then_some(&state.numbers)?;
        let table = self.of.handle(numbers, generation, self.number);
        Some(Self { table, of: Arc::clone(&self.of), number: self.number })
    }
}

/// A table in the generation that limiters are made for, which may be the next one.
struct Prepared {
    table: Arc<MixedTable>,
    numbers: Arc<Numbers>,
    vacant: Vec<usize>,
    /// What is to be given.
    given: Vec<(usize, Named)>,
}

/// The tables of several limiters while others are made: they get numbers where there are some, and new tables where there
/// are none. Nothing is given before [`commit`](Self::commit).
pub(crate) struct Places<'f> {
    family: &'f Family,
    generation: u64,
    making: Making,
    prepared: Vec<Prepared>,
}

impl<'f> Places<'f> {
    /// For limiters of that generation, the one in force or the next, in these tables first of all.
    pub(crate) fn new(
        family: &'f Family,
        generation: u64,
        making: Making,
        tables: impl Iterator<Item = Arc<MixedTable>>,
    ) -> Self {
        let prepared = tables.map(|table| {
            let state = table.state();
            let numbers = Arc::clone(&state.numbers);
            let mut vacant: Vec<_> = if table.is_sealed { Vec::new() } else { numbers.vacant().collect() };
            // The last of them is given first.
            vacant.reverse();
            let numbers = if state.generation == generation { numbers } else { Arc::default() };
            drop(state);
            Prepared { table, numbers, vacant, given: Vec::new() }
        });
        Self { family, generation, making, prepared: prepared.collect() }
    }

    /// The generation that they are made for.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Room for the words of so many layers in one table.
    ///
    /// # Errors
    /// A table cannot be made.
    fn with_room(&mut self, layers: usize) -> Result<&mut Prepared, BuildError> {
        let place = match self.prepared.iter().position(|prepared| prepared.vacant.len() >= layers) {
            Some(place) => place,
            None => {
                let table = MixedTable::new(&self.making, self.family.in_force(), self.generation)?;
                let numbers = Arc::clone(&table.state().numbers);
                let prepared = Prepared {
                    table: Arc::new(table),
                    numbers,
                    vacant: NAMED.rev().collect(),
                    given: Vec::new(),
                };
                self.prepared.push(prepared);
                self.prepared.len().saturating_sub(1)
            }
        };
        self.prepared.get_mut(place).ok_or_else(BuildError::too_large)
    }

    /// The words of these layers, of policies of which the last is to be in force.
    ///
    /// # Errors
    /// A table cannot be made.
    pub(super) fn words(&mut self, lineage: &Lineage) -> Result<Vec<Option<WordTable>>, BuildError> {
        let policy = lineage.last().ok_or(BuildError::NoPolicy)?.policy();
        let named: Vec<_> = (0..policy.layers().len()).map(|layer| Named::new(lineage, layer)).collect();
        if named.iter().all(Option::is_none) {
            return Ok(named.iter().map(|_| None).collect());
        }
        let generation = self.generation;
        let Prepared { table, numbers, vacant, given } = self.with_room(named.iter().flatten().count())?;
        let words = named.into_iter().map(|named| {
            let (named, number) = (named?, vacant.pop()?);
            given.push((number, named));
            let of = Arc::clone(table);
            Some(WordTable::Mixed(MixedWords { table: of.handle(numbers, generation, number), of, number }))
        });
        Ok(words.collect())
    }

    /// Gives the limiters that were made their numbers. Nobody has decided by them yet.
    pub(crate) fn commit(self) -> Next {
        let tables = self.prepared.into_iter().map(|Prepared { table, numbers, given, .. }| {
            given.into_iter().for_each(|(number, named)| numbers.give(number, named));
            (table, numbers)
        });
        Next { tables: tables.collect() }
    }
}

/// Tables with the numbers that are in force once the limiters are that they were made ready for.
pub(crate) struct Next {
    tables: Vec<(Arc<MixedTable>, Arc<Numbers>)>,
}

impl Next {
    /// # Errors
    /// As [`MixedTable::sweep_if_due`].
    pub(super) fn sweep_if_due(&self) -> Result<(), BuildError> {
        self.tables.iter().try_for_each(|(table, _)| table.sweep_if_due())
    }

    /// A limiter goes on with its numbers, by these generations of its policy.
    pub(super) fn stays(&self, limiter: &Limiter, lineage: &Lineage) {
        for (layer, words) in (0..).zip(limiter.regimes.first.layers.iter()) {
            let LayerTable::Words(_, WordTable::Mixed(MixedWords { of, number, .. })) = words else {
                continue;
            };
            let next = self.tables.iter().find(|(table, _)| Arc::ptr_eq(table, of));
            if let Some(((_, numbers), named)) = next.zip(Named::new(lineage, layer)) {
                numbers.give(*number, named);
            }
        }
    }

    /// The tables are in the generation of that number from now on.
    pub(super) fn put_in_force(&self, generation: u64) {
        for (table, numbers) in &self.tables {
            let mut state = table.state();
            if state.generation != generation {
                (state.numbers, state.generation) = (Arc::clone(numbers), generation);
            }
        }
    }
}

impl LayerTable {
    /// The table of several limiters in which the words stand, if they do.
    pub(super) fn mixed(&self) -> Option<&Arc<MixedTable>> {
        match self {
            Self::Words(_, WordTable::Mixed(words)) => Some(&words.of),
            Self::Words(..) | Self::Logs(..) => None,
        }
    }
}

impl Limiter {
    /// The table of several limiters in which its words stand, if it has any.
    pub(crate) fn mixed_table(&self) -> Option<&Arc<MixedTable>> {
        self.regimes.first.layers.iter().find_map(LayerTable::mixed)
    }
}
