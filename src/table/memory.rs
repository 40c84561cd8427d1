//! The memory of tables: zeroed pages of this process, pages that processes share, or the caller's.

use core::marker::PhantomData;
use core::num::NonZeroUsize;
use core::ptr::NonNull;
use std::fs::File;
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use super::counters::Stripe;
use super::geometry::Index;
use super::layout::{Bucket, Ledger, Tag};
use crate::error::{BuildError, RegionError};
use crate::sync::{AtomicU64, Ordering};

/// Types for which any bytes are a value, and that need no drop.
///
/// # Safety
/// Both must hold.
pub(crate) unsafe trait Plain: Sync {}

// SAFETY: atomics of u64 alone, and padding.
unsafe impl<const SLOTS: usize> Plain for Bucket<SLOTS> {}
// SAFETY: atomics of u64 alone.
unsafe impl Plain for Ledger {}
// SAFETY: atomics of u64 alone, and padding.
unsafe impl Plain for Stripe {}
// SAFETY: an atomic of u64.
unsafe impl Plain for AtomicU64 {}

const ALIGNMENT: usize = Memory::ALIGNMENT;
const HUGE_PAGE: usize = 2 << 20;

/// Memory that a limiter can live in, and share with other processes. Clones are the same memory, which
/// stays until all of them and all limiters in it are gone.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Aligned to [`ALIGNMENT`](Self::ALIGNMENT), readable for `len` bytes, and writable unless it was mapped
    /// [for reading alone](Self::of_file_to_read).
    start: NonNull<u8>,
    len: usize,
    /// `None` where the caller sees to it that the memory stays.
    _mapping: Option<Arc<Mapping>>,
}

// SAFETY: nothing is read or written through `start` but atomics, by whomever.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}
// SAFETY: it is used once, to be unmapped, which any thread may do.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Memory {
    /// Where memory begins: at a multiple of a cache line.
    pub const ALIGNMENT: usize = 64;

    /// Zeroed memory of this process, resident from the start, on huge pages where the system has them.
    pub(crate) fn private(len: usize) -> Result<Self, BuildError> {
        // Room to begin on a huge page.
        let spare = if len >= HUGE_PAGE { HUGE_PAGE } else { 0 };
        let memory = Self::mapped(len, spare, |len| {
            let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
            // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
            unsafe { mmap_anonymous(core::ptr::null_mut(), len, protection, flags) }
        })?;
        if spare > 0 {
            memory.advise(Advice::LinuxHugepage);
        }
        memory.advise(Advice::LinuxPopulateWrite);
        Ok(memory)
    }

    /// `len` zeroed bytes that are shared with the processes forked off later.
    ///
    /// # Errors
    /// [`BuildError::OutOfMemory`].
    pub fn shared(len: usize) -> Result<Self, BuildError> {
        Self::mapped(len, 0, |len| {
            let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
            // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
            unsafe { mmap_anonymous(core::ptr::null_mut(), len, protection, flags) }
        })
    }

    /// The first `len` bytes of a file, shared with all who map it.
    pub(crate) fn of_file(file: &File, len: usize) -> Result<Self, BuildError> {
        let memory = Self::mapped(len, 0, |len| {
            let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
            // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
            unsafe { mmap(core::ptr::null_mut(), len, protection, flags, file, 0) }
        })?;
        memory.advise(Advice::LinuxPopulateWrite);
        Ok(memory)
    }

    /// The first `len` bytes of a file for reading alone: by relaxed loads, and never by a store, which
    /// would end the process.
    pub(crate) fn of_file_to_read(file: &File, len: usize) -> Result<Self, BuildError> {
        Self::mapped(len, 0, |len| {
            // SAFETY: a new mapping at an address that the system chooses overlaps nothing.
            unsafe { mmap(core::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, 0) }
        })
    }

    /// Memory of the caller's.
    ///
    /// # Errors
    /// [`RegionError::Unaligned`] if it does not begin at a multiple of [`ALIGNMENT`](Self::ALIGNMENT), or is
    /// no memory: null, or longer than `isize::MAX`.
    ///
    /// # Safety
    /// As long as this, a clone or a limiter in it lives, `len` bytes from `start` can be read and written,
    /// and whoever else changes them, in whichever process, does so through a limiter, or by atomics.
    pub unsafe fn from_raw_parts(start: *mut u8, len: usize) -> Result<Self, RegionError> {
        let start = NonNull::new(start).filter(|start| start.addr().get().is_multiple_of(ALIGNMENT));
        let start = start
            .filter(|_| isize::try_from(len).is_ok())
            .ok_or(RegionError::Unaligned { expected: ALIGNMENT })?;
        Ok(Self { start, len, _mapping: None })
    }

    /// Maps `len` bytes, of `spare` more from where a huge page begins.
    fn mapped(
        len: usize,
        spare: usize,
        map: impl FnOnce(usize) -> rustix::io::Result<*mut core::ffi::c_void>,
    ) -> Result<Self, BuildError> {
        let out_of_memory = |reason: &str| BuildError::OutOfMemory { bytes: len, reason: reason.to_owned() };
        // No object is larger than isize::MAX bytes: distances within it must fit.
        let mapped = len.max(1).checked_add(spare).filter(|bytes| isize::try_from(*bytes).is_ok());
        let mapped = mapped.ok_or_else(|| out_of_memory("larger than the address space"))?;
        let start = map(mapped).map_err(|error| out_of_memory(&error.to_string()))?;
        let Some(mapping) = NonNull::new(start.cast::<u8>()) else {
            return Err(out_of_memory("mapped at address 0"));
        };
        let offset = if spare > 0 { start.align_offset(HUGE_PAGE).min(spare) } else { 0 };
        // SAFETY: the mapping has `spare` bytes beyond `len`.
        let start = unsafe { mapping.add(offset) };
        Ok(Self { start, len, _mapping: Some(Arc::new(Mapping { start: mapping, len: mapped })) })
    }

    /// Advice only: refused, the pages stay small, or come at their first use.
    fn advise(&self, advice: Advice) {
        // SAFETY: within a mapping of this process; no advice given here changes what is in it.
        let _ = unsafe { madvise(self.start.as_ptr().cast(), self.len, advice) };
    }

    /// How many bytes it is.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "memory of no bytes is of no use to ask for")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Makes all of it zeros. Whoever uses it meanwhile may find any of it zeroed.
    pub(crate) fn clear(&self) {
        let words = self.array::<AtomicU64>(0, self.len / size_of::<AtomicU64>());
        for word in words.iter().flat_map(Array::all) {
            // Relaxed: whoever is told of the memory afterwards is told by a release.
            word.store(0, Ordering::Relaxed);
        }
    }

    /// `len` values, from `offset` bytes on; `None` if they do not lie within, or not aligned.
    pub(crate) fn array<T: Plain>(&self, offset: usize, len: usize) -> Option<Array<T>> {
        const { assert!(align_of::<T>() <= ALIGNMENT && size_of::<T>() > 0) };
        let len = NonZeroUsize::new(len)?;
        let end = size_of::<T>().checked_mul(len.get()).and_then(|bytes| bytes.checked_add(offset))?;
        if end > self.len || !offset.is_multiple_of(align_of::<T>()) {
            return None;
        }
        // SAFETY: the offset is within the memory.
        let values = unsafe { self.start.add(offset) }.cast();
        Some(Array { values, len, _memory: self.clone(), of: PhantomData })
    }
}

/// A mapping of this process.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `Memory`, and nothing made of it is left. It fails only for a range that is no
        // mapping.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// A fixed array in a memory.
#[derive(Debug)]
pub(crate) struct Array<T> {
    /// Aligned for `T`; `len` values.
    values: NonNull<T>,
    len: NonZeroUsize,
    /// Keeps them there.
    _memory: Memory,
    of: PhantomData<T>,
}

// SAFETY: the values are Sync and only ever borrowed shared; dropping touches none.
unsafe impl<T: Plain> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for Array<T> {}

impl<T> Clone for Array<T> {
    /// The same array.
    fn clone(&self) -> Self {
        Self { values: self.values, len: self.len, _memory: self._memory.clone(), of: PhantomData }
    }
}

impl<T: Plain> Array<T> {
    #[inline]
    pub(super) fn get(&self, index: Index) -> &T {
        debug_assert!(index.get() < self.len.get());
        // SAFETY: an Index is below the bucket count of the table's geometry, which made this array with that
        // many values; any bytes are values, and they are there for as long as `_memory`.
        unsafe { self.values.add(index.get()).as_ref() }
    }

    /// The value at `number`, counted around.
    #[inline]
    pub(crate) fn around(&self, number: usize) -> &T {
        // SAFETY: below `len`, as above.
        unsafe { self.values.add(number % self.len).as_ref() }
    }

    pub(crate) fn all(&self) -> &[T] {
        // SAFETY: `len` values, as above.
        unsafe { core::slice::from_raw_parts(self.values.as_ptr(), self.len.get()) }
    }

    /// Asks for the value's cache lines.
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

/// A bit for each slot of two buckets, those of `home` first, whose tag has the same [coarse part](Tag::coarse) as
/// `identity`: a slot of that key, or in rare cases another. All are compared at once.
#[inline(always)]
pub(super) fn alike<const SLOTS: usize>(
    home: &Bucket<SLOTS>,
    alternate: &Bucket<SLOTS>,
    identity: Tag,
) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if SLOTS == 8 {
        // SAFETY: SSE2 is part of x86-64; a bucket of 8 slots is 128 bytes. The assembly only reads them, each tag by
        // one load, as relaxed loads would.
        return unsafe {
            alike_of_eights(
                core::ptr::from_ref(home).cast(),
                core::ptr::from_ref(alternate).cast(),
                identity.coarse(),
            )
        };
    }
    home.alike(identity) | alternate.alike(identity) << SLOTS
}

/// # Safety
/// Both buckets are 8 slots of 16 bytes, of which each begins with a tag.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn alike_of_eights(home: *const u8, alternate: *const u8, coarse: u32) -> u32 {
    let alike: u32;
    // SAFETY: the caller's word. No memory is written, no flag and no stack is touched.
    //
    // Tag by tag: a load of a slot as one would wait for a charge of its word that is still on its way. shufps 0xDD
    // takes the upper halves of four tags; the packs make a byte of each comparison.
    unsafe {
        core::arch::asm!(
            "movd {wanted}, {coarse:e}",
            "pshufd {wanted}, {wanted}, 0",
            "movq {a}, [{home}]",
            "movhps {a}, [{home} + 16]",
            "movq {half}, [{home} + 32]",
            "movhps {half}, [{home} + 48]",
            "shufps {a}, {half}, 0xDD",
            "pcmpeqd {a}, {wanted}",
            "movq {b}, [{home} + 64]",
            "movhps {b}, [{home} + 80]",
            "movq {half}, [{home} + 96]",
            "movhps {half}, [{home} + 112]",
            "shufps {b}, {half}, 0xDD",
            "pcmpeqd {b}, {wanted}",
            "movq {c}, [{alternate}]",
            "movhps {c}, [{alternate} + 16]",
            "movq {half}, [{alternate} + 32]",
            "movhps {half}, [{alternate} + 48]",
            "shufps {c}, {half}, 0xDD",
            "pcmpeqd {c}, {wanted}",
            "movq {d}, [{alternate} + 64]",
            "movhps {d}, [{alternate} + 80]",
            "movq {half}, [{alternate} + 96]",
            "movhps {half}, [{alternate} + 112]",
            "shufps {d}, {half}, 0xDD",
            "pcmpeqd {d}, {wanted}",
            "packssdw {a}, {b}",
            "packssdw {c}, {d}",
            "packsswb {a}, {c}",
            "pmovmskb {alike:e}, {a}",
            home = in(reg) home,
            alternate = in(reg) alternate,
            coarse = in(reg) coarse,
            wanted = out(xmm_reg) _,
            half = out(xmm_reg) _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            alike = lateout(reg) alike,
            options(readonly, nostack, preserves_flags),
        );
    }
    alike
}
