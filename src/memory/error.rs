//! Why there is no memory.

use core::fmt;

/// Why memory for limiters was not had.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// The operating system did not give it.
    OutOfMemory {
        /// The bytes asked for.
        bytes: usize,
        /// The system's own words.
        reason: String,
    },
    /// The caller's memory is null or longer than `isize::MAX`, or its address is not a multiple of `expected`.
    Unaligned {
        /// Bytes.
        expected: usize,
    },
    /// Memory is shared with other processes on Linux alone.
    Unsupported,
}

impl MemoryError {
    /// No memory is so large.
    pub(crate) fn too_large(bytes: usize) -> Self {
        Self::OutOfMemory { bytes, reason: "larger than the address space".to_owned() }
    }
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory { bytes, reason } => write!(f, "{bytes} bytes cannot be allocated: {reason}"),
            Self::Unaligned { expected } => {
                write!(f, "the memory does not begin at an address that is a multiple of {expected}")
            }
            Self::Unsupported => {
                f.write_str("memory cannot be shared with other processes here: expected Linux")
            }
        }
    }
}

impl core::error::Error for MemoryError {}
