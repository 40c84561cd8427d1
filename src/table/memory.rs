//! The memory of a table: fixed arrays of zeroed words, one mapping each.

use core::marker::PhantomData;
use core::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::geometry::Index;
use super::layout::{Bucket, Ledger};
use crate::error::BuildError;

/// Types for which all bytes zero is a value, and that need no drop.
///
/// # Safety
/// Both must hold.
pub(super) unsafe trait Zeroable: Sync {}

// SAFETY: atomics of u64 alone, and padding.
unsafe impl<const SLOTS: usize> Zeroable for Bucket<SLOTS> {}
// SAFETY: atomics of u64 alone.
unsafe impl Zeroable for Ledger {}

const HUGE_PAGE: usize = 2 << 20;

/// A fixed array in a mapping of its own: zeroed, resident from the start, on huge pages where the
/// system has them.
#[derive(Debug)]
pub(super) struct Zeroed<T> {
    /// Aligned for `T`; `len` values, initialised for as long as `self` lives.
    values: NonNull<T>,
    len: usize,
    mapping: NonNull<core::ffi::c_void>,
    mapped: usize,
    owned: PhantomData<T>,
}

// SAFETY: it owns its values, which are Sync and are only ever borrowed shared; dropping unmaps them
// and touches none.
unsafe impl<T: Zeroable> Send for Zeroed<T> {}
// SAFETY: as above.
unsafe impl<T: Zeroable> Sync for Zeroed<T> {}

impl<T: Zeroable> Zeroed<T> {
    /// `len` zeroed values.
    pub(super) fn new(len: usize) -> Result<Self, BuildError> {
        const { assert!(align_of::<T>() <= 4096 && size_of::<T>() > 0) };
        let too_large =
            |bytes: usize, reason: &str| BuildError::OutOfMemory { bytes, reason: reason.to_owned() };
        // No array is larger than isize::MAX bytes: pointer distances within it must fit.
        let bytes = size_of::<T>().checked_mul(len).filter(|bytes| *bytes <= isize::MAX as usize - HUGE_PAGE);
        let bytes = bytes.ok_or_else(|| too_large(usize::MAX, "larger than the address space"))?;
        // Room to begin on a huge page.
        let mapped = if bytes >= HUGE_PAGE { bytes + HUGE_PAGE } else { bytes.max(1) };
        // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
        let mapping = unsafe {
            mmap_anonymous(
                core::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let mapping = mapping.map_err(|error| too_large(bytes, &error.to_string()))?;
        let offset = if bytes >= HUGE_PAGE { mapping.align_offset(HUGE_PAGE) } else { 0 };
        // SAFETY: offset is below HUGE_PAGE, which `mapped` has beyond `bytes`.
        let start = unsafe { mapping.byte_add(offset) };
        if bytes >= HUGE_PAGE {
            // SAFETY: within the new mapping. Advice only: refused, the pages stay small.
            let _ = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
        }
        // SAFETY: within the new mapping. Advice only: refused, pages come at their first use.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxPopulateWrite) };
        match (NonNull::new(start.cast()), NonNull::new(mapping)) {
            (Some(values), Some(mapping)) => Ok(Self { values, len, mapping, mapped, owned: PhantomData }),
            _ => Err(too_large(bytes, "mapped at address 0")),
        }
    }

    #[inline]
    pub(super) fn get(&self, index: Index) -> &T {
        debug_assert!(index.get() < self.len);
        // SAFETY: an Index is below the bucket count of the table's geometry, which made this array
        // with that many values; they were mapped as zeros, and zeros are values.
        unsafe { self.values.add(index.get()).as_ref() }
    }

    /// Asks for the value's cache lines, to be written.
    #[inline]
    pub(super) fn prefetch(&self, index: Index) {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let value = self.values.as_ptr().wrapping_add(index.get()).cast::<i8>();
            for line in 0..size_of::<T>().div_ceil(64) {
                // SAFETY: a prefetch reads nothing and faults at no address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(value.wrapping_add(line * 64)) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }
}

impl<T> Drop for Zeroed<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; the values need no drop, and no borrow outlives `self`.
        // It fails only for a range that is no mapping.
        let _ = unsafe { munmap(self.mapping.as_ptr(), self.mapped) };
    }
}
