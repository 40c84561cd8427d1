//! Another policy over live keys.

use core::ffi::c_char;

use super::flags::instant;
use super::why::{explained, guarded};
use super::{pointer, policy, ratecell_limiter};

/// Limit by another policy from now on, here and in every other limiter of the same keys, in all processes, while others decide.
///
/// What each key has used stays used, in units: a raised limit lets those go on who were exhausted, a lowered one forgives
/// nothing, and changing forth and back gives nobody a unit more. Rate, burst, capacity, limit and, of a calendar, the zone
/// may change; the number of layers, their algorithms and the lengths of windows may not. gcra, leaky_meter, leaky_queue and a
/// continuous token_bucket may follow each other. A policy that decides as the one in force does changes nothing.
///
/// A limiter that attached with another policy, or was made by ratecell_limiter_with_policy, keeps its own burst, capacity or
/// limit where that was another than the region's, and takes the rate of the new policy.
///
/// The policy of a limiter that shares its units with other machines changes for all of them, if its agent runs in this process:
/// the call waits for the store, at most 5 s for each answer. Otherwise, and where another machine's change came before, or
/// the store refuses or does not answer, it is RATECELL_ESTORE; why says whether the change may still come.
///
/// flags is 0, or RATECELL_AT: then the change is at now_ns, for callers that give every request its time. Every third change
/// reads and writes the whole table. Processes that share a file change its policy one after the other; of processes that
/// share memory without a file, one may call this.
///
/// Returns 0, and writes an empty text to why.
/// Errors: RATECELL_ECHANGE (the policy cannot follow the one in force), RATECELL_EPOLICY_..., RATECELL_ESTORE (of
/// many machines, as above), RATECELL_EFILE, RATECELL_EREGION_DAMAGED, RATECELL_EINVAL (limiter, policy, flags,
/// why), RATECELL_EALIGN, RATECELL_ESIZE, RATECELL_EPANIC. Then nothing has changed, but for what why says of RATECELL_ESTORE.
/// NULL: why may be, if why_len is 0.
/// Threads: any; one change comes after the other. Not from a signal handler. A process that is forked off meanwhile must make
/// limiters of its own.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_change(
    limiter: *const ratecell_limiter,
    policy: *const c_char,
    flags: u32,
    now_ns: u64,
    why: *mut c_char,
    why_len: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        unsafe {
            let change = || {
                let (limiter, now_ns) = (&pointer::input(limiter)?.limiter, instant(flags, now_ns)?);
                Ok(limiter.change_by(&policy::read(policy)?, now_ns)?)
            };
            explained(why, why_len, change, |()| None)
        }
    })
}
