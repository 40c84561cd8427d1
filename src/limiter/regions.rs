//! Limiters whose tables other processes use too: in memory that they share, or in a file.

use core::fmt;
use std::path::Path;
use std::sync::Arc;

use super::differing::Differing;
use super::generations::{Generations, OfRegion};
use super::regime::{Regime, Regimes};
use super::remote::{Member, Remote};
use super::tables::LayerTable;
use super::{Limiter, LimiterBuilder, events};
use crate::board::Board;
use crate::error::{BuildError, RegionError, RegionField, of_policy};
use crate::memory::Memory;
use crate::region::{self, BoardTerms, Header, Medium, Terms};
use crate::table::era::{Era, Lineage};
use crate::table::{Table, keys_in};
use ratecell_core::algorithm::{Algorithm, Kernel, Lend, Plan};
use ratecell_core::algorithm::{LayoutChoice, WordLayout};
use ratecell_core::whole_units;
use ratecell_core::with_kernel;
use ratecell_core::{Generation, Layer, Policy, PolicyError};

/// Limiters in memory that processes share, and in files. On systems other than Linux, making or attaching to a region
/// fails with [`RegionError::Unsupported`].
///
/// All limiters of a region must agree on the meaning of its words: the algorithm, the window, the width of a count. The
/// maker of the region sets them. A region has one policy in force: its maker's, until [`Limiter::change`] puts another
/// one in its place, for all limiters of the region. A limiter begun by [`Limiter::following`] has the policy in force.
///
/// A limiter that attaches with another burst, capacity or limit of a window has its own, while others go on with theirs,
/// and keeps it when the policy changes. A limit may be as high as the width of the counts allows, and they are as wide as
/// the horizon allows. A GCRA with `heal` uses the greatest burst of the policies in force until now, so the burst of a
/// limiter may be lower, but not higher; a change may raise it.
///
/// A limiter of another rate is refused with both policies in the error ([`RegionField::Policy`]), so that nobody limits by a
/// rate that others do not know of. With [`follow`](Self::follow) the region's policy holds, and with
/// [`change`](Self::change) the limiter's, for all. For a rate of its own beside the region's, there is
/// [`Limiter::with_policy`]. There a GCRA rate is expressed in the region's ticks, rounded so that it is never exceeded;
/// [`Resolved::emission`](crate::Resolved::emission) has the result.
///
/// ```
/// use ratecell::{Limiter, Memory, Policy};
///
/// let builder = Limiter::builder("3/h".parse::<Policy>()?).max_keys(1_000);
/// let memory = Memory::shared(builder.region_bytes()?)?;
/// let here = builder.clone().init(&memory)?;
/// let there = builder.attach(&memory)?;      // in a process forked off
/// assert_eq!(here.check_at("user:42", 2, 0).remaining(), 1);
/// assert_eq!(there.check_at("user:42", 1, 0).remaining(), 0);
///
/// let follower = Limiter::following().attach(&memory)?;
/// assert_eq!(follower.policy().to_string(), "3/h");
///
/// let asked = Limiter::builder("9/h".parse::<Policy>()?);
/// let error = asked.clone().attach(&memory).unwrap_err().to_string();
/// assert!(error.contains("`3/h` in force; expected `9/h` to have the same rate"), "{error}");
/// assert_eq!(asked.clone().follow().attach(&memory)?.policy().to_string(), "3/h");
/// asked.change().attach(&memory)?;
/// assert_eq!(here.policy().to_string(), "9/h");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl LimiterBuilder {
    /// The bytes of memory that [`init`](Self::init) needs for `max_keys`.
    ///
    /// # Errors
    /// `max_keys` is 0 or more than memory can hold; the policy has a `sliding_log`; or there is no policy.
    pub fn region_bytes(&self) -> Result<usize, BuildError> {
        region::size(&self.new_region()?)
    }

    /// The most keys that have room in a region of `len` bytes.
    ///
    /// # Errors
    /// The policy has a `sliding_log`; there is no policy; or not one key has room.
    pub fn max_keys_in(&self, len: usize) -> Result<usize, BuildError> {
        let terms = self.new_region()?;
        match region::buckets_in(&terms, len) {
            0 => {
                let needed = region::bytes(&terms, 1).unwrap_or(usize::MAX);
                Err(RegionError::TooSmall { needed, len }.into())
            }
            buckets => Ok(keys_in(buckets)),
        }
    }

    /// Makes `memory` a region, and returns its first limiter. The memory is overwritten, so nobody may be using it.
    /// Unless `max_keys` was called, the region has room for as many keys as fit in `memory`.
    ///
    /// # Errors
    /// The memory is too small; the policy has a `sliding_log`; there is no policy; the system has no random bytes; or the
    /// processor cannot exchange 16 bytes at once ([`BuildError::Processor`]).
    pub fn init(self, memory: &Memory) -> Result<Limiter, BuildError> {
        self.refuse_sharing()?;
        self.refuse_store()?;
        let header = region::init(memory, self.new_region()?)?;
        // By the region's own epoch, as in every process that attaches.
        self.attached(memory, header)
    }

    /// [`init`](Self::init) for memory that is all zeros, as fresh pages are. Only the part before the tables is written,
    /// so a page of a table becomes resident when the first key in it does. In memory that is not zeroed, the table may
    /// contain keys that were never checked.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn init_zeroed(self, memory: &Memory) -> Result<Limiter, BuildError> {
        self.refuse_sharing()?;
        self.refuse_store()?;
        let header = region::init_zeroed(memory, self.new_region()?)?;
        // By the region's own epoch, as in every process that attaches.
        self.attached(memory, header)
    }

    /// Returns a limiter in the region that `memory` holds. `max_keys` and `when_full` are those of the region; if they
    /// were called, they must be equal.
    ///
    /// # Errors
    /// [`BuildError::Region`]: the memory holds no region, or one that differs, or the policy has a `sliding_log`.
    /// [`BuildError::Policy`]: the policy does not fit the words of the region. [`BuildError::Change`]: with
    /// [`change`](Self::change), the policy cannot follow the one in force. [`BuildError::Processor`].
    pub fn attach(self, memory: &Memory) -> Result<Limiter, BuildError> {
        self.refuse_store()?;
        let header = region::attach(memory, Medium::Memory)?;
        let limiter = self.attached(memory, header)?;
        self.put_in_force(&limiter)?;
        Ok(limiter)
    }

    fn attached(&self, memory: &Memory, header: Header) -> Result<Limiter, BuildError> {
        let generations = OfRegion::new(&header);
        self.limiter(memory, header, generations)
    }

    /// Returns a limiter in the region that the file at `path` holds. If the file is absent, empty or all zeros, the
    /// region is made, for `max_keys`, or by default 100,000.
    ///
    /// All blocks of the file are allocated when it is made, and it is as long as the region. A new file can be read and
    /// written only by its owner; an existing empty file keeps its owner and mode.
    ///
    /// The region outlives its processes, and a restart of the machine. After a restart its clock goes on from the epoch
    /// by the wall clock. A restart is detected by the boot id or, if /proc/sys is hidden, by the clocks, one of which
    /// each opening notes in the file. Nobody may shorten the file while it is used: the system would end the process.
    ///
    /// # Errors
    /// [`BuildError::File`]: the file holds something else or a region that differs, or the system refuses to open it or
    /// to make it. All others are as those of [`attach`](Self::attach) and [`init`](Self::init). A file with any other
    /// content is left as it is, and without a policy so is one that is absent or empty.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Limiter, BuildError> {
        let path = path.as_ref();
        #[cfg(feature = "store")]
        if let Some(store) = self.store.clone() {
            return super::agent::open(self, &store, path);
        }
        self.refuse_version()?;
        self.open_file(path)
    }

    /// [`open`](Self::open), without an agent.
    pub(super) fn open_file(self, path: &Path) -> Result<Limiter, BuildError> {
        self.refuse_time()?;
        let terms = match &self.policy {
            // The blocks of a file are there; a page of them takes memory once something was given back.
            Some(policy) => Some(Terms { reservations: self.member.is_none(), ..self.wide(policy)? }),
            None => None,
        };
        let opened = region::file::open(path, terms).and_then(|(memory, header)| {
            let generations = OfRegion::new(&header).in_file(path);
            let limiter = self.limiter(&memory, header, generations)?;
            region::note(&memory)?;
            self.put_in_force(&limiter)?;
            Ok(limiter)
        });
        opened.inspect(|limiter| events::opened(limiter, path)).map_err(|error| of_file(path, error))
    }

    /// An error where a store was given: its machine has a file, or memory of its own.
    fn refuse_store(&self) -> Result<(), BuildError> {
        self.refuse_time()?;
        #[cfg(feature = "store")]
        if self.store.is_some() {
            let reason =
                "memory of the caller's cannot be a machine's part of a store: expected `build` or `open`";
            return Err(BuildError::Shared { reason: reason.to_owned() });
        }
        Ok(())
    }

    /// The policy's terms for a new region.
    fn new_region(&self) -> Result<Terms, BuildError> {
        self.refuse_time()?;
        self.wide(self.policy.as_ref().ok_or(BuildError::NoPolicy)?)
    }

    /// The terms of `policy` for a new region, whose words have counts as wide as can be.
    fn wide(&self, policy: &Policy) -> Result<Terms, BuildError> {
        let wide = policy.repacked(|_| LayoutChoice::WIDE)?;
        Ok(Terms {
            packings: packings(&wide, self.member.is_some())?,
            policy: policy.to_string(),
            // Capacities are 32-bit parameters.
            reach: policy.layers().iter().map(|layer| layer.capacity() as u32).collect(),
            max_keys: self.max_keys,
            when_full: self.when_full,
            reservations: self.reservations,
            numbers: None,
            names: self.names,
            board: self
                .member
                .as_ref()
                .map(|Member { name, secret }| BoardTerms { name: name.clone(), secret: secret.clone() }),
        })
    }

    /// The policy that the limiter begins by, if that is not the region's.
    fn asked(&self) -> Option<&Policy> {
        self.policy.as_ref().filter(|_| self.differing == Differing::Refused)
    }

    /// Puts the builder's policy in force for all, if it is to be.
    fn put_in_force(&self, limiter: &Limiter) -> Result<(), BuildError> {
        match &self.policy {
            Some(policy) if self.differing == Differing::Changed => limiter.change_by(policy, None),
            _ => Ok(()),
        }
    }

    /// The builder's policy, or otherwise that of the region, in the words of the region's last generation.
    pub(super) fn fitted(&self, header: &Header, lineage: &Lineage) -> Result<Policy, BuildError> {
        let held = lineage.last().map(Generation::policy).ok_or(RegionError::Corrupt)?;
        if header.board.is_some() {
            return self.fitted_to_leases(held.clone(), header);
        }
        self.refuse_sharing()?;
        let policy = self.asked().unwrap_or(held);
        header.agrees(&self.wide(policy)?)?;
        let words = packings(held, false)?;
        if are_alike(policy, &words)? && !policy.has_rates_of(held) {
            return Err(of_another_rate(held, policy).into());
        }
        fit(policy, &words, held)
    }

    /// The policy of a region of leases, which is the store's.
    fn fitted_to_leases(&self, held: Policy, header: &Header) -> Result<Policy, BuildError> {
        // The agent brings the store's policy, which the region follows.
        let asked = self.asked().filter(|_| self.member.is_none());
        if let Some(asked) = asked.filter(|asked| **asked != held) {
            let reason = format!(
                "the region shares \"{held}\" with other machines through a store, and \"{asked}\" was asked for: expected \
                 that policy, or none"
            );
            return Err(BuildError::Shared { reason });
        }
        let terms = Terms { packings: packings(&held, true)?, ..self.wide(&held)? };
        header.agrees(&terms)?;
        for (held, asked) in header.packings.iter().zip(&terms.packings) {
            if held != asked {
                let [held, asked] = [held, asked].map(described);
                return Err(RegionError::Differs { field: RegionField::Words, held, asked }.into());
            }
        }
        Ok(held)
    }
}

impl LimiterBuilder {
    /// The limiter in a region.
    fn limiter(&self, memory: &Memory, header: Header, generations: OfRegion) -> Result<Limiter, BuildError> {
        header.is_of(false)?;
        let lineage = generations.lineage()?;
        let policy = self.fitted(&header, &lineage)?.at_epoch(header.clock.epoch_s())?;
        let layers = tables(&policy, memory, &header, &lineage)?.into_iter();
        let layers = layers.map(|(kernel, table)| LayerTable::own(kernel, table)).collect();
        if header.board.is_none() {
            generations.raise(policy.layers().iter().map(Layer::capacity));
        }
        let number = lineage.last().map_or(0, Generation::number);
        let first = Regime { number, policy: Arc::new(policy), layers, lineage };
        let board = match header.board {
            None => None,
            Some((at, _)) => Some(Board::in_memory(memory, at)?.ok_or(RegionError::Corrupt)?),
        };
        let (on_miss, on_failure) = (self.on_miss.unwrap_or_default(), self.on_failure.unwrap_or_default());
        let names = header.names(memory)?;
        let limiter = Limiter {
            has_other_zone_rules: header.has_other_zone_rules(),
            ..Limiter::of_regimes(
                Regimes::new(first, Generations::OfRegion(generations)),
                header.clock,
                header.secret,
            )
        };
        let limiter = limiter.naming(names);
        Ok(match board {
            None => limiter,
            Some(board) => limiter.of_many_machines(Remote::new(board, on_miss, on_failure)),
        })
    }
}

pub(super) fn parsed(text: &str) -> Result<Policy, RegionError> {
    text.parse().map_err(|error: PolicyError| RegionError::Section {
        section: "policy".to_owned(),
        reason: error.to_string(),
    })
}

/// The layers of a policy that the last generation of a region fits, each with its table there.
pub(super) fn tables(
    policy: &Policy,
    memory: &Memory,
    header: &Header,
    lineage: &Lineage,
) -> Result<Vec<(Kernel, Table)>, BuildError> {
    let too_small = || RegionError::TooSmall { needed: header.directory.bytes, len: memory.len() };
    let kernels = kernels(policy, header.board.is_some())?;
    let layers = kernels.into_iter().zip(&header.directory.tables).enumerate();
    let layers = layers.map(|(number, (kernel, parts))| {
        let era = Era::last_of(header.records.in_force().clone(), lineage, number);
        let table = Table::in_memory(memory, *parts, header.when_full, era)?;
        Ok((kernel, table.ok_or_else(too_small)?))
    });
    layers.collect()
}

/// An error of the region in the file at `path`.
pub(crate) fn of_file(path: &Path, error: BuildError) -> BuildError {
    match error {
        BuildError::Region(error) => BuildError::File { path: path.to_owned(), error },
        other => other,
    }
}

/// What decides on the words of each layer: the policy itself, or leases of its units.
pub(super) fn kernels(policy: &Policy, leased: bool) -> Result<Vec<Kernel>, RegionError> {
    let plans = policy.layers().iter().map(|layer| match layer.plan() {
        Plan::Word(kernel) if leased => {
            let lease = with_kernel!(&kernel, algorithm => algorithm.lease());
            lease.map(Kernel::Lease).ok_or(RegionError::NoWord)
        }
        Plan::Word(kernel) => Ok(kernel),
        Plan::Log(_) => Err(RegionError::NoWord),
    });
    plans.collect()
}

/// What the words of each layer mean.
pub(super) fn packings(policy: &Policy, leased: bool) -> Result<Vec<WordLayout>, RegionError> {
    let packing = |kernel: &Kernel| with_kernel!(kernel, algorithm => algorithm.packing());
    Ok(kernels(policy, leased)?.iter().map(packing).collect())
}

/// The error of a policy of another rate than the one in force.
fn of_another_rate(held: &Policy, asked: &Policy) -> RegionError {
    let held = format!("`{held}` in force");
    let asked = format!(
        "`{asked}` to have the same rate, or a limiter that follows the region's policy or changes it"
    );
    RegionError::Differs { field: RegionField::Policy, held, asked }
}

/// Whether words of `policy` can be packed as those.
fn are_alike(policy: &Policy, held: &[WordLayout]) -> Result<bool, RegionError> {
    Ok(held.iter().zip(packings(policy, false)?).all(|(held, asked)| held.is_like(&asked)))
}

/// `policy` packed in the words `held`, one for each of its layers. `holder` is a policy with these words, for the error.
pub(super) fn fit(
    policy: &Policy,
    held: &[WordLayout],
    holder: &impl fmt::Display,
) -> Result<Policy, BuildError> {
    let differs = |held: &WordLayout, asked: &WordLayout| {
        let (held, asked) = (of_policy(described(held), holder), of_policy(described(asked), policy));
        BuildError::from(RegionError::Differs { field: RegionField::Words, held, asked })
    };
    // Before the policy is repacked: for words of another kind or window that would fail with an error about a number.
    for (held, asked) in held.iter().zip(packings(policy, false)?) {
        if !held.is_like(&asked) {
            // If only the window differs, the error shows counts of the same width.
            let bits = if held.word == asked.word { held.count_bits } else { asked.count_bits };
            return Err(differs(held, &WordLayout { count_bits: bits, ..asked }));
        }
    }
    let policy = policy
        .repacked(|number| held.get(number).map_or(LayoutChoice::WIDE, |held| LayoutChoice::As(*held)))?;
    for (held, asked) in held.iter().zip(packings(&policy, false)?) {
        if *held != asked {
            return Err(differs(held, &asked));
        }
    }
    Ok(policy)
}

/// A packing in the words of an error.
fn described(packing: &WordLayout) -> String {
    let WordLayout { word, unit, grain, count_bits } = packing;
    let kind = word.trim_ascii().escape_ascii();
    if packing.is_gcra() {
        return format!("{kind} in ticks of 1/{unit} ns");
    }
    let most = 1_u64.checked_shl(*count_bits).map_or(u64::MAX, |above| above - 1);
    format!("{kind} of {}, grain {}, counts to {most}", whole_units(*unit), whole_units(*grain))
}
