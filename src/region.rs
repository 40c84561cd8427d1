//! The region: a limiter's tables in memory that processes share, under a header that says what they are.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 to 511 | the [header](header): what is fixed when the region is made, and its clock |
//! | 512 on | one table for each layer of the policy |
//!
//! Nothing in it is a pointer and nothing names a process, so it may stand at any address in each. What is
//! fixed is what the words mean: kind of word, window, tick, width of counts; the rate, the capacity and the
//! limit belong to each limiter. No state of the tables needs repair, so there is nothing to do when a process
//! dies, and nothing to say when one leaves.

use crate::clock::Clock;
use crate::error::{BuildError, RegionError, RegionField};
use crate::memory::Memory;
use crate::table::{DEFAULT_MAX_KEYS, Secret, Table, WhenFull, buckets_for, keys_in};
use ratecell_core::algorithm::Packing;

mod access;
mod boot;
pub(crate) mod file;
mod header;

pub(crate) use boot::Medium;
pub(crate) use header::Header;

/// The tables begin after the header.
pub(crate) const TABLES_AT: usize = 512;

/// What a limiter asks of a region.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// What the words of each layer are to mean.
    pub(crate) packings: Vec<Packing>,
    /// `None`: as many as fit, or as are there.
    pub(crate) max_keys: Option<usize>,
    /// `None`: the default, or what is there.
    pub(crate) when_full: Option<WhenFull>,
}

/// The bytes of a region of that many layers and buckets.
pub(crate) fn bytes(layers: usize, buckets: usize) -> Option<usize> {
    let tables = <Table>::bytes(buckets)?.checked_mul(layers)?;
    tables.checked_add(TABLES_AT)
}

/// The bytes of a region on these terms.
pub(crate) fn size(terms: &Terms) -> Result<usize, BuildError> {
    let buckets = buckets_for(terms.max_keys.unwrap_or(DEFAULT_MAX_KEYS))?;
    bytes(terms.packings.len(), buckets).ok_or_else(BuildError::too_large)
}

/// The most buckets of that many layers in `len` bytes.
pub(crate) fn buckets_in(layers: usize, len: usize) -> usize {
    let fits = |buckets: usize| bytes(layers, buckets).is_some_and(|bytes| bytes <= len);
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
    let header = header(memory, terms)?;
    memory.clear();
    header.write(memory)?;
    Ok(header)
}

/// [`init`] of memory that is all zeros, of which only the header is written.
pub(crate) fn init_zeroed(memory: &Memory, terms: Terms) -> Result<Header, BuildError> {
    let header = header(memory, terms)?;
    header.write(memory)?;
    Ok(header)
}

/// The header of a new region in `memory`.
fn header(memory: &Memory, terms: Terms) -> Result<Header, BuildError> {
    let layers = terms.packings.len();
    let buckets = match terms.max_keys {
        Some(max_keys) => buckets_for(max_keys)?,
        None => buckets_in(layers, memory.len()),
    };
    let needed = bytes(layers, buckets.max(1)).unwrap_or(usize::MAX);
    if needed > memory.len() {
        return Err(RegionError::TooSmall { needed, len: memory.len() }.into());
    }
    Ok(Header {
        bytes: needed,
        buckets: buckets.max(1),
        when_full: terms.when_full.unwrap_or_default(),
        packings: terms.packings,
        secret: Secret::random()?,
        clock: Clock::new(),
    })
}

/// The header of the region in `memory`, if it is one that can be used here and now.
pub(crate) fn attach(memory: &Memory, medium: Medium) -> Result<Header, RegionError> {
    let header = Header::read(memory, medium)?;
    if header.bytes > memory.len() {
        return Err(RegionError::TooSmall { needed: header.bytes, len: memory.len() });
    }
    Ok(header)
}

/// Notes in the region of a file that it was opened: a monotonic clock that is behind what the file has seen is
/// another boot's. Memory is left as it is: its region ends with the boot.
pub(crate) fn note(memory: &Memory) -> Result<(), RegionError> {
    header::note(memory)
}

impl Header {
    /// Whether a region can give what is asked of it, but for its words.
    pub(crate) fn agrees(&self, terms: &Terms) -> Result<(), BuildError> {
        let differs = |field, held: String, asked: String| RegionError::Differs { field, held, asked };
        let (held, asked) = (self.packings.len(), terms.packings.len());
        if held != asked {
            return Err(differs(RegionField::Layers, held.to_string(), asked.to_string()).into());
        }
        if let Some(max_keys) = terms.max_keys
            && buckets_for(max_keys)? != self.buckets
        {
            let held = keys_in(self.buckets).to_string();
            return Err(differs(RegionField::MaxKeys, held, max_keys.to_string()).into());
        }
        match terms.when_full {
            Some(asked) if asked != self.when_full => {
                let (held, asked) = (format!("{:?}", self.when_full), format!("{asked:?}"));
                Err(differs(RegionField::WhenFull, held.to_lowercase(), asked.to_lowercase()).into())
            }
            _ => Ok(()),
        }
    }
}
