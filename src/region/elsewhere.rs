//! The region on systems other than Linux: there is none, and whatever is asked of one is refused.
//!
//! The names are those of `region.rs` that its users use.

use core::convert::Infallible;
use std::path::Path;

use crate::clock::Clock;
use crate::error::{BuildError, RegionError};
use crate::memory::Memory;
use crate::names::Names;
use crate::table::era::InForce;
use crate::table::{Parts, Secret, WhenFull};
use ratecell_core::algorithm::WordLayout;

const REFUSED: RegionError = RegionError::Unsupported;

#[derive(Clone, Debug)]
#[expect(dead_code, reason = "no region is made on these terms")]
pub(crate) struct Terms {
    pub(crate) packings: Vec<WordLayout>,
    pub(crate) policy: String,
    pub(crate) reach: Vec<u32>,
    pub(crate) max_keys: Option<usize>,
    pub(crate) when_full: Option<WhenFull>,
    pub(crate) board: Option<BoardTerms>,
    pub(crate) reservations: bool,
    pub(crate) numbers: Option<String>,
    pub(crate) names: bool,
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
    pub(crate) records: Records,
    #[cfg_attr(not(feature = "rules"), expect(dead_code, reason = "rules alone have lists"))]
    pub(crate) numbers: Option<Lists>,
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

pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) text: String,
    pub(crate) reach: Vec<u32>,
}

/// None is held.
#[derive(Debug)]
pub(crate) enum ChangeLock {}

/// There are none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Records {}

impl Records {
    pub(crate) fn of_file(self, _: &Path) -> Self {
        self
    }

    pub(crate) fn in_force(&self) -> &InForce {
        match *self {}
    }

    pub(crate) fn number(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn lock(&self) -> Result<Option<ChangeLock>, BuildError> {
        match *self {}
    }

    pub(crate) fn read(&self, _: u64) -> Result<Option<Record>, RegionError> {
        match *self {}
    }

    pub(crate) fn instant(&self, _: u64) -> Option<u64> {
        match *self {}
    }

    pub(crate) fn set_instant(&self, _: u64, _: u64) {
        match *self {}
    }

    pub(crate) fn write(&self, _: &Record) -> Result<(), RegionError> {
        match *self {}
    }

    pub(crate) fn raised(&self) -> [u64; 8] {
        match *self {}
    }

    pub(crate) fn raise(&self, _: impl Iterator<Item = u64>) {
        match *self {}
    }

    pub(crate) fn swept(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn set_swept(&self, _: u64) {
        match *self {}
    }
}

/// There are none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lists {}

#[cfg_attr(not(feature = "rules"), expect(dead_code, reason = "rules alone have lists"))]
impl Lists {
    pub(crate) fn write(&self, _: u64, _: &str) -> Result<(), RegionError> {
        match *self {}
    }

    pub(crate) fn read(&self, _: u64, _: &Records) -> Result<Option<String>, RegionError> {
        match *self {}
    }
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

    pub(crate) fn is_of(&self, _: bool) -> Result<(), RegionError> {
        match self.never {}
    }

    pub(crate) fn has_other_zone_rules(&self) -> bool {
        match self.never {}
    }

    pub(crate) fn names(&self, _: &Memory) -> Result<Option<Names>, RegionError> {
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

#[cfg_attr(not(feature = "rules"), expect(dead_code, reason = "rules alone have lists"))]
pub(crate) mod numbers {
    use super::{REFUSED, RegionError};

    pub(crate) const MAX_TEXT: usize = 0;

    pub(crate) fn damaged(_: &str) -> RegionError {
        REFUSED
    }
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
