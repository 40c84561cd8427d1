//! A limiter as C has it.

use core::ffi::CStr;
use core::ptr;

use ratecell::ffi::{ratecell_config, ratecell_limiter, ratecell_limiter_free, ratecell_limiter_new};

/// A limiter of the C ABI, ended when it goes.
#[derive(Debug)]
pub(crate) struct CLimiter(*mut ratecell_limiter);

impl CLimiter {
    /// As a config that is NULL makes it, or as `config` says.
    pub(crate) fn new(policy: &CStr, config: Option<&ratecell_config>) -> Result<Self, i32> {
        let config = config.map_or(ptr::null(), ptr::from_ref);
        let mut limiter = ptr::null_mut();
        // SAFETY: a text with its NUL, a config of its own size or none, a place for the limiter.
        match unsafe { ratecell_limiter_new(policy.as_ptr(), config, &mut limiter) } {
            0 => Ok(Self(limiter)),
            status => Err(status),
        }
    }

    pub(crate) fn get(&self) -> *const ratecell_limiter {
        self.0
    }
}

impl Drop for CLimiter {
    fn drop(&mut self) {
        // SAFETY: made by ratecell_limiter_new; nothing else ends it, and calls on it borrow `self`.
        unsafe { ratecell_limiter_free(self.0) };
    }
}
