//! What a decision's object holds: a value that changes only while no Python program has the object.

use core::cell::UnsafeCell;

/// A decision that [`recycle`](crate::recycle) may replace.
pub(crate) struct DecisionCell(UnsafeCell<ratecell::Decision>);

// SAFETY: methods of the object read it, and their callers have a reference to the object; `replace` is called where
// nobody has one. Both happen while attached, and only one thread is: the module says that it needs the interpreter's
// lock.
unsafe impl Sync for DecisionCell {}

impl DecisionCell {
    pub(crate) fn new(decision: ratecell::Decision) -> Self {
        Self(UnsafeCell::new(decision))
    }

    #[inline]
    pub(crate) fn get(&self) -> ratecell::Decision {
        // SAFETY: the caller has a reference to the object, so nobody replaces it.
        unsafe { *self.0.get() }
    }

    /// # Safety
    /// The caller is attached, and no one else has a reference to the object.
    #[inline]
    pub(crate) unsafe fn replace(&self, decision: ratecell::Decision) {
        // SAFETY: nobody reads it, says the caller.
        unsafe { *self.0.get() = decision };
    }
}
