//! A pair of two atomics, which the processor exchanges at once.

use super::{Words, exchange};
use crate::sync::{AtomicU64, Ordering};

/// Two words, each an atomic, that can be exchanged together. Zeros are a pair of zeros.
#[derive(Debug, Default)]
#[repr(C, align(16))]
pub(crate) struct Pair {
    first: AtomicU64,
    second: AtomicU64,
}

impl Pair {
    /// Whether this processor can exchange both words at once. Where it cannot, nothing else of a pair may be used.
    pub(crate) fn is_supported() -> bool {
        exchange::is_supported()
    }

    #[inline(always)]
    pub(crate) fn first(&self, ordering: Ordering) -> u64 {
        self.first.load(ordering)
    }

    #[inline(always)]
    pub(crate) fn second(&self, ordering: Ordering) -> u64 {
        self.second.load(ordering)
    }

    /// Changes the second word from exactly `seen.1`, whatever the first one is: `seen.0` is what it was lately.
    #[inline(always)]
    pub(crate) fn replace_second(&self, seen: Words, to: u64, success: Ordering, failure: Ordering) -> bool {
        self.second.compare_exchange(seen.1, to, success, failure).is_ok()
    }

    /// Changes the first word from exactly `seen.0`, whatever the second one is, which was `seen.1` lately. Where it fails
    /// it says what the first word is.
    #[inline(always)]
    pub(crate) fn replace_first(
        &self,
        seen: Words,
        to: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<(), u64> {
        self.first.compare_exchange(seen.0, to, success, failure).map(drop)
    }

    /// Changes both words from exactly `from`, at once. Acquires and releases; where it fails, it changes nothing, and
    /// its caller has to load again.
    #[inline(always)]
    pub(crate) fn replace(&self, from: Words, to: Words) -> bool {
        exchange::replace(self, from, to)
    }

    /// Sets both words, where nobody else can see it.
    #[cfg(target_family = "wasm")]
    pub(super) fn store(&self, to: Words) {
        // Relaxed: there is no other thread.
        self.first.store(to.0, Ordering::Relaxed);
        self.second.store(to.1, Ordering::Relaxed);
    }

    /// The 16 bytes, for the exchange.
    #[inline(always)]
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64"))]
    pub(super) fn as_ptr(&self) -> *mut u64 {
        self.first.as_ptr()
    }
}
