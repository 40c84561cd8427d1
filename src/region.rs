//! The region: a limiter's tables in memory that processes share, under a header that says what they are.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 to 511 | the [header](header): what is fixed when the region is made, and its clock |
//! | 512 to 2,559 | the [directory](directory): kind, form and place of each section |
//! | 2,560 on | the sections, each at a multiple of 128: [packings], [policy], where the table has several policies its [numbers], of each layer a table, its counters and, where its words need them, `given`: the totals of what was given back; of a machine with a store its [board](crate::board); and where denied keys are named their [names](crate::names) |
//!
//! Nothing in it is a pointer and nothing names a process, so it may stand at any address in each. The kind of its words,
//! their windows and the width of their counts are fixed. The policy in force may change, and with it the tick of a rate:
//! the tag of a word says which of the last four policies it speaks. A limiter may have a rate, a capacity or a limit of
//! its own beside the policy in force; a change ends its rate. No state of the tables needs repair, so there is nothing to
//! do when a process dies, and nothing to say when one leaves.

use siphasher::sip::SipHasher13;

use crate::board::Name;
use crate::clock::Clock;
use crate::error::{BuildError, RegionError, RegionField, of_policy};
use crate::memory::Memory;
use crate::names::Names;
use crate::sync::{AtomicU64, Ordering};
use crate::table::{DEFAULT_MAX_KEYS, Secret, WhenFull, buckets_for, keys_in};
use ratecell_core::Policy;
use ratecell_core::algorithm::WordLayout;

mod access;
mod boot;
mod directory;
pub(crate) mod file;
mod header;
pub(crate) mod numbers;
mod packings;
mod policy;

pub(crate) use boot::Medium;
pub(crate) use file::ChangeLock;
pub(crate) use header::Header;
pub(crate) use numbers::Lists;
pub(crate) use policy::{Record, Records};

use directory::{Directory, Sections};

/// What a limiter asks of a region.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// What the words of each layer are to mean.
    pub(crate) packings: Vec<WordLayout>,
    /// The text of the policy.
    pub(crate) policy: String,
    /// Of each layer the capacity.
    pub(crate) reach: Vec<u32>,
    /// `None`: as many as fit, or as are there.
    pub(crate) max_keys: Option<usize>,
    /// `None`: the default, or what is there.
    pub(crate) when_full: Option<WhenFull>,
    /// `None`: no board, or whatever is there.
    pub(crate) board: Option<BoardTerms>,
    /// Whether a new one counts what is given back, where its words need that.
    pub(crate) reservations: bool,
    /// The first list of the numbers, if the table is to have several policies. Then there is one, with one packing, which
    /// counts what is given back.
    pub(crate) numbers: Option<String>,
    /// Whether a new one names denied keys. Then one that is there must.
    pub(crate) names: bool,
}

impl Terms {
    fn sections(&self) -> Sections {
        if self.numbers.is_some() {
            return Sections::of_several_policies(self.names);
        }
        Sections::of(&self.packings, self.reservations, self.board.is_some(), self.names)
    }
}

/// The store of a region that has a board.
#[derive(Clone, Debug)]
pub(crate) struct BoardTerms {
    /// The name of the limits in the store.
    pub(crate) name: String,
    /// The store's, by which all its machines hash their keys.
    pub(crate) secret: Secret,
}

/// The bytes of a region on these terms with that many buckets.
pub(crate) fn bytes(terms: &Terms, buckets: usize) -> Option<usize> {
    Directory::new(&terms.sections(), buckets).map(|directory| directory.bytes)
}

/// The bytes of a region on these terms.
pub(crate) fn size(terms: &Terms) -> Result<usize, BuildError> {
    let buckets = buckets_for(terms.max_keys.unwrap_or(DEFAULT_MAX_KEYS))?;
    bytes(terms, buckets).ok_or_else(BuildError::too_large)
}

/// The most buckets of a region on these terms in `len` bytes.
pub(crate) fn buckets_in(terms: &Terms, len: usize) -> usize {
    let sections = terms.sections();
    let fits =
        |buckets: usize| Directory::new(&sections, buckets).is_some_and(|directory| directory.bytes <= len);
    // No bucket takes less than a byte.
    let (mut most, mut too_many) = (0, len);
    while most + 1 < too_many {
        let middle = most.midpoint(too_many);
        if fits(middle) { most = middle } else { too_many = middle }
    }
    most
}

/// Makes `memory`, whatever it holds, a region with no key in it.
pub(crate) fn init(memory: &Memory, terms: Terms) -> Result<Header, BuildError> {
    let first = First::of(&terms);
    let header = header(memory, terms)?;
    memory.clear();
    write(memory, header, &first)
}

/// [`init`] of memory that is all zeros, of which only what stands before the tables is written.
pub(crate) fn init_zeroed(memory: &Memory, terms: Terms) -> Result<Header, BuildError> {
    let first = First::of(&terms);
    write(memory, header(memory, terms)?, &first)
}

/// What the first generation of a new region is.
struct First {
    record: Record,
    numbers: Option<String>,
}

impl First {
    fn of(terms: &Terms) -> Self {
        let record = Record { number: 0, text: terms.policy.clone(), reach: terms.reach.clone() };
        Self { record, numbers: terms.numbers.clone() }
    }
}

fn write(memory: &Memory, header: Header, first: &First) -> Result<Header, BuildError> {
    let too_small = || RegionError::TooSmall { needed: header.directory.bytes, len: memory.len() };
    if let Some((lists, text)) = header.numbers.as_ref().zip(first.numbers.as_ref()) {
        lists.write(0, text)?;
    }
    header.write(memory, &first.record).ok_or_else(too_small)?;
    Ok(header)
}

/// The header of a new region in `memory`.
fn header(memory: &Memory, terms: Terms) -> Result<Header, BuildError> {
    let buckets = match terms.max_keys {
        Some(max_keys) => buckets_for(max_keys)?,
        None => buckets_in(&terms, memory.len()),
    };
    if let Some(BoardTerms { name, .. }) = &terms.board
        && !Name::is_valid(name)
    {
        return Err(unusable_name(Some(name)).into());
    }
    let directory = Directory::new(&terms.sections(), buckets.max(1));
    let needed = directory.as_ref().map_or(usize::MAX, |directory| directory.bytes);
    let Some(directory) = directory.filter(|_| needed <= memory.len()) else {
        return Err(RegionError::TooSmall { needed, len: memory.len() }.into());
    };
    let (board, secret) = match terms.board {
        Some(BoardTerms { name, secret }) => (directory.board_at.map(|at| (at, name)), secret),
        None => (None, Secret::random()?),
    };
    let clock = Clock::new();
    Ok(Header {
        records: Records::in_memory(memory, directory.policy_at)?,
        numbers: directory.numbers_at.map(|at| Lists::in_memory(memory, at)).transpose()?,
        directory,
        zone_rules: zone_rules(&terms.policy, &clock),
        when_full: terms.when_full.unwrap_or_default(),
        packings: terms.packings,
        policy: terms.policy,
        board,
        secret,
        clock,
    })
}

/// The digest of the calendars in the text of a policy, by the rules of the zones that are known here; 0 without a
/// calendar.
fn zone_rules(policy: &str, clock: &Clock) -> u64 {
    let policy = policy.parse().and_then(|policy: Policy| policy.at_epoch(clock.epoch_s()));
    policy.ok().and_then(|policy| policy.boundary_digest()).unwrap_or(0)
}

impl Header {
    /// An error where the region has the limits of rules, and one policy is asked for, or the other way round.
    pub(crate) fn is_of(&self, rules: bool) -> Result<(), RegionError> {
        if self.numbers.is_some() == rules {
            return Ok(());
        }
        let (limits, policy) = ("the limits of rules".to_owned(), format!("`{}`", self.policy));
        let (held, asked) = if rules { (policy, limits) } else { (limits, "one policy".to_owned()) };
        Err(RegionError::Differs { field: RegionField::Policy, held, asked })
    }

    /// Whether the region's maker had other rules of the zones in its policy: then those who share it disagree about some
    /// boundary of its calendars.
    pub(crate) fn has_other_zone_rules(&self) -> bool {
        // Of the first policy: what its maker knew of those that came later is not recorded.
        let is_first = self.records.in_force().number() == 0;
        is_first && self.zone_rules != 0 && self.zone_rules != zone_rules(&self.policy, &self.clock)
    }
}

/// The error of a board whose store has no name, or one that may not be so.
fn unusable_name(name: Option<&str>) -> RegionError {
    let found = match name {
        Some(name) => format!("the store's name \"{}\"", name.escape_debug()),
        None => "no name of a store".to_owned(),
    };
    let reason = format!("{found}; expected 1 to {} characters of A-Z, a-z, 0-9, _, ., : and -", Name::MAX);
    RegionError::Section { section: "board".to_owned(), reason }
}

/// The header of the region in `memory`, if it is one that can be used here and now.
pub(crate) fn attach(memory: &Memory, medium: Medium) -> Result<Header, RegionError> {
    let (header, words) = Header::read(memory)?;
    let clock = header.clock_of(&words, medium)?;
    Ok(Header { clock, ..header })
}

/// The words that stand `at` bytes into `memory`, if there are so many.
fn load<const N: usize>(memory: &Memory, at: usize) -> Option<[u64; N]> {
    let mut words = [0; N];
    for (word, place) in words.iter_mut().zip(memory.array::<AtomicU64>(at, N)?.all()) {
        // Relaxed: memory that is mapped for reading alone may be read by no other load; what must be ordered is ordered
        // by a fence.
        *word = place.load(Ordering::Relaxed);
    }
    Some(words)
}

/// Writes words `at` bytes into `memory`, if there is room for all.
fn store(memory: &Memory, at: usize, words: &[u64]) -> Option<()> {
    for (place, word) in memory.array::<AtomicU64>(at, words.len())?.all().iter().zip(words) {
        // Relaxed: the magic comes after it.
        place.store(*word, Ordering::Relaxed);
    }
    Some(())
}

fn checksum(words: &[u64]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    SipHasher13::new().hash(&bytes)
}

/// Notes in the region of a file that it was opened: a monotonic clock that is behind what the file has seen is
/// another boot's. Memory is left as it is: its region ends with the boot.
pub(crate) fn note(memory: &Memory) -> Result<(), RegionError> {
    header::note(memory)
}

impl Header {
    /// Where denied keys are named, if they are.
    pub(crate) fn names(&self, memory: &Memory) -> Result<Option<Names>, RegionError> {
        let Some(at) = self.directory.names_at else { return Ok(None) };
        let names = Names::in_memory(memory, at, self.secret.clone());
        let too_small = RegionError::TooSmall { needed: self.directory.bytes, len: memory.len() };
        names.map(Some).ok_or(too_small)
    }

    /// Makes the tables and the board of a machine with a store as good as new: its leases pass unused.
    fn drop_leases(&self, memory: &Memory) {
        let Some((board_at, _)) = &self.board else { return };
        let tables = self.directory.tables.iter().map(|parts| {
            let bytes = parts.buckets.saturating_mul(<crate::table::Table>::BUCKET_BYTES);
            (parts.buckets_at, bytes)
        });
        for (at, bytes) in tables.chain([(*board_at, crate::board::Board::LEASED_BYTES)]) {
            let words = memory.array::<AtomicU64>(at, bytes / size_of::<u64>());
            for word in words.iter().flat_map(crate::memory::Array::all) {
                // Relaxed: the clock that is carried over afterwards releases it, and no other limiter of this boot is there yet.
                word.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Whether a region can give what is asked of it, but for its words.
    pub(crate) fn agrees(&self, terms: &Terms) -> Result<(), BuildError> {
        let differs = |field, held: String, asked: String| RegionError::Differs { field, held, asked };
        let (held, asked) = (self.packings.len(), terms.packings.len());
        if held != asked {
            let (held, asked) = (of_policy(held, &self.policy), of_policy(asked, &terms.policy));
            return Err(differs(RegionField::Layers, held, asked).into());
        }
        let buckets = self.directory.buckets();
        if let Some(max_keys) = terms.max_keys
            && buckets_for(max_keys)? != buckets
        {
            let held = keys_in(buckets).to_string();
            return Err(differs(RegionField::MaxKeys, held, max_keys.to_string()).into());
        }
        if let Some(asked) = &terms.board {
            self.agrees_on_the_store(asked)?;
        }
        if terms.names && self.directory.names_at.is_none() {
            let (held, asked) = ("none are kept".to_owned(), "a region that was made with names".to_owned());
            return Err(differs(RegionField::Names, held, asked).into());
        }
        match terms.when_full {
            Some(asked) if asked != self.when_full => {
                let (held, asked) = (format!("{:?}", self.when_full), format!("{asked:?}"));
                Err(differs(RegionField::WhenFull, held.to_lowercase(), asked.to_lowercase()).into())
            }
            _ => Ok(()),
        }
    }

    /// Whether the region is one of that store.
    fn agrees_on_the_store(&self, asked: &BoardTerms) -> Result<(), RegionError> {
        let (held, expected) = match &self.board {
            None => ("none".to_owned(), asked.name.clone()),
            Some((_, name)) if *name != asked.name => (name.clone(), asked.name.clone()),
            Some(_) if self.secret.words() == asked.secret.words() => return Ok(()),
            Some((_, name)) => (format!("{name}, with another secret"), format!("the secret of {name}")),
        };
        Err(RegionError::Differs { field: RegionField::Store, held, asked: expected })
    }
}

#[cfg(test)]
mod tests;
