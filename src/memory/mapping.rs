//! Memory that is mapped: Linux's.

use core::ops::Range;
use core::ptr::NonNull;
use std::fs::File;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use super::MemoryError;

const HUGE_PAGE: usize = 2 << 20;
/// Linux's number since 6.1, which `libc` has for glibc alone.
const MADV_COLLAPSE: i32 = 25;

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
        let block = Self::mapped(len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE, None)?;
        block.advise(0..len, Advice::LinuxHugepage);
        block.advise(0..len, Advice::LinuxPopulateWrite);
        Ok(block)
    }

    /// `len` zeroed bytes of this process, of which a page is resident once it is written, and so small.
    pub(super) fn sparse(len: usize) -> Result<Self, MemoryError> {
        let block = Self::mapped(len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE, None)?;
        // A huge page would make 2 MiB resident at the first total.
        block.advise(0..len, Advice::LinuxNoHugepage);
        Ok(block)
    }

    /// `len` zeroed bytes that are shared with the processes forked off later. A page is resident once it is used, and
    /// so small.
    pub(super) fn shared(len: usize) -> Result<Self, MemoryError> {
        Self::mapped(len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, None)
    }

    /// The first `len` bytes of a file, shared with all processes that map it; resident, on huge pages where the system has them.
    pub(super) fn of_file(file: &File, len: usize) -> Result<Self, MemoryError> {
        let block = Self::mapped(len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, Some(file))?;
        // Some file systems give huge pages to a caller that asks before the first use,
        block.advise(0..len, Advice::LinuxHugepage);
        // and of a file in memory they are made afterwards, from any one page of each.
        for page in (0..len / HUGE_PAGE).map(|number| number * HUGE_PAGE) {
            block.advise(page..page + 1, Advice::LinuxPopulateWrite);
        }
        block.collapse(len);
        block.advise(0..len, Advice::LinuxPopulateWrite);
        Ok(block)
    }

    /// The first `len` bytes of a file for reading alone: by relaxed loads, and never by a store, which would end the
    /// process.
    pub(super) fn of_file_to_read(file: &File, len: usize) -> Result<Self, MemoryError> {
        Self::mapped(len, ProtFlags::READ, MapFlags::SHARED, Some(file))
    }

    /// Whether the system may read more of the file than is touched of the `len` bytes.
    pub(super) fn read_ahead(&self, len: usize, may: bool) {
        self.advise(0..len, if may { Advice::Normal } else { Advice::Random });
    }

    /// Where the bytes begin: at a page, and at a huge one if they fill one.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Maps `len` bytes of the file, or zeros.
    fn mapped(
        len: usize,
        protection: ProtFlags,
        flags: MapFlags,
        file: Option<&File>,
    ) -> Result<Self, MemoryError> {
        let out_of_memory = |reason: &str| MemoryError::OutOfMemory { bytes: len, reason: reason.to_owned() };
        let refused = |error: rustix::io::Errno| out_of_memory(&error.to_string());
        // Addresses are taken first, with room to begin on a huge page. No object is larger than isize::MAX bytes:
        // distances within it must fit.
        let spare = if len >= HUGE_PAGE { HUGE_PAGE } else { 0 };
        let mapped = len.max(1).checked_add(spare).filter(|bytes| isize::try_from(*bytes).is_ok());
        let mapped = mapped.ok_or_else(|| MemoryError::too_large(len))?;
        let addresses = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
        let area = unsafe { mmap_anonymous(core::ptr::null_mut(), mapped, ProtFlags::empty(), addresses) };
        let area = area.map_err(refused)?;
        let Some(mapping) = NonNull::new(area.cast::<u8>()) else {
            return Err(out_of_memory("mapped at address 0"));
        };
        let offset = if spare > 0 { mapping.align_offset(HUGE_PAGE).min(spare) } else { 0 };
        // SAFETY: `offset` is at most `spare`, and the mapping has `spare` bytes beyond `len`.
        let block = Self { mapping, mapped, start: unsafe { mapping.add(offset) } };
        let (at, len, flags) = (block.start.as_ptr().cast(), len.max(1), flags | MapFlags::FIXED);
        // SAFETY: what is replaced lies in the block's own mapping, and nobody has used it.
        let placed = unsafe {
            match file {
                Some(file) => mmap(at, len, protection, flags, file, 0),
                None => mmap_anonymous(at, len, protection, flags),
            }
        };
        placed.map_err(refused)?;
        Ok(block)
    }

    /// Advice only: refused, the pages stay small, or come at their first use.
    fn advise(&self, bytes: Range<usize>, advice: Advice) {
        // SAFETY: the caller's range lies in the mapping; no advice given here changes what is in it.
        let _ = unsafe { madvise(self.start.as_ptr().add(bytes.start).cast(), bytes.len(), advice) };
    }

    /// Makes huge pages of those that have a page. A process that uses them meanwhile may wait for one to be copied.
    fn collapse(&self, len: usize) {
        // SAFETY: the mapping has `len` bytes from `start`, and what is in them stays. Refused, the pages stay small.
        let _ = unsafe { libc::madvise(self.start.as_ptr().cast(), len, MADV_COLLAPSE) };
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `mapping` has `mapped` bytes, and `Memory` and `Array` keep the block while they use it. The call
        // fails only for a range that is no mapping.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    #[test]
    fn a_file_is_mapped_from_its_beginning_at_a_huge_page() {
        for len in [1, 4096, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 4097] {
            let mut file = File::from(memfd_create("mapped", MemfdFlags::empty()).expect("a file"));
            file.set_len(len as u64).expect("room");
            let (block, other) = (Block::of_file(&file, len), Block::of_file_to_read(&file, len));
            let (block, other) = (block.expect("memory"), other.expect("memory"));
            let alignment = if len >= HUGE_PAGE { HUGE_PAGE } else { 4096 };
            assert!(block.start().addr().get().is_multiple_of(alignment), "{len}");
            for at in [0, len / 2, len - 1] {
                // SAFETY: both blocks have `len` bytes, which nobody else uses.
                let seen = unsafe {
                    block.start().add(at).write_volatile(7);
                    other.start().add(at).read_volatile()
                };
                assert_eq!(seen, 7, "byte {at} of {len}");
            }
            let mut bytes = Vec::new();
            file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a file");
            assert_eq!((bytes.len(), bytes[0], bytes[len / 2], bytes[len - 1]), (len, 7, 7, 7));
        }
    }
}
