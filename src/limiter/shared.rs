//! Limiters whose tables other processes use too: in memory that they share, or in a file.

use std::path::Path;

use super::{LayerTable, Limiter, LimiterBuilder};
use crate::error::{BuildError, RegionError, RegionField};
use crate::region::{self, Header, Medium, TABLES_AT, Terms};
use crate::table::{Memory, Table, keys_in};
use ratecell_core::Policy;
use ratecell_core::algorithm::{Algorithm, Kernel, Plan};
use ratecell_core::algorithm::{Pack, Packing};
use ratecell_core::whole_units;
use ratecell_core::with_kernel;

/// In memory that processes share, and in files.
///
/// All who share a region must mean the same by its words: the algorithm, the window, how wide a count is.
/// These are those of whoever made it. Rate, capacity and limit are each limiter's own, and may change
/// while others go on with theirs: a GCRA rate is then told in the region's ticks, rounded so that it is
/// never exceeded, which [`Resolved::emission`](crate::Resolved::emission) says; a limit may be as high as
/// the counts are wide, and they are as wide as the horizon allows. A GCRA that heals judges by the burst that the
/// region was made with, so there a burst may shrink but not grow.
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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl LimiterBuilder {
    /// The bytes of memory that [`init`](Self::init) takes for `max_keys`.
    ///
    /// # Errors
    /// `max_keys` is 0 or more than memory holds; or the policy has a `sliding_log`.
    pub fn region_bytes(&self) -> Result<usize, BuildError> {
        region::size(&self.wide()?.1)
    }

    /// The most keys that have room in a region of `len` bytes.
    ///
    /// # Errors
    /// The policy has a `sliding_log`, or not one key has room.
    pub fn max_keys_in(&self, len: usize) -> Result<usize, BuildError> {
        let layers = self.wide()?.1.packings.len();
        match region::buckets_in(layers, len) {
            0 => {
                let needed = region::bytes(layers, 1).unwrap_or(usize::MAX);
                Err(RegionError::TooSmall { needed, len }.into())
            }
            buckets => Ok(keys_in(buckets)),
        }
    }

    /// Makes `memory` a region, and the limiter that is first in it. Whatever was there is gone, so nobody
    /// may be using it. Unless `max_keys` was called, there is room for as many keys as `memory` holds.
    ///
    /// # Errors
    /// The memory is too small, the policy has a `sliding_log`, or the system has no random bytes.
    pub fn init(self, memory: &Memory) -> Result<Limiter, BuildError> {
        let (policy, terms) = self.wide()?;
        let header = region::init(memory, terms)?;
        limiter(policy, memory, header)
    }

    /// [`init`](Self::init) of memory that is all zeros, as fresh pages are: it is not written but for the header,
    /// so that its pages come into being as keys do. In memory that is not zeroed, keys may be found that were never
    /// checked.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn init_zeroed(self, memory: &Memory) -> Result<Limiter, BuildError> {
        let (policy, terms) = self.wide()?;
        let header = region::init_zeroed(memory, terms)?;
        limiter(policy, memory, header)
    }

    /// A limiter in the region that is in `memory`. `max_keys` and `when_full` are the region's, and where
    /// they were called must be so.
    ///
    /// # Errors
    /// [`BuildError::Region`] says what the memory is or what differs; [`BuildError::Policy`], that the
    /// policy does not fit the region's words.
    pub fn attach(self, memory: &Memory) -> Result<Limiter, BuildError> {
        let header = region::attach(memory, Medium::Memory)?;
        let policy = self.fitted(&header)?;
        limiter(policy, memory, header)
    }

    /// A limiter in the region that is in the file at `path`; made, if there is no file or nothing in it, for
    /// `max_keys`, or by default 100,000.
    ///
    /// All of the file's blocks are allocated when it is made, and it is as long as the region. A new file can
    /// be read and written by its owner alone; an empty one that is there beforehand keeps its owner and mode.
    /// The region outlives its processes, and the machine's restart, after which its clock goes on from the
    /// epoch by the wall clock. A restart is seen by the boot id; where /proc/sys is hidden, by the clocks, of which
    /// each opening notes one in the file. Nobody may shorten the file while it is used: the system would end the process.
    ///
    /// # Errors
    /// As [`attach`](Self::attach), and what the system refuses of the file. A file that holds anything
    /// else is left as it is.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Limiter, BuildError> {
        let path = path.as_ref();
        let (_, terms) = self.wide()?;
        let opened = region::file::open(path, terms).and_then(|(memory, header)| {
            let policy = self.fitted(&header)?;
            let limiter = limiter(policy, &memory, header)?;
            region::note(&memory)?;
            Ok(limiter)
        });
        opened.map_err(|error| match error {
            BuildError::Region(error) => BuildError::File { path: path.to_owned(), error },
            other => other,
        })
    }

    /// The policy as it is packed in a new region, and what it asks of one.
    fn wide(&self) -> Result<(Policy, Terms), BuildError> {
        let policy = self.policy.repacked(|_| Pack::Wide)?;
        let terms =
            Terms { packings: packings(&policy)?, max_keys: self.max_keys, when_full: self.when_full };
        Ok((policy, terms))
    }

    /// The policy in the words of a region.
    fn fitted(&self, header: &Header) -> Result<Policy, BuildError> {
        header.agrees(&self.wide()?.1)?;
        fit(&self.policy, &header.packings)
    }
}

impl Limiter {
    /// Another limiter on the same keys, in the same memory, with another policy: a tier, a location, a rate
    /// that changes while others go on with theirs.
    ///
    /// The policy must mean the same by its words, as among those who share a region. One made by
    /// [`build`](LimiterBuilder::build) has counts just as wide as its own limit needs.
    ///
    /// # Errors
    /// As [`LimiterBuilder::attach`].
    pub fn with_policy(&self, policy: Policy) -> Result<Self, BuildError> {
        let held = packings(&self.policy)?;
        if policy.layers().len() != held.len() {
            let (held, asked) = (held.len().to_string(), policy.layers().len().to_string());
            return Err(RegionError::Differs { field: RegionField::Layers, held, asked }.into());
        }
        let policy = fit(&policy, &held)?;
        let tables = self.layers.iter().filter_map(|layer| match layer {
            LayerTable::Words(_, table) => Some(table.clone()),
            LayerTable::Logs(..) => None,
        });
        let layers = kernels(&policy)?.into_iter().zip(tables);
        let layers = layers.map(|(kernel, table)| LayerTable::Words(kernel, table)).collect();
        Ok(Self {
            policy,
            layers,
            clock: self.clock,
            secret: self.secret.clone(),
            #[cfg(feature = "async")]
            waits: Default::default(),
        })
    }
}

/// The limiter of a policy in a region that it fits.
fn limiter(policy: Policy, memory: &Memory, header: Header) -> Result<Limiter, BuildError> {
    let bytes = <Table>::bytes(header.buckets);
    let table = |number: usize| {
        let at = bytes.and_then(|bytes| bytes.checked_mul(number)?.checked_add(TABLES_AT));
        at.and_then(|at| Table::in_memory(memory, at, header.buckets, header.when_full))
    };
    let layers = kernels(&policy)?.into_iter().enumerate().map(|(number, kernel)| {
        let table = table(number);
        let too_small = || RegionError::TooSmall { needed: header.bytes, len: memory.len() };
        Ok(LayerTable::Words(kernel, table.ok_or_else(too_small)?))
    });
    let layers = layers.collect::<Result<_, BuildError>>()?;
    Ok(Limiter {
        policy,
        layers,
        clock: header.clock,
        secret: header.secret,
        #[cfg(feature = "async")]
        waits: Default::default(),
    })
}

fn kernels(policy: &Policy) -> Result<Vec<Kernel>, RegionError> {
    let plans = policy.layers().iter().map(|layer| match layer.plan() {
        Plan::Word(kernel) => Ok(kernel),
        Plan::Log(_) => Err(RegionError::NoWord),
    });
    plans.collect()
}

/// What the words of each layer mean.
fn packings(policy: &Policy) -> Result<Vec<Packing>, RegionError> {
    let packing = |kernel: &Kernel| with_kernel!(kernel, algorithm => algorithm.packing());
    Ok(kernels(policy)?.iter().map(packing).collect())
}

/// `policy` in words that are `held`, as many as it has layers.
fn fit(policy: &Policy, held: &[Packing]) -> Result<Policy, BuildError> {
    let differs = |held: &Packing, asked: &Packing| {
        let (held, asked) = (described(held), described(asked));
        BuildError::from(RegionError::Differs { field: RegionField::Words, held, asked })
    };
    // Before its words are asked to be as those: of another kind, or window, they would be refused for a number.
    for (held, asked) in held.iter().zip(packings(policy)?) {
        if !held.is_like(&asked) {
            // Where only the window differs, the counts could be as wide.
            let bits = if held.word == asked.word { held.count_bits } else { asked.count_bits };
            return Err(differs(held, &Packing { count_bits: bits, ..asked }));
        }
    }
    let policy = policy.repacked(|number| held.get(number).map_or(Pack::Wide, |held| Pack::As(*held)))?;
    for (held, asked) in held.iter().zip(packings(&policy)?) {
        if *held != asked {
            return Err(differs(held, &asked));
        }
    }
    Ok(policy)
}

/// What words are, for whoever reads an error.
fn described(packing: &Packing) -> String {
    let Packing { word, unit, grain, count_bits } = packing;
    let kind = word.trim_ascii().escape_ascii();
    if packing.is_gcra() {
        return format!("{kind} in ticks of 1/{unit} ns");
    }
    let most = 1_u64.checked_shl(*count_bits).map_or(u64::MAX, |above| above - 1);
    format!("{kind} of {}, grain {}, counts to {most}", whole_units(*unit), whole_units(*grain))
}
