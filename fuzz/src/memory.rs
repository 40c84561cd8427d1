//! Memory as a caller of the C ABI has it: of exactly so many bytes, at any alignment, with a sanitizer's
//! red zone at its end.

use core::ffi::c_void;
use core::ptr;
use ratecell::ffi::{RATECELL_AT, ratecell_request};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

/// The widest alignment of what C hands over: that of a region.
const ALIGN: usize = 64;
const UNTOUCHED: u8 = 0xA5;

/// Bytes in an allocation of their own that ends where they end.
pub(crate) struct Memory {
    base: *mut u8,
    layout: Layout,
    /// How far from aligned they begin, below [`ALIGN`].
    shift: usize,
    len: usize,
}

impl Memory {
    /// `len` bytes, `shift` after an aligned address.
    pub(crate) fn new(len: usize, shift: usize) -> Self {
        assert!(shift < ALIGN, "a shift of {shift}: expected less than {ALIGN}");
        // An allocation of no bytes is none.
        let layout = Layout::from_size_align((shift + len).max(1), ALIGN).expect("a small layout");
        // SAFETY: at least one byte.
        let base = unsafe { alloc(layout) };
        if base.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: just allocated, of that size.
        unsafe { base.write_bytes(UNTOUCHED, layout.size()) };
        Self { base, layout, shift, len }
    }

    /// A copy of `bytes`, aligned for any type.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let memory = Self::new(bytes.len(), 0);
        // SAFETY: as many bytes, in an allocation of their own.
        unsafe { memory.base.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        memory
    }

    /// Room for one `T`, `shift` after an aligned address.
    pub(crate) fn room<T>(shift: usize) -> Self {
        Self::new(size_of::<T>(), shift)
    }

    pub(crate) fn pointer<T>(&self) -> *mut T {
        // SAFETY: the allocation has at least `shift` bytes.
        unsafe { self.base.add(self.shift).cast() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: within the allocation, and initialised when it was made.
        unsafe { core::slice::from_raw_parts(self.pointer(), self.len) }
    }

    /// The `index`th of the values that were written here.
    pub(crate) fn value<T: Copy>(&self, index: usize) -> T {
        let at = index * size_of::<T>();
        let bytes = &self.bytes()[at..at + size_of::<T>()];
        // SAFETY: as many bytes; what a call wrote there it wrote as a `T`.
        unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
    }

    /// Fails if anything was written since it was made.
    pub(crate) fn assert_untouched(&self, what: &str) {
        let first = self.bytes().iter().position(|byte| *byte != UNTOUCHED);
        assert_eq!(first, None, "{what}: expected nothing to be written, byte {first:?} was");
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated so in `new`.
        unsafe { dealloc(self.base, self.layout) };
    }
}

/// The plain request of a key of so many bytes, at an instant.
pub(crate) fn request(key: *const c_void, key_len: usize, cost: u32, now_ns: u64) -> ratecell_request {
    ratecell_request {
        key,
        key_len,
        hash: 0,
        now_ns,
        max_delay_ns: 0,
        cost,
        flags: RATECELL_AT,
        zone: ptr::null(),
        reservation: ptr::null_mut(),
    }
}
