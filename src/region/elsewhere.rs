//! The region on systems other than Linux: there is none, and whatever is asked of one is refused.
//!
//! The names are those of `region.rs` that its users use.

use core::convert::Infallible;

use crate::clock::Clock;
use crate::error::{BuildError, RegionError};
use crate::memory::Memory;
use crate::table::{Parts, Secret, WhenFull};
use ratecell_core::algorithm::WordLayout;

const REFUSED: RegionError = RegionError::Unsupported;

#[derive(Clone, Debug)]
#[expect(dead_code, reason = "no region is made on these terms")]
pub(crate) struct Terms {
    pub(crate) packings: Vec<WordLayout>,
    pub(crate) policy: String,
    pub(crate) max_keys: Option<usize>,
    pub(crate) when_full: Option<WhenFull>,
    pub(crate) board: Option<BoardTerms>,
    pub(crate) reservations: bool,
}

#[derive(Clone, Debug)]
#[expect(dead_code, reason = "no region is made on these terms")]
pub(crate) struct BoardTerms {
    pub(crate) name: String,
    pub(crate) secret: Secret,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Medium {
    Memory,
}

/// None can be made.
pub(crate) struct Header {
    pub(crate) directory: Directory,
    pub(crate) when_full: WhenFull,
    pub(crate) packings: Vec<WordLayout>,
    pub(crate) policy: String,
    pub(crate) board: Option<(usize, String)>,
    pub(crate) secret: Secret,
    pub(crate) clock: Clock,
    never: Infallible,
}

pub(crate) struct Directory {
    pub(crate) bytes: usize,
    pub(crate) tables: Vec<Parts>,
    never: Infallible,
}

impl Directory {
    pub(crate) fn buckets(&self) -> usize {
        match self.never {}
    }
}

impl Header {
    pub(crate) fn agrees(&self, _: &Terms) -> Result<(), BuildError> {
        match self.never {}
    }

    pub(crate) fn has_other_zone_rules(&self) -> bool {
        match self.never {}
    }
}

pub(crate) fn bytes(_: &Terms, _: usize) -> Option<usize> {
    None
}

pub(crate) fn size(_: &Terms) -> Result<usize, BuildError> {
    Err(REFUSED.into())
}

pub(crate) fn buckets_in(_: &Terms, _: usize) -> usize {
    0
}

pub(crate) fn init(_: &Memory, _: Terms) -> Result<Header, BuildError> {
    Err(REFUSED.into())
}

pub(crate) fn init_zeroed(_: &Memory, _: Terms) -> Result<Header, BuildError> {
    Err(REFUSED.into())
}

pub(crate) fn attach(_: &Memory, _: Medium) -> Result<Header, RegionError> {
    Err(REFUSED)
}

pub(crate) fn note(_: &Memory) -> Result<(), RegionError> {
    Err(REFUSED)
}

pub(crate) mod file {
    use std::path::Path;

    use super::{BuildError, Header, Memory, REFUSED, Terms};

    pub(crate) fn open(_: &Path, _: Option<Terms>) -> Result<(Memory, Header), BuildError> {
        Err(REFUSED.into())
    }

    #[cfg(feature = "store")]
    #[derive(Debug)]
    pub(crate) enum AgentLock {}

    #[cfg(feature = "store")]
    impl AgentLock {
        pub(crate) fn new(_: &Path) -> Result<Self, BuildError> {
            Err(REFUSED.into())
        }
    }

    pub(crate) fn read(_: &Path) -> Result<(Memory, Header), BuildError> {
        Err(REFUSED.into())
    }
}
