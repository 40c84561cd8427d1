//! Why nothing was made: a status, and a sentence for people.

use core::ffi::c_char;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::ratecell_status::{RATECELL_ECONFIG, RATECELL_EPANIC};
use super::{pointer, ratecell_status, status, text};
use crate::error::BuildError;
use ratecell_core::client_key::ClientsError;

/// Why nothing was made: the status, and what is said of it.
pub(super) struct Refusal {
    status: ratecell_status,
    why: Cow<'static, str>,
}

impl From<ratecell_status> for Refusal {
    fn from(status: ratecell_status) -> Self {
        Self { status, why: status.text().to_string_lossy() }
    }
}

impl From<BuildError> for Refusal {
    fn from(error: BuildError) -> Self {
        let why = error.to_string().into();
        Self { status: error.into(), why }
    }
}

impl From<ClientsError> for Refusal {
    fn from(error: ClientsError) -> Self {
        Self::config(error.to_string())
    }
}

impl Refusal {
    pub(super) fn new(status: ratecell_status, why: String) -> Self {
        Self { status, why: why.into() }
    }

    /// Of a value of a config.
    pub(super) fn config(why: String) -> Self {
        Self::new(RATECELL_ECONFIG, why)
    }
}

/// Runs what may allocate and is not made for the check path: a bug there is a status, not the end of the
/// caller's process.
pub(super) fn guarded(construct: impl FnOnce() -> Result<(), ratecell_status>) -> i32 {
    // Unwinding leaves nothing half-built: outputs are written last.
    status::code(catch_unwind(AssertUnwindSafe(construct)).unwrap_or(Err(RATECELL_EPANIC)))
}

/// Runs `construct`, and writes into `why` what it says of a refusal; or what `warning` says of success, or an empty text.
///
/// # Safety
/// If `why` is neither NULL nor misaligned, it points to `why_len` bytes that are the call's alone.
pub(super) unsafe fn explained<T>(
    why: *mut c_char,
    why_len: usize,
    construct: impl FnOnce() -> Result<T, Refusal>,
    warning: impl FnOnce(&T) -> Option<&'static str>,
) -> Result<T, ratecell_status> {
    // SAFETY: the caller's word.
    let why = unsafe { pointer::outputs(why.cast::<u8>(), why_len) }?;
    let made = construct();
    let said = made.as_ref().map_or_else(|refusal| &*refusal.why, |made| warning(made).unwrap_or(""));
    text::write_start(said, why);
    made.map_err(|refusal| refusal.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_status() {
        assert_eq!(guarded(|| panic!("on purpose")), RATECELL_EPANIC as i32);
        assert_eq!(guarded(|| Ok(())), 0);
    }
}
