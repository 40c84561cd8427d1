//! What no input may do to ratecell. Each public module is a fuzz target, the others are what the
//! targets share.
//!
//! `ci/fuzz.sh` builds and runs the targets. What a seed of `attach`, `calls` or `fields` stands for, the program of
//! the target writes to the file that the environment names in `RUST_LIBFUZZER_DEBUG_PATH`.

pub mod attach;
pub mod calls;
pub mod fields;
pub mod import;
pub mod log_lines;
pub mod policy;
pub mod resp;
pub mod rules;

mod laws;
mod limiter;
mod memory;
mod policies;
mod text;

/// The random bytes of every limiter: always the same, so that two limiters that are asked the same decide
/// the same, also where their tables are full, and so that a crash can be repeated.
///
/// # Safety
/// `dest` points to `len` bytes to be written.
#[cfg(getrandom_backend = "custom")]
#[expect(clippy::unnecessary_wraps, reason = "the signature is getrandom's")]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(dest: *mut u8, len: usize) -> Result<(), getrandom::Error> {
    // SAFETY: the caller's word.
    unsafe { dest.write_bytes(0x5A, len) };
    Ok(())
}
