//! Arrays in a memory.

use core::marker::PhantomData;
use core::num::NonZeroUsize;
use core::ptr::NonNull;

use super::Memory;
use crate::sync::{AtomicU32, AtomicU64, Pair};

/// Types for which any bytes are a value, and that need no drop.
///
/// # Safety
/// Both must hold.
pub(crate) unsafe trait Plain: Sync {}

// SAFETY: any 8 bytes are a u64, and it has no drop.
unsafe impl Plain for AtomicU64 {}
// SAFETY: any 4 bytes are a u32, and it has no drop.
unsafe impl Plain for AtomicU32 {}
// SAFETY: a pair is atomics of u64, and padding, without a drop.
unsafe impl Plain for Pair {}

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

// SAFETY: the values are Sync and only ever borrowed shared; dropping the array touches none of them.
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
    /// `len` values, from `offset` bytes on; `None` if they do not lie within, or not aligned.
    pub(super) fn new(memory: &Memory, offset: usize, len: usize) -> Option<Self> {
        const { assert!(align_of::<T>() <= Memory::ALIGNMENT && size_of::<T>() > 0) };
        let len = NonZeroUsize::new(len)?;
        let end = size_of::<T>().checked_mul(len.get()).and_then(|bytes| bytes.checked_add(offset))?;
        if end > memory.len || !offset.is_multiple_of(align_of::<T>()) {
            return None;
        }
        // SAFETY: `offset` is below `end`, which is at most the memory's length.
        let values = unsafe { memory.start.add(offset) }.cast();
        Some(Self { values, len, _memory: memory.clone(), of: PhantomData })
    }

    /// The value at `number`.
    ///
    /// # Safety
    /// `number` is below the length that the array was made with.
    #[inline(always)]
    pub(crate) unsafe fn get_unchecked(&self, number: usize) -> &T {
        debug_assert!(number < self.len.get());
        // SAFETY: `number` is below `len`, by this function's contract. Any bytes are a value, and `_memory` keeps them.
        unsafe { self.values.add(number).as_ref() }
    }

    /// The value at `number`, counted around.
    #[inline]
    pub(crate) fn around(&self, number: usize) -> &T {
        // SAFETY: a remainder of `len` is below it. Any bytes are a value, and `_memory` keeps them.
        unsafe { self.values.add(number % self.len).as_ref() }
    }

    /// The first value.
    #[inline(always)]
    pub(crate) fn first(&self) -> &T {
        // SAFETY: there is one at least. Any bytes are a value, and `_memory` keeps them.
        unsafe { self.values.as_ref() }
    }

    pub(crate) fn all(&self) -> &[T] {
        // SAFETY: `len` aligned values stand in the memory. Any bytes are a value, and `_memory` keeps them.
        unsafe { core::slice::from_raw_parts(self.values.as_ptr(), self.len.get()) }
    }

    /// Asks for the cache lines of the value at `number`; of one beyond the array, in vain.
    #[inline]
    pub(crate) fn prefetch(&self, number: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let value = self.values.as_ptr().wrapping_add(number).cast::<i8>();
            for line in 0..size_of::<T>().div_ceil(64) {
                // SAFETY: a prefetch reads nothing and faults at no address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(value.wrapping_add(line * 64)) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = number;
    }
}
