//! A region in a file, whose keys are those of one policy or of the limits of rules.

use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};
use ratecell::rules::RulesRegion;
use ratecell::{BuildError, Region, RegionError, RegionField, Shared, Stats, WhenFull};

/// What it means that the limits of rules cannot be read.
const UNREADABLE: &str = "nobody can read which limits are in force, so that each process denies every request that has not read \
    them before. A change of the rules by one that has, or the file made anew, ends that";

/// A file that is read.
pub(crate) enum File {
    Policy(Box<Region>),
    Rules(Box<RulesRegion>),
}

impl File {
    /// # Errors
    /// The file cannot be read, or is no region.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        match Region::read(path) {
            Ok(region) => Ok(Self::Policy(Box::new(region))),
            Err(BuildError::File {
                error: RegionError::Differs { field: RegionField::Policy, .. }, ..
            }) => Ok(Self::Rules(Box::new(RulesRegion::read(path).context(UNREADABLE)?))),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn max_keys(&self) -> usize {
        match self {
            Self::Policy(region) => region.max_keys(),
            Self::Rules(region) => region.max_keys(),
        }
    }

    pub(crate) fn when_full(&self) -> WhenFull {
        match self {
            Self::Policy(region) => region.when_full(),
            Self::Rules(region) => region.when_full(),
        }
    }

    pub(crate) fn epoch(&self) -> SystemTime {
        match self {
            Self::Policy(region) => region.epoch(),
            Self::Rules(region) => region.epoch(),
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        match self {
            Self::Policy(region) => region.now_ns(),
            Self::Rules(region) => region.now_ns(),
        }
    }

    pub(crate) fn stats_at(&self, now_ns: u64) -> Stats {
        match self {
            Self::Policy(region) => region.stats_at(now_ns),
            Self::Rules(region) => region.stats_at(now_ns),
        }
    }

    /// `None` where it is no file of leases.
    pub(crate) fn shared(&self) -> Option<Shared> {
        match self {
            Self::Policy(region) => region.shared(),
            Self::Rules(_) => None,
        }
    }

    /// `None` where denied keys are not named.
    pub(crate) fn denied(&self) -> Option<u64> {
        match self {
            Self::Policy(region) => region.denied(),
            Self::Rules(_) => None,
        }
    }
}

/// What a full table answers, as a word.
pub(crate) fn word(when_full: WhenFull) -> String {
    format!("{when_full:?}").to_lowercase()
}
