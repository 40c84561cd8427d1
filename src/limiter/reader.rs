//! A region inspected from outside: read, and never written.

use core::cmp::Reverse;
use core::fmt;
use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

use super::Limiter;
use super::generations::OfRegion;
use super::regions::{of_file, tables};
use super::remote::{OnFailure, OnMiss, Remote, Shared};
use super::watch::shown;
use crate::board::Board;
use crate::clock::Clock;
use crate::error::{BuildError, RegionError};
use crate::memory::Memory;
use crate::names::{KeyName, Names};
use crate::region::{self, Header, Records};
use crate::table::{Extent, Secret, Stats, Table, WhenFull, keys_in};
use ratecell_core::algorithm::Kernel;
use ratecell_core::with_kernel;
use ratecell_core::{Decision, Generation, Outcome, Policy, Request};

/// The region in a file, for inspection: its policy, its size and how full it is.
///
/// It needs neither a policy nor the right to write the file. The file is mapped read-only, so no call here changes a
/// decision of its limiters, which may go on meanwhile. Each number is its value at some moment during the call. Any
/// number of threads may share a `Region`.
///
/// It counts keys by the policy that was in force when it was read, which [`policy`](Self::policy) returns. After a
/// [change](Limiter::change) its counts of live keys may be wrong: read the region anew. [`is_outdated`](Self::is_outdated)
/// says when.
///
/// ```
/// use ratecell::{Limiter, Policy, Region};
///
/// # let path = std::env::temp_dir().join(format!("ratecell-region-{}", std::process::id()));
/// let limiter = Limiter::builder("3/h".parse::<Policy>()?).max_keys(600).open(&path)?;
/// assert!(limiter.check("user:42").is_allowed());
///
/// let region = Region::read(&path)?;
/// assert_eq!(region.policy().to_string(), "3/h");
/// assert_eq!((region.max_keys(), region.stats().live), (600, 1));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Region {
    pub(super) policy: Policy,
    max_keys: usize,
    when_full: WhenFull,
    pub(super) clock: Clock,
    pub(super) secret: Secret,
    records: Records,
    /// The number of the policy that was in force.
    number: u64,
    /// In memory that is mapped read-only.
    pub(super) layers: Vec<(Kernel, Table)>,
    memory: Memory,
    /// Of a file of leases.
    remote: Option<Remote>,
    /// Of one that names denied keys.
    pub(super) names: Option<Names>,
}

/// A key that was denied: see [`Region::denied_keys`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeniedKey {
    /// As [`KeyUse::hash`](crate::KeyUse::hash).
    pub hash: u64,
    /// The key; `None` of one that was given by its hash.
    pub name: Option<KeyName>,
    /// How often it was denied, at least: what was counted since it was named last.
    pub denied: u64,
}

impl fmt::Debug for Region {
    /// Prints the policy and the size, and no keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut region = f.debug_struct("Region");
        region.field("policy", &self.policy).field("max_keys", &self.max_keys).finish_non_exhaustive()
    }
}

impl Region {
    /// Opens the region in the file at `path`. Nobody may shorten the file while the `Region` lives: the system would end
    /// the process.
    ///
    /// # Errors
    /// [`BuildError::File`]: the system refuses to open the file for reading, or it holds no region, or one that is
    /// damaged or of another layout. [`BuildError::Policy`]: the region's policy cannot be kept in its words.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, BuildError> {
        let path = path.as_ref();
        let region = || {
            let (memory, header) = region::file::read(path)?;
            header.is_of(false)?;
            let lineage = OfRegion::to_read(&header).lineage()?;
            let policy = Limiter::following().fitted(&header, &lineage)?.at_epoch(header.clock.epoch_s())?;
            let layers = tables(&policy, &memory, &header, &lineage)?;
            let max_keys = keys_in(header.directory.buckets());
            let remote = remote(&memory, &header)?;
            let names = header.names(&memory)?;
            let Header { when_full, clock, secret, records, .. } = header;
            let number = lineage.last().map_or(0, Generation::number);
            Ok(Self {
                policy,
                max_keys,
                when_full,
                clock,
                secret,
                records,
                number,
                layers,
                memory,
                remote,
                names,
            })
        };
        region().map_err(|error| of_file(path, error))
    }

    /// The policy that was in force when the region was read. A limiter in it may have another capacity or rate.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Whether the policy in force is another by now: then read the region anew.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        self.records.number() != self.number
    }

    /// The number of keys that have room.
    #[must_use]
    pub fn max_keys(&self) -> usize {
        self.max_keys
    }

    /// How a new key is decided when the table has no room for it.
    #[must_use]
    pub fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// The zero of the region's clock.
    #[must_use]
    pub fn epoch(&self) -> SystemTime {
        self.clock.epoch()
    }

    /// Nanoseconds since the [`epoch`](Self::epoch) by the region's clock, or by the wall clock if no limiter has opened
    /// the region since the machine started.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now()
    }

    /// Of a file of leases, the state of its machine: as [`Limiter::shared`](crate::Limiter::shared), without warnings.
    #[must_use]
    pub fn shared(&self) -> Option<Shared> {
        self.remote.as_ref().map(|remote| remote.shared(self.now_ns()))
    }

    /// What a check of `key` would see now: as [`Limiter::peek`](crate::Limiter::peek), but nothing is written, not even the
    /// word of a key that another policy was in force for.
    ///
    /// By a policy with `tz=caller` the outcome is [`Never`](crate::Outcome::Never): a peek names no zone. Of a file of leases
    /// it says what this machine holds, and the outcome is [`Asked`](crate::Outcome::Asked) where that is nothing.
    pub fn peek(&self, key: impl AsRef<[u8]>) -> Decision {
        self.peek_at(key, self.now_ns())
    }

    /// [`peek`](Self::peek) at `now_ns`.
    pub fn peek_at(&self, key: impl AsRef<[u8]>, now_ns: u64) -> Decision {
        let (h, request) = (self.secret.hash(key.as_ref()), Request::default().cost(0));
        let peeked = self.layers.iter().map(|(kernel, table)| {
            with_kernel!(kernel, algorithm => table.glance_peek(algorithm, h, now_ns, &request))
        });
        let peeked = Decision::combined(peeked).unwrap_or_default();
        match peeked.outcome() {
            Outcome::ClockRange => Decision::clock_range(peeked.limit()).of_layer(peeked.layer() as u32),
            _ => peeked,
        }
    }

    /// How many requests were denied since the region was made: as [`Limiter::denied`](crate::Limiter::denied).
    #[must_use]
    pub fn denied(&self) -> Option<u64> {
        self.names.as_ref().map(Names::total)
    }

    /// The keys that were denied, the one that was denied most first; none of a region without
    /// [names](crate::LimiterBuilder::names).
    ///
    /// There is room for 256 keys of each of 16 threads. If there are more, those that are denied most are most likely
    /// here. Each name is that of its key, whoever writes the region meanwhile: a name that was written in part, because its
    /// writer was killed, is left out.
    #[must_use]
    pub fn denied_keys(&self) -> Vec<DeniedKey> {
        let mut by_hash: HashMap<u64, DeniedKey> = HashMap::new();
        for (_, entry) in self.names.iter().flat_map(Names::entries) {
            let denied = entry.count();
            let new = DeniedKey { hash: shown(entry.hash), name: entry.name, denied: 0 };
            let key = by_hash.entry(entry.hash).or_insert(new);
            key.denied = key.denied.saturating_add(denied);
        }
        let mut keys: Vec<_> = by_hash.into_values().collect();
        keys.sort_by_key(|key| (Reverse(key.denied), key.hash));
        keys
    }

    /// Returns the number of live keys, the memory, and the counts of events: as
    /// [`Limiter::stats`](crate::Limiter::stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats_at(self.now_ns())
    }

    /// [`stats`](Self::stats) at `now_ns`.
    #[must_use]
    pub fn stats_at(&self, now_ns: u64) -> Stats {
        self.survey(now_ns, Extent::Sample)
    }

    /// [`stats`](Self::stats) with every key counted: as [`Limiter::stats_exact`](crate::Limiter::stats_exact).
    #[must_use]
    pub fn stats_exact(&self) -> Stats {
        self.stats_exact_at(self.now_ns())
    }

    /// [`stats_exact`](Self::stats_exact) at `now_ns`.
    #[must_use]
    pub fn stats_exact_at(&self, now_ns: u64) -> Stats {
        self.survey(now_ns, Extent::All)
    }

    fn survey(&self, now_ns: u64, extent: Extent) -> Stats {
        // Of a sample the system would read all that lies between.
        self.memory.read_ahead(extent == Extent::All);
        self.layers.iter().fold(Stats::default(), |sum, (kernel, table)| {
            with_kernel!(kernel, algorithm => sum.with(table.stats(algorithm, now_ns, extent)))
        })
    }
}

/// The board of a file of leases, of which nothing is asked but its state and its counters.
fn remote(memory: &Memory, header: &Header) -> Result<Option<Remote>, BuildError> {
    let Some((at, _)) = &header.board else { return Ok(None) };
    let too_small = || RegionError::TooSmall { needed: header.directory.bytes, len: memory.len() };
    let board = Board::in_memory(memory, *at)?.ok_or_else(too_small)?;
    Ok(Some(Remote::new(board, OnMiss::default(), OnFailure::default())))
}
