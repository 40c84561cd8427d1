//! The table of several policies in a region, which processes share by a file.
//!
//! The region's lists say, of each generation, which limits there are by name and what their numbers are: see the
//! [register](crate::limiter::register). A process reads them when it finds another number in force than it knows.

use core::fmt;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use super::{MixedTable, MixedWords, State};
use crate::clock::Clock;
use crate::error::{BuildError, RegionError};
use crate::limiter::generations::{ATTEMPTS, Generations, KEPT, OfNumbers, OfRegion, one_at_a_time};
use crate::limiter::regime::{Regime, Regimes};
use crate::limiter::regions::{kernels, of_file};
use crate::limiter::register::{Dated, Register, lineages};
use crate::limiter::tables::LayerTable;
use crate::limiter::words::WordTable;
use crate::limiter::{Limiter, hold};
use crate::memory::Memory;
use crate::region::numbers::{MAX_TEXT, damaged};
use crate::region::{self, Header, Lists, Record, Terms};
use crate::table::era::{InForce, Lineage};
use crate::table::numbers::{Named, Numbered, Numbers};
use crate::table::{Extent, Secret, Stats, Table, WhenFull, keys_in};
use ratecell_core::algorithm::WordLayout;
use ratecell_core::{Generation, Policy, with_kernel};

/// What the words of such a table are: the numbers in their tags say it.
const PACKING: WordLayout = WordLayout { word: *b"numbered", unit: 0, grain: 0, count_bits: 0 };

/// What stands in place of the text of a policy.
const TEXT: &str = "rules";

/// What a region is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// `None`: as many as are there, or the default.
    pub(crate) max_keys: Option<usize>,
    pub(crate) when_full: Option<WhenFull>,
}

impl Asked {
    fn terms(self, first: &Register) -> Terms {
        Terms {
            packings: vec![PACKING],
            policy: TEXT.to_owned(),
            reach: vec![0],
            max_keys: self.max_keys,
            when_full: self.when_full,
            board: None,
            reservations: true,
            numbers: Some(first.text()),
            names: false,
        }
    }

    /// Whether a region can give what is asked of it.
    fn agree(header: &Header, terms: &Terms) -> Result<(), BuildError> {
        header.is_of(true)?;
        header.agrees(terms)?;
        if header.packings != [PACKING] {
            return Err(RegionError::Corrupt.into());
        }
        Ok(())
    }
}

/// See the module.
pub(crate) struct MixedRegion {
    table: Arc<MixedTable>,
    generations: OfRegion,
    lists: Lists,
    memory: Memory,
    max_keys: usize,
    when_full: WhenFull,
    secret: Secret,
    clock: Clock,
    latest: ArcSwap<Latest>,
}

/// The newest generation that the process has found in force.
#[derive(Debug)]
pub(crate) struct Latest {
    pub(crate) number: u64,
    at_ns: u64,
    pub(crate) register: Arc<Register>,
    /// Those that it was made of: of the last generations, this one included.
    registers: Vec<Dated>,
    /// Of each set of limits.
    pub(crate) lineages: Vec<Lineage>,
    /// Where the set is whose first number this is.
    places: HashMap<usize, usize>,
    numbers: Arc<Numbers>,
}

impl Latest {
    /// Of the last of the registers. `known` was in force before.
    fn new(registers: Vec<Dated>, epoch_s: i64, known: Option<&Self>) -> Result<Self, BuildError> {
        let last = registers.last().ok_or(RegionError::Corrupt)?;
        let known = known.map(|known| (&*known.register, &*known.lineages));
        let (lineages, numbers) = (lineages(&registers, epoch_s, known)?, Numbers::default());
        let mut places = HashMap::new();
        for (place, (its, lineage)) in last.register.numbers().zip(&lineages).enumerate() {
            for (layer, number) in its.iter().enumerate() {
                numbers.give(*number, Named::new(lineage, layer).ok_or(RegionError::Corrupt)?);
            }
            places.extend(its.first().map(|first| (*first, place)));
        }
        let (number, at_ns, register) = (last.number, last.at_ns, Arc::clone(&last.register));
        Ok(Self { number, at_ns, register, registers, lineages, places, numbers: Arc::new(numbers) })
    }

    /// The generations of the limits that have these numbers; `None` if there are none any more.
    pub(crate) fn lineage_of(&self, numbers: &[usize]) -> Option<Lineage> {
        let place = *self.places.get(numbers.first()?)?;
        let is_it = self.register.numbers_of(place)? == numbers;
        self.lineages.get(place).filter(|_| is_it).map(Arc::clone)
    }
}

impl MixedRegion {
    /// The region in the file at `path`; it is made with the `first` register, if the file is absent or holds nothing.
    ///
    /// # Errors
    /// As those of [`LimiterBuilder::open`](crate::LimiterBuilder::open).
    pub(crate) fn open(path: &Path, asked: Asked, first: &Register) -> Result<Self, BuildError> {
        let terms = asked.terms(first);
        if let Some(length) = terms.numbers.as_ref().map(String::len).filter(|length| *length > MAX_TEXT) {
            let reason = format!("{length} bytes of limits by name; expected at most {MAX_TEXT}");
            return Err(damaged(&reason).into());
        }
        let opened = region::file::open(path, Some(terms.clone())).and_then(|(memory, header)| {
            Asked::agree(&header, &terms)?;
            let generations = OfRegion::new(&header).in_file(path);
            let region = Self::new(&memory, header, generations)?;
            region::note(&memory)?;
            Ok(region)
        });
        opened.map_err(|error| of_file(path, error))
    }

    /// The region in the file at `path`, to look at.
    pub(crate) fn read(path: &Path) -> Result<Self, BuildError> {
        let read = || {
            let (memory, header) = region::file::read(path)?;
            header.is_of(true)?;
            let generations = OfRegion::to_read(&header);
            Self::new(&memory, header, generations)
        };
        read().map_err(|error| of_file(path, error))
    }

    fn new(memory: &Memory, header: Header, generations: OfRegion) -> Result<Self, BuildError> {
        let bytes = header.directory.bytes;
        let parts = *header.directory.tables.first().ok_or(RegionError::Corrupt)?;
        let max_keys = keys_in(header.directory.buckets());
        let Header { when_full, numbers, secret, clock, .. } = header;
        let lists = numbers.ok_or(RegionError::Corrupt)?;
        let latest = latest(&generations, &lists, clock.epoch_s(), None)?;
        let (number, in_force) = (latest.number, generations.in_force().clone());
        let judge = Numbered::new(in_force.clone(), number, &latest.numbers, 0);
        let base = Table::in_memory(memory, parts, when_full, judge)?;
        let base = base.ok_or(RegionError::TooSmall { needed: bytes, len: memory.len() })?;
        let state = State { numbers: Arc::clone(&latest.numbers), generation: number, swept: 0 };
        let table = Arc::new(MixedTable { base, in_force, is_sealed: true, state: Mutex::new(state) });
        let latest = ArcSwap::from_pointee(latest);
        let memory = memory.clone();
        Ok(Self { table, generations, lists, memory, max_keys, when_full, secret, clock, latest })
    }

    pub(crate) fn in_force(&self) -> &InForce {
        self.generations.in_force()
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    pub(crate) fn table(&self) -> &Arc<MixedTable> {
        &self.table
    }

    pub(crate) fn max_keys(&self) -> usize {
        self.max_keys
    }

    pub(crate) fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// The generation in force.
    ///
    /// # Errors
    /// The region's lists cannot be read.
    pub(crate) fn latest(&self) -> Result<Arc<Latest>, BuildError> {
        for _ in 0..ATTEMPTS {
            let known = self.latest.load_full();
            if known.number == self.generations.records().number() {
                return Ok(known);
            }
            let epoch_s = self.clock.epoch_s();
            let made = Arc::new(latest(&self.generations, &self.lists, epoch_s, Some(&known))?);
            // Before it is known, for whoever knows it makes handles of its numbers.
            let mut state = self.table.state();
            if state.generation < made.number {
                (state.numbers, state.generation) = (Arc::clone(&made.numbers), made.number);
            }
            drop(state);
            self.latest.rcu(|known| Arc::clone(if known.number < made.number { &made } else { known }));
        }
        Err(RegionError::Corrupt.into())
    }

    /// Runs `change` while no other caller changes the limits, in no process.
    ///
    /// # Errors
    /// Those of `change`; the region's file cannot be locked.
    pub(crate) fn exclusively<T>(
        &self,
        change: impl FnOnce() -> Result<T, BuildError>,
    ) -> Result<T, BuildError> {
        let _of_this_process = one_at_a_time();
        let _of_all = self.generations.lock()?;
        change()
    }

    /// Puts the register that follows the one of `held` in force, from `now_ns` on, or with `None` from a moment later than any
    /// decision by the one before. The caller changes the limits [exclusively](Self::exclusively), and has found `held` in
    /// force since.
    ///
    /// # Errors
    /// There is no room for it: nothing has changed.
    pub(crate) fn put_in_force(
        &self,
        next: &Register,
        held: &Latest,
        now_ns: Option<u64>,
    ) -> Result<(), BuildError> {
        // The bits of the generation after this one are those of the one that is three before.
        if self.generations.swept().saturating_add(2) < held.number {
            if !self.table.handle(&held.numbers, held.number, 0).sweep(false) {
                return Err(RegionError::Corrupt.into());
            }
            self.generations.set_swept(held.number);
        }
        let number = held.number.saturating_add(1);
        self.lists.write(number, &next.text())?;
        let record = Record { number, text: TEXT.to_owned(), reach: vec![0] };
        self.generations.put_record_in_force(&record, now_ns.map(|now_ns| now_ns.max(held.at_ns)))
    }

    /// The limiter of the first limit of the set at that place.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn limiter(self: &Arc<Self>, latest: &Latest, place: usize) -> Result<Limiter, BuildError> {
        let numbers: Arc<[usize]> = latest.register.numbers_of(place).ok_or(RegionError::Corrupt)?.into();
        let lineage = Arc::clone(latest.lineages.get(place).ok_or(RegionError::Corrupt)?);
        let policy = lineage.last().map(Generation::policy).ok_or(RegionError::Corrupt)?.clone();
        let layers = kernels(&policy, false)?.into_iter().zip(numbers.iter());
        let layers = layers.map(|(kernel, number)| {
            let (of, number) = (Arc::clone(&self.table), *number);
            let table = of.handle(&latest.numbers, latest.number, number);
            LayerTable::Words(kernel, WordTable::Mixed(MixedWords { table, of, number }))
        });
        let first =
            Regime { number: latest.number, policy: Arc::new(policy), layers: layers.collect(), lineage };
        let digest = hold::digest_of_numbers(&first.layers, &numbers, &self.secret);
        let generations = Generations::OfNumbers(OfNumbers::new(Arc::clone(self), numbers));
        let regimes = Regimes::new(first, generations);
        Ok(Limiter { digest, ..Limiter::of_regimes(regimes, self.clock.clone(), self.secret.clone()) })
    }

    /// The number of live keys, the memory, and the counts of events, by the policies of that generation.
    pub(crate) fn stats_at(&self, latest: &Latest, now_ns: u64, extent: Extent) -> Stats {
        // Of a sample the system would read all that lies between.
        self.memory.read_ahead(extent == Extent::All);
        let policies = latest.lineages.iter().filter_map(|lineage| lineage.last()).map(Generation::policy);
        // Whoever asks, each word is judged by its own number.
        let kernel = policies.filter_map(|policy| kernels(policy, false).ok()?.into_iter().next()).next();
        let table = self.table.handle(&latest.numbers, latest.number, 0);
        let stats =
            kernel.map(|kernel| with_kernel!(&kernel, algorithm => table.stats(algorithm, now_ns, extent)));
        stats.unwrap_or_default()
    }
}

/// What is in force in a region. Of what was in force before, `known`, nothing is read again: a list is written once.
fn latest(
    generations: &OfRegion,
    lists: &Lists,
    epoch_s: i64,
    known: Option<&Latest>,
) -> Result<Latest, BuildError> {
    let records = generations.records();
    let dated = |number: u64| -> Result<Option<Dated>, BuildError> {
        let known_one = known.and_then(|known| known.registers.iter().find(|one| one.number == number));
        if let Some(known_one) = known_one {
            return Ok(Some(known_one.clone()));
        }
        let Some(text) = lists.read(number, records)? else { return Ok(None) };
        let Some(at_ns) = generations.instant(number) else { return Ok(None) };
        let before = known.map(|known| &*known.register);
        Ok(Some(Dated { number, at_ns, register: Arc::new(Register::of_text(&text, before)?) }))
    };
    for _ in 0..ATTEMPTS {
        let number = records.number();
        let oldest = number.saturating_sub(KEPT as u64 - 1);
        // The oldest may be overwritten by the next change: then no word is of it any more.
        let first = if number == oldest { None } else { dated(oldest)? };
        let others = if number == oldest { oldest..=number } else { oldest + 1..=number };
        if let Some(others) = others.map(dated).collect::<Result<Option<Vec<_>>, _>>()? {
            let registers: Vec<_> = first.into_iter().chain(others).collect();
            return Latest::new(registers, epoch_s, known);
        }
    }
    Err(RegionError::Corrupt.into())
}

impl fmt::Debug for MixedRegion {
    /// Prints no secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MixedRegion").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Limiter {
    /// The limiter of another limit that shares the cells of this one.
    ///
    /// # Errors
    /// It does not fit their words.
    pub(crate) fn sharing(&self, policy: &Policy) -> Result<Self, BuildError> {
        Ok(Self { digest: self.digest, ..self.at_first_with(policy.clone())? })
    }
}
