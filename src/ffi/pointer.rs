//! What C hands over, checked: the only place where its pointers become references.

use core::ffi::{CStr, c_char, c_void};
use core::mem::MaybeUninit;

use super::ratecell_status;
use super::ratecell_status::{RATECELL_E2BIG, RATECELL_EALIGN, RATECELL_EINVAL, RATECELL_ESIZE};

/// A pointer that is neither NULL nor misaligned.
#[inline(always)]
fn checked<T>(pointer: *const T) -> Result<*const T, ratecell_status> {
    if pointer.is_null() {
        Err(RATECELL_EINVAL)
    } else if !pointer.is_aligned() {
        Err(RATECELL_EALIGN)
    } else {
        Ok(pointer)
    }
}

/// # Safety
/// If it is neither NULL nor misaligned, it points to a `T` that nobody changes during the call.
#[inline(always)]
pub(super) unsafe fn input<'a, T>(pointer: *const T) -> Result<&'a T, ratecell_status> {
    // SAFETY: not NULL, aligned, and for the rest the caller's word.
    checked(pointer).map(|pointer| unsafe { &*pointer })
}

/// What the caller has made and may be changed by this call alone.
///
/// # Safety
/// If it is neither NULL nor misaligned, it points to a `T` that nobody else uses during the call.
pub(super) unsafe fn in_use<'a, T>(pointer: *mut T) -> Result<&'a mut T, ratecell_status> {
    // SAFETY: not NULL, aligned, and for the rest the caller's word.
    checked(pointer).map(|_| unsafe { &mut *pointer })
}

/// # Safety
/// If it is neither NULL nor misaligned, it points to `count` values that nobody changes during the call.
#[inline(always)]
pub(super) unsafe fn inputs<'a, T>(pointer: *const T, count: usize) -> Result<&'a [T], ratecell_status> {
    if !fits_memory::<T>(count) {
        return Err(RATECELL_ESIZE);
    }
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: not NULL, aligned, no larger than a slice can be, and for the rest the caller's word.
    checked(pointer).map(|pointer| unsafe { core::slice::from_raw_parts(pointer, count) })
}

/// # Safety
/// As [`inputs`].
#[inline(always)]
pub(super) unsafe fn key<'a>(key: *const c_void, len: usize) -> Result<&'a [u8], ratecell_status> {
    // SAFETY: the caller's word.
    unsafe { inputs(key.cast(), len) }
}

/// Where an output goes; `None` for NULL, where it may be.
///
/// # Safety
/// If it is neither NULL nor misaligned, it points to memory for a `T` that is the call's alone.
#[inline(always)]
pub(super) unsafe fn optional_output<'a, T>(
    pointer: *mut T,
) -> Result<Option<&'a mut MaybeUninit<T>>, ratecell_status> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's word.
    unsafe { output(pointer) }.map(Some)
}

/// # Safety
/// As [`optional_output`].
#[inline(always)]
pub(super) unsafe fn output<'a, T>(pointer: *mut T) -> Result<&'a mut MaybeUninit<T>, ratecell_status> {
    // SAFETY: not NULL, aligned, memory that need not be initialised, and for the rest the caller's word.
    checked(pointer).map(|_| unsafe { &mut *pointer.cast() })
}

/// # Safety
/// If it is neither NULL nor misaligned, it points to memory for `count` values that is the call's alone.
#[inline(always)]
pub(super) unsafe fn outputs<'a, T>(
    pointer: *mut T,
    count: usize,
) -> Result<&'a mut [MaybeUninit<T>], ratecell_status> {
    if !fits_memory::<T>(count) {
        return Err(RATECELL_ESIZE);
    }
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: not NULL, aligned, no larger than a slice can be, memory that need not be initialised, and
    // for the rest the caller's word.
    checked(pointer).map(|_| unsafe { core::slice::from_raw_parts_mut(pointer.cast(), count) })
}

/// More than the struct of any version will have: beyond it a size is garbage, and not followed.
const LARGEST: usize = 4096;

/// The caller's struct, which begins with its size, as this version's: what an older one lacks is the default's, and
/// what a newer one has must be 0. `oldest` is the size of the first version. NULL is the default.
///
/// # Safety
/// All bytes are values of `T`. If `theirs` is neither NULL nor misaligned, it points to a size, and that many bytes are
/// there that nobody changes during the call.
pub(super) unsafe fn sized<T: Copy>(
    theirs: *const T,
    default: T,
    oldest: usize,
) -> Result<T, ratecell_status> {
    if theirs.is_null() {
        return Ok(default);
    }
    // SAFETY: the caller's word; the size stands first, and is aligned as the whole.
    let size = *unsafe { input(theirs.cast::<usize>()) }?;
    if size < oldest {
        return Err(RATECELL_ESIZE);
    }
    if size > LARGEST {
        return Err(RATECELL_E2BIG);
    }
    // SAFETY: the caller's word, by the size.
    let theirs = unsafe { inputs(theirs.cast::<u8>(), size) }?;
    let (known, newer) = theirs.split_at(size.min(size_of::<T>()));
    if newer.iter().any(|byte| *byte != 0) {
        return Err(RATECELL_E2BIG);
    }
    let mut own = default;
    // SAFETY: `known` is no longer than a `T`, of which any bytes are a value.
    unsafe { core::ptr::copy_nonoverlapping(known.as_ptr(), (&raw mut own).cast(), known.len()) };
    Ok(own)
}

/// # Safety
/// If it is not NULL, it points to text that ends in a NUL and that nobody changes during the call.
pub(super) unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a CStr, ratecell_status> {
    // SAFETY: not NULL, and for the rest the caller's word.
    checked(pointer).map(|pointer| unsafe { CStr::from_ptr(pointer) })
}

/// No object is larger than `isize::MAX` bytes.
#[inline(always)]
fn fits_memory<T>(count: usize) -> bool {
    count <= isize::MAX as usize / const { size_of::<T>() }
}
