//! Objects that Java holds, by their addresses.
//!
//! Java's side of the contract, which its class `Handle` keeps: it passes an address only to the operations of its kind,
//! and frees it once, when no thread can reach it any more.

/// An object of Java's, by its address.
pub(crate) fn keep<T: Send + Sync>(object: T) -> u64 {
    Box::into_raw(Box::new(object)) as u64
}

/// The object at an address that `keep` gave for one of the same type.
#[inline]
pub(crate) fn at<'a, T: Send + Sync>(address: u64) -> &'a T {
    // SAFETY: by the contract above it is the address of a `T` in a box that nobody has freed, and none of its users has
    // a `&mut`. Java keeps it reachable until the call returns, and no operation keeps the reference for longer.
    unsafe { &*(address as *const T) }
}

/// Frees the object at an address that `keep` gave for one of the same type.
pub(crate) fn free<T: Send + Sync>(address: u64) {
    // SAFETY: by the contract above it came from `Box::into_raw` of this type, and is used by nobody and freed once.
    drop(unsafe { Box::from_raw(address as *mut T) });
}
