//! What can be wrong with memory or a file that a limiter is to share.

use core::fmt;
use std::io;

/// What must be the same for all who share a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegionField {
    /// How header and sections are laid out, which a version of the library may change, and the order of bytes.
    Layout,
    /// How many layers the policy has.
    Layers,
    /// What a layer's words mean: its algorithm, its window, the width of its counts.
    Words,
    /// How many keys have room.
    MaxKeys,
    /// What becomes of a new key without room.
    WhenFull,
    /// The run of the machine: shared memory made in another boot cannot be used; a file's clock is carried over.
    Boot,
    /// The time namespace, whose monotonic clock is another's.
    TimeNamespace,
}

impl fmt::Display for RegionField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Layout => "layout",
            Self::Layers => "number of layers",
            Self::Words => "words",
            Self::MaxKeys => "max_keys",
            Self::WhenFull => "when_full",
            Self::Boot => "boot",
            Self::TimeNamespace => "time namespace",
        })
    }
}

/// Why memory or a file cannot be shared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionError {
    /// The memory is shorter than what is to be in it, or than its header says.
    TooSmall {
        /// Bytes that are needed.
        needed: usize,
        /// Bytes that are there.
        len: usize,
    },
    /// It does not begin as a region does.
    NotARegion,
    /// It begins as a region does, but its header is not one that was ever written.
    Corrupt,
    /// Its header is one that was written, but a section is not where or what it should be.
    Section {
        /// The section's number in the directory, and its kind; of one that is not there, the kind alone.
        section: String,
        /// What is wrong with it, and what was expected.
        reason: String,
    },
    /// It is a region of something else.
    Differs {
        /// What differs.
        field: RegionField,
        /// As it is in the region.
        held: String,
        /// As it was asked for, or is here.
        asked: String,
    },
    /// A `sliding_log` is kept in no word: it cannot be shared.
    NoWord,
    /// Limiters share memory and files on Linux alone.
    Unsupported,
    /// The operating system refuses something of the file.
    #[non_exhaustive]
    Io {
        /// Its kind.
        kind: io::ErrorKind,
        /// The system's number for it.
        errno: Option<i32>,
        /// What cannot be done, and the system's own words. Where a permission is missing, what of owner, mode,
        /// directory and settings of the kernel was found, and what was expected.
        reason: String,
    },
}

#[cfg(target_os = "linux")]
impl RegionError {
    pub(crate) fn io(action: &str, error: &io::Error) -> Self {
        let reason = format!("cannot {action}: {error}");
        Self::Io { kind: error.kind(), errno: error.raw_os_error(), reason }
    }

    /// The same, with what was found and what was expected.
    pub(crate) fn because(self, why: &str) -> Self {
        match self {
            Self::Io { kind, errno, reason } => Self::Io { kind, errno, reason: format!("{reason}: {why}") },
            other => other,
        }
    }
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { needed, len } => {
                write!(f, "{len} bytes are too few for the region: expected at least {needed}")
            }
            Self::NotARegion => {
                f.write_str("not a region of ratecell: expected memory or a file that one was made in")
            }
            Self::Corrupt => {
                f.write_str("the region's header is damaged: expected one that was written as a whole")
            }
            Self::Section { section, reason } => write!(f, "the region's section {section}: {reason}"),
            Self::Differs { field: RegionField::Layout, held, asked } => write!(
                f,
                "the region's layout: {held}; expected {asked}: open it with the version of ratecell that made it, or \
                 delete the file or make the memory a region anew, with which all limits begin anew"
            ),
            Self::Differs { field, held, asked } => {
                write!(f, "the region's {field}: {held}; expected {asked}")
            }
            Self::NoWord => {
                f.write_str("a sliding_log cannot be shared: expected an algorithm that is kept in words")
            }
            Self::Unsupported => {
                f.write_str("no memory and no file can be shared on this system: expected Linux")
            }
            Self::Io { reason, .. } => f.write_str(reason),
        }
    }
}

impl core::error::Error for RegionError {}

/// What a policy has, and the policy.
pub(crate) fn of_policy(what: impl fmt::Display, policy: impl fmt::Display) -> String {
    format!("{what}, of `{policy}`")
}
