//! Text into the caller's buffer, without allocation.

use core::ffi::c_char;
use core::fmt::{self, Display, Write};
use core::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::pointer;
use super::ratecell_status;
use super::ratecell_status::{RATECELL_ENOSPC, RATECELL_EPANIC};

/// Counts the bytes of what is written.
#[derive(Default)]
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// What is left of a buffer.
struct Rest<'b>(&'b mut [MaybeUninit<u8>]);

impl Rest<'_> {
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let (place, rest) =
            core::mem::take(&mut self.0).split_at_mut_checked(bytes.len()).ok_or(fmt::Error)?;
        place.iter_mut().zip(bytes).for_each(|(place, byte)| {
            place.write(*byte);
        });
        self.0 = rest;
        Ok(())
    }
}

impl Write for Rest<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes())
    }
}

/// Writes `text` and a NUL, all of it or nothing, and returns the length without the NUL. With NULL and
/// a length of 0, only the length.
///
/// # Safety
/// If `buffer` is not NULL, it points to `len` bytes that are the call's alone.
pub(super) unsafe fn write(
    text: &impl Display,
    buffer: *mut c_char,
    len: usize,
) -> Result<usize, ratecell_status> {
    // SAFETY: the caller's word.
    let buffer = unsafe { pointer::outputs(buffer.cast::<u8>(), len) }?;
    let mut length = Length::default();
    let told = write!(length, "{text}");
    debug_assert!(told.is_ok(), "a Display of this crate fails only where its writer does");
    if buffer.is_empty() {
        return Ok(length.0);
    }
    if length.0 >= buffer.len() {
        return Err(RATECELL_ENOSPC);
    }
    let mut rest = Rest(buffer);
    write!(rest, "{text}").and_then(|()| rest.write_bytes(&[0])).map_err(|_| RATECELL_ENOSPC)?;
    Ok(length.0)
}

/// Writes as much of `text` as there is room for beside a NUL, which ends it; nothing where there is no room at all.
pub(super) fn write_start(text: &str, buffer: &mut [MaybeUninit<u8>]) {
    let Some(room) = buffer.len().checked_sub(1) else { return };
    let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let start = text.get(..end).unwrap_or_default();
    let mut rest = Rest(buffer);
    // There is room for both.
    let _ = rest.write_bytes(start.as_bytes()).and_then(|()| rest.write_bytes(&[0]));
}

/// Runs what writes text: a length, or a status, as C has it. A bug there is a status, not the end of the caller's
/// process.
pub(super) fn guarded(write: impl FnOnce() -> Result<usize, ratecell_status>) -> i32 {
    // Unwinding leaves nothing half-built: only the caller's buffer is written, and last.
    match catch_unwind(AssertUnwindSafe(write)).unwrap_or(Err(RATECELL_EPANIC)) {
        Ok(length) => i32::try_from(length).unwrap_or(RATECELL_ENOSPC as i32),
        Err(status) => status as i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_status() {
        assert_eq!(guarded(|| panic!("on purpose")), RATECELL_EPANIC as i32);
        assert_eq!(guarded(|| Ok(7)), 7);
        assert_eq!(guarded(|| Ok(usize::MAX)), RATECELL_ENOSPC as i32);
    }
}
