//! Memory of this process from its allocator, for systems other than Linux.

use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc};

use super::MemoryError;

/// Two cache lines, which are fetched together: each bucket begins at one.
const ALIGNMENT: usize = 128;

/// Zeroed bytes from the allocator.
#[derive(Debug)]
pub(super) struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the allocation is freed once, which any thread may do; nothing else is done through a shared block.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// `len` zeroed bytes.
    pub(super) fn private(len: usize) -> Result<Self, MemoryError> {
        let layout = Layout::from_size_align(len.max(1), ALIGNMENT);
        let layout = layout.map_err(|_| MemoryError::too_large(len))?;
        // SAFETY: the layout has at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        let refused = || MemoryError::OutOfMemory { bytes: len, reason: "the allocator has none".to_owned() };
        Ok(Self { start: start.ok_or_else(refused)?, layout })
    }

    /// The same: the allocator decides when a page is resident.
    pub(super) fn sparse(len: usize) -> Result<Self, MemoryError> {
        Self::private(len)
    }

    /// Refused: the allocator's memory is of one process.
    pub(super) fn shared(_: usize) -> Result<Self, MemoryError> {
        Err(MemoryError::Unsupported)
    }

    /// Nothing: there are no files here.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn read_ahead(&self, _: usize, _: bool) {}

    /// Where the bytes begin.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `start` was allocated with this layout, and `Memory` and `Array` keep the block while they use it.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_zeroed_and_aligned() {
        for len in [0, 1, 63, 4096, if cfg!(miri) { 20_003 } else { 1_000_003 }] {
            let block = if len == 1 { Block::sparse(len) } else { Block::private(len) }.expect("memory");
            assert!(block.start().addr().get().is_multiple_of(ALIGNMENT), "{len}");
            // SAFETY: the block has `len` bytes, which nobody else uses.
            let bytes = unsafe { core::slice::from_raw_parts_mut(block.start().as_ptr(), len) };
            assert!(bytes.iter().all(|byte| *byte == 0), "{len}");
            bytes.fill(0xFF);
        }
    }

    #[test]
    fn it_is_refused_and_not_shared() {
        let refused = Block::private(usize::MAX).expect_err("no memory is so large");
        assert_eq!(refused, MemoryError::too_large(usize::MAX));
        assert!(
            matches!(Block::private(1 << 62), Err(MemoryError::OutOfMemory { bytes, .. }) if bytes == 1 << 62)
        );
        assert!(matches!(Block::shared(64), Err(MemoryError::Unsupported)));
    }
}
