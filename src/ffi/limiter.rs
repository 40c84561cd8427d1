//! Makes and frees limiters, and reads their policy and clock.

use core::ffi::c_char;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::why::{Refusal, explained, guarded};
use super::{pointer, policy, ratecell_config, ratecell_status, status, text};
use crate::limiter::Limiter;
use ratecell_core::Policy;

/// A limiter: a policy, a table of keys for each of its layers, a clock.
#[derive(Debug)]
pub struct ratecell_limiter {
    pub(super) limiter: Limiter,
}

/// Makes a limiter and writes it to `limiter`, or writes the reason for an error to the config's `why`. `flags` are those
/// of the config that the call accepts.
///
/// # Safety
/// As the header's preamble has it.
pub(super) unsafe fn make(
    config: *const ratecell_config,
    flags: u32,
    limiter: *mut *mut ratecell_limiter,
    construct: impl FnOnce(&ratecell_config) -> Result<Limiter, Refusal>,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's word.
        let config = unsafe { ratecell_config::read(config) }?;
        // SAFETY: the caller's word.
        let (out, made) = unsafe {
            explained(
                config.why,
                config.why_len,
                || Ok((pointer::output(limiter)?, construct(&config.with_flags(flags)?)?)),
                |(_, made)| made.warning(),
            )
        }?;
        out.write(Box::into_raw(Box::new(ratecell_limiter { limiter: made })));
        Ok(())
    })
}

/// Make a limiter of a policy, with all its memory.
///
/// The policy is text, such as "100/s burst=200"; ratecell_policy_format has its grammar.
///
/// Returns 0; free *limiter with ratecell_limiter_free.
/// Errors: RATECELL_EINVAL and RATECELL_EALIGN (policy, limiter, config), RATECELL_ESIZE and RATECELL_E2BIG
/// (config's size), RATECELL_ECONFIG, RATECELL_EPOLICY_..., RATECELL_ENOMEM,
/// RATECELL_ENORANDOM, RATECELL_EPROCESSOR, RATECELL_EPANIC. *limiter is then as it was, and the config's why says more.
/// NULL: config may be, for the defaults.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_new(
    policy: *const c_char,
    config: *const ratecell_config,
    limiter: *mut *mut ratecell_limiter,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe {
        make(config, 0, limiter, |config| {
            Ok(config.apply(Limiter::builder(policy::read(policy)?))?.build()?)
        })
    }
}

/// Free a limiter and its memory.
///
/// It must come from this library and not be freed yet, and no call on it may be under way.
///
/// Returns nothing.
/// Errors: none.
/// NULL: limiter may be; nothing happens.
/// Threads: one, after all others are done with it. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_free(limiter: *mut ratecell_limiter) {
    if limiter.is_null() || !limiter.is_aligned() {
        return;
    }
    // SAFETY: made by Box::into_raw, and by the caller's word not ended and not in use.
    drop(unsafe { Box::from_raw(limiter) });
}

/// Write a limiter's policy as ratecell_policy_format does, and a NUL.
///
/// Returns the length without the NUL. With len 0 only the length is returned.
/// Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, buffer), RATECELL_ESIZE (len), RATECELL_ENOSPC,
/// RATECELL_EPANIC.
/// NULL: buffer may be, if len is 0.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_policy(
    limiter: *const ratecell_limiter,
    buffer: *mut c_char,
    len: usize,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    text::guarded(|| unsafe { policy_of(limiter).and_then(|policy| text::write(&*policy, buffer, len)) })
}

/// # Safety
/// As the header's preamble has it.
pub(super) unsafe fn policy_of(limiter: *const ratecell_limiter) -> Result<Arc<Policy>, ratecell_status> {
    // SAFETY: the caller's word.
    unsafe { pointer::input(limiter) }.map(|limiter| limiter.limiter.policy())
}

/// Read a limiter's own clock: nanoseconds since its epoch, by CLOCK_MONOTONIC. It may be about a microsecond behind
/// that clock, and is not ahead of it, except by up to 30 us while chronyd slews it by more than 0.17 %.
///
/// Returns 0 and writes *now_ns, a time for ratecell_limiter_check_at and for requests with RATECELL_AT.
/// Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, now_ns).
/// NULL: neither.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_now(limiter: *const ratecell_limiter, now_ns: *mut u64) -> i32 {
    // SAFETY: as the header's preamble has it.
    let read = unsafe { pointer::input(limiter).and_then(|limiter| Ok((limiter, pointer::output(now_ns)?))) };
    status::code(read.map(|(limiter, out)| {
        out.write(limiter.limiter.now_ns());
    }))
}

/// Return the zero of a limiter's own clock: the Monday 00:00 UTC before it was made, or the config's epoch_s, to which
/// aligned windows are aligned; 0 for one before 1970.
///
/// Returns 0 and writes *unix_ns, nanoseconds since 1970.
/// Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, unix_ns), RATECELL_EPANIC.
/// NULL: neither.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_epoch(limiter: *const ratecell_limiter, unix_ns: *mut u64) -> i32 {
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        let (limiter, out) = unsafe { (pointer::input(limiter)?, pointer::output(unix_ns)?) };
        let epoch = limiter.limiter.epoch().duration_since(UNIX_EPOCH).unwrap_or_default();
        out.write(u64::try_from(epoch.as_nanos()).unwrap_or(u64::MAX));
        Ok(())
    })
}
