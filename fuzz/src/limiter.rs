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
        // SAFETY: a text with its NUL, a config of its own size or none, a place for the limiter.
        Self::made(|limiter| unsafe { ratecell_limiter_new(policy.as_ptr(), config, limiter) })
    }

    /// What `make` makes, which writes a limiter to the place that it is given if it returns 0, and else nothing.
    pub(crate) fn made(make: impl FnOnce(*mut *mut ratecell_limiter) -> i32) -> Result<Self, i32> {
        let mut limiter = ptr::null_mut();
        match make(&mut limiter) {
            0 => Ok(Self(limiter)),
            status => {
                assert!(limiter.is_null(), "status {status}: expected nothing to be written");
                Err(status)
            }
        }
    }

    pub(crate) fn get(&self) -> *const ratecell_limiter {
        self.0
    }
}

impl Drop for CLimiter {
    fn drop(&mut self) {
        // SAFETY: made by a function of the library; nothing else ends it, and calls on it borrow `self`.
        unsafe { ratecell_limiter_free(self.0) };
    }
}
