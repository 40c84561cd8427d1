//! Limiters in memory and files that processes share.

use core::ffi::{CStr, c_char, c_void};
use std::path::Path;

use super::limiter::{guarded, hand_over};
use super::{pointer, ratecell_config, ratecell_limiter, ratecell_status, text};
use crate::error::BuildError;
use crate::limiter::{Limiter, LimiterBuilder};
use crate::memory::Memory;

/// # Safety
/// As the header's preamble has it.
unsafe fn builder(
    policy: *const c_char,
    config: *const ratecell_config,
) -> Result<LimiterBuilder, ratecell_status> {
    // SAFETY: the caller's word.
    let (policy, config) = unsafe { (super::policy::read(policy)?, ratecell_config::read(config)?) };
    config.apply(Limiter::builder(policy))
}

/// # Safety
/// If `memory` is neither NULL nor misaligned, `len` bytes of it can be read and written by atomics for as long
/// as anything made of it is used.
unsafe fn memory(memory: *mut c_void, len: usize) -> Result<Memory, ratecell_status> {
    if memory.is_null() {
        return Err(ratecell_status::RATECELL_EINVAL);
    }
    if len > isize::MAX as usize {
        return Err(ratecell_status::RATECELL_ESIZE);
    }
    // SAFETY: the caller's word.
    Ok(unsafe { Memory::from_raw_parts(memory.cast(), len) }?)
}

/// # Safety
/// As the header's preamble has it.
unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path, ratecell_status> {
    // SAFETY: the caller's word.
    let path = unsafe { pointer::text(path) }?;
    #[cfg(unix)]
    let path = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(CStr::to_bytes(path));
    // Elsewhere a path is Unicode.
    #[cfg(not(unix))]
    let path = CStr::to_str(path).map_err(|_| ratecell_status::RATECELL_EINVAL)?;
    Ok(Path::new(path))
}

/// Hands over the limiter that `make` makes in memory.
///
/// # Safety
/// As the header's preamble has it.
unsafe fn in_memory(
    memory: *mut c_void,
    len: usize,
    policy: *const c_char,
    config: *const ratecell_config,
    limiter: *mut *mut ratecell_limiter,
    make: impl FnOnce(LimiterBuilder, &Memory) -> Result<Limiter, BuildError>,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's word.
        let (builder, memory, out) =
            unsafe { (builder(policy, config)?, self::memory(memory, len)?, pointer::output(limiter)?) };
        hand_over(make(builder, &memory)?, out);
        Ok(())
    })
}

/// Tell how many bytes of memory a region of a policy takes for the config's max_keys.
///
/// Returns the bytes, or 0 where ratecell_region_init would not make one: for a bad policy or config, a
/// sliding_log, or more keys than memory holds.
/// Errors: 0.
/// NULL: config may be, for the defaults.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_region_size(
    policy: *const c_char,
    config: *const ratecell_config,
) -> usize {
    // SAFETY: as the header's preamble has it.
    let builder = unsafe { builder(policy, config) };
    builder.ok().and_then(|builder| builder.region_bytes().ok()).unwrap_or(0)
}

/// Tell the most keys that have room in a region of len bytes of a policy.
///
/// Returns the keys, or 0 where none has room, or ratecell_region_init would not make a region of the policy.
/// Errors: 0.
/// NULL: policy may be, which gives 0.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_region_max_keys(len: usize, policy: *const c_char) -> u64 {
    // SAFETY: as the header's preamble has it.
    let builder = unsafe { builder(policy, core::ptr::null()) };
    builder.ok().and_then(|builder| builder.max_keys_in(len).ok()).unwrap_or(0) as u64
}

/// Make a region of memory, and the limiter that is first in it.
///
/// The memory is at a multiple of 64 bytes and stays, with all of its len bytes, until every limiter in it has
/// ended, in this process. What was in it is gone: nobody may be using it. With max_keys 0 there is room for as many
/// keys as it holds.
///
/// Returns 0; *limiter is then to be ended by ratecell_limiter_free, which does not touch the memory.
/// Errors: RATECELL_EINVAL (memory, policy, limiter), RATECELL_EALIGN (memory, config, limiter), RATECELL_ESIZE
/// (len, config's size), RATECELL_E2BIG, RATECELL_ECONFIG, RATECELL_EPOLICY_..., RATECELL_EREGION_SMALL,
/// RATECELL_EREGION_NO_WORD, RATECELL_ENORANDOM, RATECELL_EPANIC. *limiter is then as it was.
/// NULL: config may be, for the defaults.
/// Threads: one, before any other uses the memory. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_region_init(
    memory: *mut c_void,
    len: usize,
    policy: *const c_char,
    config: *const ratecell_config,
    limiter: *mut *mut ratecell_limiter,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe { in_memory(memory, len, policy, config, limiter, LimiterBuilder::init) }
}

/// ratecell_region_init of memory that is all zeros, as fresh pages are: it is not written but for the header, so
/// that its pages come into being as keys do. In memory that is not zeroed, keys may be found that were never checked.
///
/// Returns, errors, NULL and threads: as ratecell_region_init.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_region_init_zeroed(
    memory: *mut c_void,
    len: usize,
    policy: *const c_char,
    config: *const ratecell_config,
    limiter: *mut *mut ratecell_limiter,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe { in_memory(memory, len, policy, config, limiter, LimiterBuilder::init_zeroed) }
}

/// Make a limiter in a region that is there, made by any process, at any address.
///
/// The memory is as for ratecell_region_init. The policy has the algorithm and the windows that the region was
/// made with; its rate, burst, capacity and limit may be others, and are this limiter's alone.
///
/// Returns 0; *limiter is then to be ended by ratecell_limiter_free, which does not touch the memory.
/// Errors: as ratecell_region_init, and RATECELL_EREGION_..., of which ratecell_region_explain says more.
/// NULL: config may be, for what the region has.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_region_attach(
    memory: *mut c_void,
    len: usize,
    policy: *const c_char,
    config: *const ratecell_config,
    limiter: *mut *mut ratecell_limiter,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe { in_memory(memory, len, policy, config, limiter, LimiterBuilder::attach) }
}

/// Make a limiter in the region that is in a file; made for the config's max_keys, if the file is absent, empty
/// or all zeros.
///
/// A new file can be read and written by its owner alone; one that is there keeps its owner and mode. It outlives
/// the processes and a restart of the machine. Nobody may shorten it while it is used. Where the file is blank or of
/// another run of the machine it is locked while it is made; this waits up to 10 s for another process that makes it,
/// then gives RATECELL_EFILE.
///
/// Returns 0; *limiter is then to be ended by ratecell_limiter_free, which leaves the file as it is.
/// Errors: as ratecell_region_attach, RATECELL_EFILE and RATECELL_ENOMEM; ratecell_file_explain says more.
/// NULL: config may be, for the defaults, or for what the file has.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_open(
    path: *const c_char,
    policy: *const c_char,
    config: *const ratecell_config,
    limiter: *mut *mut ratecell_limiter,
) -> i32 {
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        let (builder, path, out) =
            unsafe { (builder(policy, config)?, self::path(path)?, pointer::output(limiter)?) };
        hand_over(builder.open(path)?, out);
        Ok(())
    })
}

/// Make another limiter on the keys and in the memory of one that is there, with another policy: a tier, a
/// location, a new rate. The policy is as for ratecell_region_attach.
///
/// Returns 0; *other is then to be ended by ratecell_limiter_free, before or after limiter.
/// Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, policy, other), RATECELL_EPOLICY_...,
/// RATECELL_EREGION_LAYERS, RATECELL_EREGION_WORDS, RATECELL_EREGION_NO_WORD, RATECELL_EPANIC. *other is then as
/// it was.
/// NULL: none.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_with_policy(
    limiter: *const ratecell_limiter,
    policy: *const c_char,
    other: *mut *mut ratecell_limiter,
) -> i32 {
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        let (limiter, policy, out) =
            unsafe { (pointer::input(limiter)?, super::policy::read(policy)?, pointer::output(other)?) };
        hand_over(limiter.limiter.with_policy(policy)?, out);
        Ok(())
    })
}

/// Writes what is wrong, or an empty text.
///
/// # Safety
/// As the header's preamble has it.
unsafe fn explain(
    policy: *const c_char,
    config: *const ratecell_config,
    find: impl FnOnce(LimiterBuilder) -> Result<(), BuildError>,
    buffer: *mut c_char,
    buffer_len: usize,
) -> Result<usize, ratecell_status> {
    // SAFETY: the caller's word.
    let builder = unsafe { builder(policy, config) }?;
    let found = find(builder);
    // SAFETY: the caller's word.
    unsafe {
        match found {
            Ok(()) => text::write(&"", buffer, buffer_len),
            Err(error) => text::write(&error, buffer, buffer_len),
        }
    }
}

/// Say in a sentence why ratecell_region_attach would not make a limiter in this memory, and write a NUL: what it
/// is, or what differs, and what was expected.
///
/// Returns the length without the NUL: 0, and an empty text, where it would. With buffer_len 0 only the length is
/// returned.
/// Errors: of the arguments, as ratecell_region_attach; RATECELL_EINVAL (buffer), RATECELL_ESIZE (buffer_len),
/// RATECELL_ENOSPC.
/// NULL: config may be; buffer, if buffer_len is 0.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_region_explain(
    memory: *mut c_void,
    len: usize,
    policy: *const c_char,
    config: *const ratecell_config,
    buffer: *mut c_char,
    buffer_len: usize,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    text::code(unsafe {
        self::memory(memory, len).and_then(|memory| {
            explain(policy, config, |builder| builder.would_attach(&memory), buffer, buffer_len)
        })
    })
}

/// Say in a sentence why ratecell_limiter_open would not make a limiter in this file, and write a NUL: what the
/// system refuses, what the file is, or what differs. The file is not changed, and none is made: of a blank one it is
/// said that there must be room for the region.
///
/// Returns the length without the NUL: 0, and an empty text, where nothing is wrong with a region that is
/// there. With buffer_len 0 only the length is returned.
/// Errors: of the arguments, as ratecell_limiter_open; RATECELL_EINVAL (path, buffer), RATECELL_ESIZE
/// (buffer_len), RATECELL_ENOSPC.
/// NULL: config may be; buffer, if buffer_len is 0.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_file_explain(
    path: *const c_char,
    policy: *const c_char,
    config: *const ratecell_config,
    buffer: *mut c_char,
    buffer_len: usize,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    text::code(unsafe {
        self::path(path)
            .and_then(|path| explain(policy, config, |builder| builder.would_open(path), buffer, buffer_len))
    })
}
