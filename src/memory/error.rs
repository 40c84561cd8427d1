//! The errors of memory.

use core::fmt;

/// Why there is no memory for a limiter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// The operating system did not allocate it.
    OutOfMemory {
        /// The bytes asked for.
        bytes: usize,
        /// The message of the operating system.
        reason: String,
    },
    /// The caller's memory is null or longer than `isize::MAX`, or its address is not a multiple of `expected`.
    Unaligned {
        /// The alignment needed, in bytes.
        expected: usize,
    },
    /// This system is not Linux: processes share memory only there.
    Unsupported,
}

impl MemoryError {
    /// The error for a size that no memory can have.
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
