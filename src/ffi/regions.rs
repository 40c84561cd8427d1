//! Limiters in memory and files that processes share.

use core::ffi::{CStr, c_char, c_void};
use std::path::Path;

use super::flags::{
    RATECELL_CHANGE, RATECELL_FOLLOW, RATECELL_NAMES, RATECELL_RESERVATIONS, RATECELL_ZEROED,
};
use super::limiter::make;
use super::policy;
use super::why::{Refusal, explained, guarded};
use super::{pointer, ratecell_config, ratecell_limiter, ratecell_status};
use crate::limiter::{Limiter, LimiterBuilder};
use crate::memory::Memory;

/// The flags of a config of which a region is made.
const FLAGS: u32 = RATECELL_ZEROED | RATECELL_RESERVATIONS | RATECELL_NAMES;

/// Those that say what is done where a region has another policy.
const DIFFERING: u32 = RATECELL_FOLLOW | RATECELL_CHANGE;

/// # Safety
/// As the header's preamble has it.
unsafe fn builder(policy: *const c_char, config: &ratecell_config) -> Result<LimiterBuilder, Refusal> {
    let differing = [RATECELL_FOLLOW, RATECELL_CHANGE].map(|flag| config.flags & u64::from(flag) != 0);
    if differing == [true, true] {
        let why = "RATECELL_FOLLOW, RATECELL_CHANGE: expected one of them, or neither";
        return Err(Refusal::config(why.to_owned()));
    }
    if policy.is_null() {
        return match differing {
            [_, false] => config.apply(Limiter::following()),
            _ => Err(Refusal::config("RATECELL_CHANGE: expected a policy beside it".to_owned())),
        };
    }
    // SAFETY: the caller's word.
    let builder = config.apply(Limiter::builder(unsafe { policy::read(policy) }?))?;
    Ok(match differing {
        [true, _] => builder.follow(),
        [_, true] => builder.change(),
        _ => builder,
    })
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
pub(super) unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path, ratecell_status> {
    // SAFETY: the caller's word.
    let path = unsafe { pointer::text(path) }?;
    #[cfg(unix)]
    let path = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(CStr::to_bytes(path));
    // Elsewhere a path is Unicode.
    #[cfg(not(unix))]
    let path = CStr::to_str(path).map_err(|_| ratecell_status::RATECELL_EINVAL)?;
    Ok(Path::new(path))
}

/// Return how many bytes of memory a region of a policy takes for the config's max_keys.
///
/// Returns the bytes, or 0 where ratecell_region_init would not make one: for a bad policy or config, a
/// sliding_log, or more keys than memory holds. The config's why says which.
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
    let mut bytes = 0;
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        let config = unsafe { ratecell_config::read(config) }?;
        // SAFETY: as the header's preamble has it.
        bytes = unsafe {
            let construct = || Ok(builder(policy, &config.with_flags(FLAGS)?)?.region_bytes()?);
            explained(config.why, config.why_len, construct, |_| None)
        }?;
        Ok(())
    });
    bytes
}

/// Make a region of memory, and the first limiter in it.
///
/// The memory starts at a multiple of 64 bytes. All of its len bytes must stay until every limiter in it is freed, in
/// this process. Its content is lost: nobody may be using it. With max_keys 0 there is room for as many keys as it
/// holds: five sevenths of the slots that ratecell_limiter_stats reports.
///
/// RATECELL_ZEROED in the config says that the memory is all zeros, as fresh pages are. Then only what stands before the
/// tables is written, and the system provides the pages as keys come. If it is not all zeros, keys may be found in it that were
/// never checked.
///
/// RATECELL_RESERVATIONS makes room for what is given back to the keys, as RATECELL_RESERVE needs under a rate or an interval
/// bucket. RATECELL_NAMES makes room for the names of denied keys: then all limiters of the region name them.
///
/// Returns 0; free *limiter with ratecell_limiter_free, which does not touch the memory.
/// Errors: RATECELL_EINVAL (memory, policy, limiter), RATECELL_EALIGN (memory, config, limiter), RATECELL_ESIZE
/// (len, config's size), RATECELL_E2BIG, RATECELL_ECONFIG, RATECELL_EPOLICY_..., RATECELL_EREGION_SMALL,
/// RATECELL_EREGION_NO_WORD, RATECELL_ENORANDOM, RATECELL_EPROCESSOR, RATECELL_EPANIC. *limiter is then as it was, and
/// the config's why says more.
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
    unsafe {
        make(config, FLAGS, limiter, |config| {
            let (builder, memory) = (builder(policy, config)?, self::memory(memory, len)?);
            Ok(if config.zeroed() { builder.init_zeroed(&memory)? } else { builder.init(&memory)? })
        })
    }
}

/// Make a limiter in an existing region, made by any process, at any address.
///
/// The memory is as for ratecell_region_init. The policy has the algorithm and the windows that the region was
/// made with; its burst, capacity and limit of a window may be others, and are this limiter's alone. Another rate than the one
/// in force is RATECELL_EREGION_POLICY, and why has both policies. With RATECELL_FOLLOW in the config the region's policy
/// holds where it is another; with RATECELL_CHANGE it is changed for all limiters of the region, as by
/// ratecell_limiter_change. ratecell_limiter_with_policy makes a limiter with a rate of its own. Without a policy the
/// limiter follows the one in force.
///
/// Returns 0; free *limiter with ratecell_limiter_free, which does not touch the memory.
/// Errors: as ratecell_region_init, RATECELL_EREGION_..., and with RATECELL_CHANGE those of ratecell_limiter_change.
/// NULL: policy may be, for the region's; config, for what the region has.
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
    unsafe {
        make(config, DIFFERING, limiter, |config| {
            Ok(builder(policy, config)?.attach(&self::memory(memory, len)?)?)
        })
    }
}

/// Make a limiter in the region in a file. If the file is absent, empty or all zeros, a region for the config's
/// max_keys is made in it. Without a policy no region is made: the limiter follows the policy of the one that is there.
/// Where that has another policy, it is as with ratecell_region_attach, and so are RATECELL_FOLLOW and RATECELL_CHANGE.
///
/// A new file has room for what is given back, as with RATECELL_RESERVATIONS, and names denied keys if the config has
/// RATECELL_NAMES; an existing one that was made without is then RATECELL_ECONFIG. It can be read and written by its owner alone; one that is there keeps its owner and mode. It outlives
/// the processes and a restart of the machine. Nobody may shorten it while it is used. Where the file is blank or of
/// another run of the machine it is locked while it is made; this waits up to 10 s for another process that makes it,
/// then gives RATECELL_EFILE.
///
/// Returns 0; free *limiter with ratecell_limiter_free, which leaves the file as it is.
/// Errors: as ratecell_region_attach, RATECELL_EFILE and RATECELL_ENOMEM; the config's why says more.
/// NULL: policy may be, for the file's; config, for the defaults, or for what the file has.
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
    // SAFETY: as the header's preamble has it.
    unsafe {
        make(config, RATECELL_NAMES | DIFFERING, limiter, |config| {
            Ok(builder(policy, config)?.open(self::path(path)?)?)
        })
    }
}

/// Make another limiter on the keys and in the memory of an existing one, with another policy: a tier, a
/// location, a new rate. The policy has the algorithm and the windows of the existing one's; its rate, burst, capacity and
/// limit may be others, and are this limiter's alone until ratecell_limiter_change, which takes its rate away.
///
/// Returns 0; free *other with ratecell_limiter_free, before or after limiter.
/// Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, policy, config, other), RATECELL_ESIZE and RATECELL_E2BIG
/// (config's size), RATECELL_ECONFIG (a field but size, why and why_len: expected 0), RATECELL_EPOLICY_...,
/// RATECELL_EREGION_LAYERS, RATECELL_EREGION_WORDS, RATECELL_EREGION_NO_WORD, RATECELL_EPANIC. *other is then as
/// it was, and the config's why says more.
/// NULL: config may be.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_with_policy(
    limiter: *const ratecell_limiter,
    policy: *const c_char,
    config: *const ratecell_config,
    other: *mut *mut ratecell_limiter,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe {
        make(config, 0, other, |config| {
            config.expect_defaults("a limiter on the keys of another one")?;
            Ok(pointer::input(limiter)?.limiter.with_policy(policy::read(policy)?)?)
        })
    }
}
