//! The errors of memory and files that limiters share.

use core::fmt;
use std::io;

/// A property that must be the same for all limiters of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegionField {
    /// The layout of header and sections, which a version of the library may change, and the order of bytes.
    Layout,
    /// The policy in force: another rate; of a rule of that name, another limit; or one policy in place of the limits of rules.
    Policy,
    /// The number of layers of the policy.
    Layers,
    /// The meaning of a layer's words: its algorithm, its window, the width of its counts.
    Words,
    /// The number of keys that have room.
    MaxKeys,
    /// How a new key without room is decided.
    WhenFull,
    /// The store that the region is a machine's part of: its name, and the secret by which keys are hashed.
    Store,
    /// Whether denied keys are named.
    Names,
    /// The boot of the machine. Shared memory of another boot cannot be used; the clock of a file is carried over.
    Boot,
    /// The time namespace: another one may have another monotonic clock.
    TimeNamespace,
}

impl fmt::Display for RegionField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Layout => "layout",
            Self::Policy => "policy",
            Self::Layers => "number of layers",
            Self::Words => "words",
            Self::MaxKeys => "max_keys",
            Self::WhenFull => "when_full",
            Self::Store => "store",
            Self::Names => "names",
            Self::Boot => "boot",
            Self::TimeNamespace => "time namespace",
        })
    }
}

/// Why memory or a file cannot be shared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionError {
    /// The memory is too short for the region, or shorter than its header says.
    TooSmall {
        /// The bytes needed.
        needed: usize,
        /// The bytes that it has.
        len: usize,
    },
    /// The memory does not begin as a region does.
    NotARegion,
    /// The memory begins as a region does, but its header is damaged.
    Corrupt,
    /// The header is intact, but a section is not where it should be, or is damaged or of an unknown form.
    Section {
        /// The number of the section in the directory, and its kind; for a missing section, only the kind.
        section: String,
        /// The fault, and what was expected.
        reason: String,
    },
    /// The region differs from the limiter in a property that must be the same.
    Differs {
        /// The property.
        field: RegionField,
        /// Its value in the region.
        held: String,
        /// The value that was asked for, or that holds here.
        asked: String,
    },
    /// The policy has a `sliding_log`, which cannot be shared because its state is not a word.
    NoWord,
    /// This system is not Linux: limiters share memory and files only there.
    Unsupported,
    /// The operating system refuses a call on the file.
    #[non_exhaustive]
    Io {
        /// The kind of the error.
        kind: io::ErrorKind,
        /// The system's number for the error.
        errno: Option<i32>,
        /// The action that failed, and the message of the system. If a permission is missing, also the owner, mode,
        /// directory or kernel setting that denied it, and what was expected.
        reason: String,
    },
}

#[cfg(target_os = "linux")]
impl RegionError {
    pub(crate) fn io(action: &str, error: &io::Error) -> Self {
        let reason = format!("cannot {action}: {error}");
        Self::Io { kind: error.kind(), errno: error.raw_os_error(), reason }
    }

    /// The same error with an explanation: what was found and what was expected.
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

/// A property of a policy, and the policy, for an error.
pub(crate) fn of_policy(what: impl fmt::Display, policy: impl fmt::Display) -> String {
    format!("{what}, of `{policy}`")
}
