//! The memory of tables: zeroed pages of this process, pages that processes share, or the caller's.

use core::ptr::NonNull;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use crate::sync::{AtomicU64, Ordering};

mod array;
mod error;
#[cfg(any(test, not(target_os = "linux")))]
mod heap;
#[cfg(target_os = "linux")]
mod mapping;

pub(crate) use array::{Array, Plain};
pub use error::MemoryError;
#[cfg(not(target_os = "linux"))]
use heap::Block;
#[cfg(target_os = "linux")]
use mapping::Block;

/// Memory for limiters, which other processes can share. Clones are the same memory. It is freed when all clones and all
/// limiters in it are gone. It may be shared by any number of threads.
///
/// Only on Linux can processes share memory: on other systems [`shared`](Self::shared) returns
/// [`MemoryError::Unsupported`].
#[derive(Clone, Debug)]
pub struct Memory {
    /// Aligned to [`ALIGNMENT`](Self::ALIGNMENT), readable and writable for `len` bytes.
    start: NonNull<u8>,
    len: usize,
    /// `None` where the caller keeps the memory.
    block: Option<Arc<Block>>,
}

// SAFETY: the bytes from `start` are read and written by atomics alone, in every thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory begins at a multiple of this many bytes: a cache line.
    pub const ALIGNMENT: usize = 64;

    /// Zeroed memory of this process; on Linux resident from the start, on huge pages where the system has them.
    pub(crate) fn private(len: usize) -> Result<Self, MemoryError> {
        Ok(Self::of_block(Block::private(len)?, len))
    }

    /// Zeroed memory of this process, of which a page is resident once it is written.
    pub(crate) fn sparse(len: usize) -> Result<Self, MemoryError> {
        Ok(Self::of_block(Block::sparse(len)?, len))
    }

    /// Allocates `len` zeroed bytes, shared with the processes that are forked off later.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`]; on systems other than Linux [`MemoryError::Unsupported`].
    pub fn shared(len: usize) -> Result<Self, MemoryError> {
        Ok(Self::of_block(Block::shared(len)?, len))
    }

    /// The first `len` bytes of a file, shared with every process that maps it.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_file(file: &File, len: usize) -> Result<Self, MemoryError> {
        Ok(Self::of_block(Block::of_file(file, len)?, len))
    }

    /// The first `len` bytes of a file for [reading alone](mapping::Block::of_file_to_read).
    #[cfg(target_os = "linux")]
    pub(crate) fn of_file_to_read(file: &File, len: usize) -> Result<Self, MemoryError> {
        Ok(Self::of_block(Block::of_file_to_read(file, len)?, len))
    }

    /// Whether the system may read more of a file than is touched. Advice alone: what is read stays the same.
    pub(crate) fn read_ahead(&self, may: bool) {
        if let Some(block) = &self.block {
            block.read_ahead(self.len, may);
        }
    }

    /// A block that was made with `len` bytes.
    fn of_block(block: Block, len: usize) -> Self {
        Self { start: block.start(), len, block: Some(Arc::new(block)) }
    }

    /// Uses the caller's memory, which the caller keeps and frees.
    ///
    /// # Errors
    /// [`MemoryError::Unaligned`] if it does not begin at a multiple of [`ALIGNMENT`](Self::ALIGNMENT), is null, or is
    /// longer than `isize::MAX` bytes.
    ///
    /// # Safety
    /// As long as this value, a clone or a limiter in it lives, the `len` bytes from `start` can be read and written. In
    /// that time they are changed, in every process, only through a limiter or by atomics.
    pub unsafe fn from_raw_parts(start: *mut u8, len: usize) -> Result<Self, MemoryError> {
        let start = NonNull::new(start).filter(|start| start.addr().get().is_multiple_of(Self::ALIGNMENT));
        let start = start
            .filter(|_| isize::try_from(len).is_ok())
            .ok_or(MemoryError::Unaligned { expected: Self::ALIGNMENT })?;
        Ok(Self { start, len, block: None })
    }

    /// The number of bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "memory of no bytes is of no use to ask for")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Makes all of it zeros. A limiter that uses it meanwhile may find any of it zeroed.
    #[cfg(target_os = "linux")]
    pub(crate) fn clear(&self) {
        let words = self.array::<AtomicU64>(0, self.len / size_of::<AtomicU64>());
        for word in words.iter().flat_map(Array::all) {
            // Relaxed: a thread that learns of the memory afterwards learns of it by a release.
            word.store(0, Ordering::Relaxed);
        }
    }

    /// `len` values, from `offset` bytes on; `None` if they do not lie within, or not aligned.
    pub(crate) fn array<T: Plain>(&self, offset: usize, len: usize) -> Option<Array<T>> {
        Array::new(self, offset, len)
    }
}
