//! Memory that is mapped: Linux's.

use core::ffi::c_void;
use core::ptr::NonNull;
use std::fs::File;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use super::MemoryError;

const HUGE_PAGE: usize = 2 << 20;

/// A mapping of this process, and where in it the memory begins.
#[derive(Debug)]
pub(super) struct Block {
    mapping: NonNull<u8>,
    mapped: usize,
    start: NonNull<u8>,
}

// SAFETY: the mapping is unmapped once, which any thread may do; nothing else is done through a shared block.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// `len` zeroed bytes of this process, resident from the start, on huge pages where the system has them.
    pub(super) fn private(len: usize) -> Result<Self, MemoryError> {
        // Room to begin on a huge page.
        let spare = if len >= HUGE_PAGE { HUGE_PAGE } else { 0 };
        let block = Self::mapped(len, spare, |len| {
            let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
            // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
            unsafe { mmap_anonymous(core::ptr::null_mut(), len, protection, flags) }
        })?;
        if spare > 0 {
            block.advise(len, Advice::LinuxHugepage);
        }
        block.advise(len, Advice::LinuxPopulateWrite);
        Ok(block)
    }

    /// `len` zeroed bytes that are shared with the processes forked off later.
    pub(super) fn shared(len: usize) -> Result<Self, MemoryError> {
        Self::mapped(len, 0, |len| {
            let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
            // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
            unsafe { mmap_anonymous(core::ptr::null_mut(), len, protection, flags) }
        })
    }

    /// The first `len` bytes of a file, shared with all who map it.
    pub(super) fn of_file(file: &File, len: usize) -> Result<Self, MemoryError> {
        let block = Self::mapped(len, 0, |len| {
            let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
            // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
            unsafe { mmap(core::ptr::null_mut(), len, protection, flags, file, 0) }
        })?;
        block.advise(len, Advice::LinuxPopulateWrite);
        Ok(block)
    }

    /// The first `len` bytes of a file for reading alone: by relaxed loads, and never by a store, which would end the
    /// process.
    pub(super) fn of_file_to_read(file: &File, len: usize) -> Result<Self, MemoryError> {
        Self::mapped(len, 0, |len| {
            // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
            unsafe { mmap(core::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, 0) }
        })
    }

    /// Where the bytes begin: at a page.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Maps `len` bytes, of `spare` more from where a huge page begins.
    fn mapped(
        len: usize,
        spare: usize,
        map: impl FnOnce(usize) -> rustix::io::Result<*mut c_void>,
    ) -> Result<Self, MemoryError> {
        let out_of_memory = |reason: &str| MemoryError::OutOfMemory { bytes: len, reason: reason.to_owned() };
        // No object is larger than isize::MAX bytes: distances within it must fit.
        let mapped = len.max(1).checked_add(spare).filter(|bytes| isize::try_from(*bytes).is_ok());
        let mapped = mapped.ok_or_else(|| MemoryError::too_large(len))?;
        let start = map(mapped).map_err(|error| out_of_memory(&error.to_string()))?;
        let Some(mapping) = NonNull::new(start.cast::<u8>()) else {
            return Err(out_of_memory("mapped at address 0"));
        };
        let offset = if spare > 0 { start.align_offset(HUGE_PAGE).min(spare) } else { 0 };
        // SAFETY: `offset` is at most `spare`, and the mapping has `spare` bytes beyond `len`.
        let start = unsafe { mapping.add(offset) };
        Ok(Self { mapping, mapped, start })
    }

    /// Advice only: refused, the pages stay small, or come at their first use.
    fn advise(&self, len: usize, advice: Advice) {
        // SAFETY: the mapping has `len` bytes from `start`; no advice given here changes what is in them.
        let _ = unsafe { madvise(self.start.as_ptr().cast(), len, advice) };
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `mapping` has `mapped` bytes, and `Memory` and `Array` keep the block while they use it. The call
        // fails only for a range that is no mapping.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}
