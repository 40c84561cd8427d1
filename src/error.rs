//! The errors of building a limiter. Those of a policy are the core's.

use core::fmt;
use std::path::PathBuf;

use crate::memory::MemoryError;
use ratecell_core::{ChangeError, PolicyError};

mod region;

#[cfg(not(ratecell_model))]
pub(crate) use region::of_policy;
pub use region::{RegionError, RegionField};

/// Why a limiter was not built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// `max_keys` is 0. A table without room for a key would limit nothing, or everything.
    ZeroKeys,
    /// There is neither a policy nor a region to take the policy from.
    NoPolicy,
    /// The memory for the table cannot be allocated or used.
    Memory(MemoryError),
    /// The operating system did not give the random bytes of the hash secret.
    NoRandomness {
        /// The message of the operating system.
        reason: String,
    },
    /// This processor has no instruction that exchanges 16 bytes at once: every aarch64 processor has one, and every x86-64
    /// processor but the first few. Only a [`DirectLimiter`](crate::DirectLimiter), which has no table, works here.
    Processor,
    /// An option was set that only a limiter has which shares its units with other machines through a store.
    NotShared {
        /// Its name.
        option: &'static str,
    },
    /// An epoch was set for a limiter in a region, or of many machines, which has an epoch already.
    Epoch,
    /// A mock clock was set for a limiter in a region, or of many machines, whose clock is the region's or the store's.
    Clock,
    /// Names of denied keys were asked for by a limiter of one process, where nobody could read them.
    Names,
    /// A table of several policies was to have cells that newcomers share ([`WhenFull::Share`](crate::WhenFull::Share)):
    /// such a cell is of one policy.
    SharedCell,
    /// A limiter that shares its units with other machines cannot be as it was asked for.
    Shared {
        /// The reason, and what was expected.
        reason: String,
    },
    /// A limiter by rules cannot decide by a rule of its file.
    Rule {
        /// Its name.
        rule: String,
        /// The reason, and what was expected.
        reason: &'static str,
    },
    /// The policy of a rule of a file does not fit its words, or cannot follow the one in force.
    InRule {
        /// The rule's name.
        rule: String,
        /// The error: [`Policy`](Self::Policy) or [`Change`](Self::Change).
        error: Box<BuildError>,
    },
    /// The policy cannot follow the one in force.
    Change(ChangeError),
    /// The policy does not fit the words of a region, or of another limiter.
    Policy(PolicyError),
    /// The memory holds no region, or one that does not fit this limiter.
    Region(RegionError),
    /// The file holds no region, or one that does not fit this limiter, or the system refuses a call on the file.
    #[non_exhaustive]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        error: RegionError,
    },
}

impl BuildError {
    /// The error for a size that no memory can have.
    pub(crate) fn too_large() -> Self {
        Self::Memory(MemoryError::too_large(usize::MAX))
    }
}

impl From<MemoryError> for BuildError {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
    }
}

impl From<PolicyError> for BuildError {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}

impl From<ChangeError> for BuildError {
    fn from(error: ChangeError) -> Self {
        Self::Change(error)
    }
}

impl From<RegionError> for BuildError {
    fn from(error: RegionError) -> Self {
        Self::Region(error)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroKeys => f.write_str("max_keys is 0: expected at least 1"),
            Self::NoPolicy => f.write_str("no policy: expected one, or a region to follow that of"),
            Self::Memory(MemoryError::OutOfMemory { bytes, reason }) => {
                write!(
                    f,
                    "a table of {bytes} bytes cannot be allocated: {reason}; expected a smaller max_keys"
                )
            }
            Self::Memory(error) => error.fmt(f),
            Self::NoRandomness { reason } => write!(f, "no random secret for the key hash: {reason}"),
            Self::Processor => f.write_str(
                "this processor cannot exchange 16 bytes at once, as a table must: expected aarch64, or x86-64 with cmpxchg16b",
            ),
            Self::NotShared { option } => write!(
                f,
                "{option} is for a limiter that shares its units with other machines: expected a store, or a file that \
                 `ratecell sync` made"
            ),
            Self::Epoch => f.write_str("epoch: expected none where a region or a store has its own"),
            Self::Clock => f.write_str("clock: expected none where a region or a store has its own"),
            Self::Names => f.write_str(
                "names: a limiter in memory of its own has no reader of them; expected a file, or memory that processes share",
            ),
            Self::SharedCell => f.write_str(
                "when_full: a cell that newcomers share is of one policy, and the table has several; expected evict, deny or \
                 allow",
            ),
            Self::Shared { reason } => f.write_str(reason),
            Self::Rule { rule, reason } => write!(f, "rule {rule}: {reason}"),
            Self::InRule { rule, error } => write!(f, "rule {rule}: {error}"),
            Self::Change(error) => error.fmt(f),
            Self::Policy(error) => error.fmt(f),
            Self::Region(error) => error.fmt(f),
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl core::error::Error for BuildError {}
