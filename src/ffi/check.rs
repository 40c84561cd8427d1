//! Decisions on one key.

use core::ffi::c_void;
use core::mem::MaybeUninit;

use super::decision::status;
use super::{pointer, ratecell_decision, ratecell_limiter, ratecell_request, ratecell_status, reservation};
use crate::limiter::Limiter;
use ratecell_core::{Decision, Request};

/// Decides a request of a limiter, and answers; or answers as `refused` does.
///
/// # Safety
/// As the header's preamble has it.
#[inline(always)]
unsafe fn answer<'r>(
    limiter: *const ratecell_limiter,
    request: impl FnOnce(&Limiter) -> Result<Request<'r>, ratecell_status>,
    decision: *mut ratecell_decision,
    refused: impl FnOnce(ratecell_status) -> i32,
) -> i32 {
    let decide = || {
        // SAFETY: the caller's word.
        let limiter = &unsafe { pointer::input(limiter) }?.limiter;
        // SAFETY: the same.
        let (request, place) = unsafe { (request(limiter)?, pointer::optional_output(decision)?) };
        Ok(write(limiter.decide(request), place))
    };
    decide().unwrap_or_else(refused)
}

#[inline(always)]
pub(super) fn write(decision: Decision, place: Option<&mut MaybeUninit<ratecell_decision>>) -> i32 {
    if let Some(place) = place {
        ratecell_decision::write(place, decision);
    }
    status(decision.outcome()) as i32
}

/// Decide cost units of a key now, all of them or none, and charge them if they are allowed.
///
/// The empty key is valid. A cost of 0 is a peek: it charges nothing and changes no key's state, and the decision's
/// remaining is the answer. A peek does not see whether a full table has room for a new key: under RATECELL_FULL_DENY a
/// key may have units remaining and be denied all the same.
///
/// Under a policy with tz=caller the answer is RATECELL_NEVER, with RATECELL_NO_ZONE in the decision's notes: only
/// a ratecell_request names a zone.
///
/// Returns RATECELL_ALLOWED, RATECELL_DENIED, RATECELL_NEVER or RATECELL_CLOCK_RANGE, and writes *decision. A peek is
/// allowed, unless the clock is out of range or has stepped back to before the key's state.
/// Errors: RATECELL_EINVAL (limiter, key), RATECELL_EALIGN (limiter, decision), RATECELL_ESIZE (key_len).
/// NULL: decision may be; key, if key_len is 0.
/// Threads: any.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_check(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
    cost: u32,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe {
        let request = |_: &Limiter| Ok(Request::new(pointer::key(key, key_len)?).cost(cost));
        answer(limiter, request, decision, |status| status as i32)
    }
}

/// ratecell_limiter_check at now_ns, nanoseconds since any instant, as long as all users of the limiter
/// mean the same.
///
/// Returns, errors, NULL and threads: as ratecell_limiter_check.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_check_at(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
    cost: u32,
    now_ns: u64,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe {
        let request = |_: &Limiter| Ok(Request::new(pointer::key(key, key_len)?).cost(cost).at(now_ns));
        answer(limiter, request, decision, |status| status as i32)
    }
}

/// Decide a request: of a key or a hash, now or at an instant, within a delay, or of units that have been spent
/// already.
///
/// With RATECELL_RESERVE, what was charged is written to the request's reservation: the outcome and the charge are those of
/// the same request without it. If the request is refused, the reservation is all zeros, which is none. If a full table allows
/// the request uncharged, it is a reservation of nothing. A cost of 0 is a peek that can be settled. If the policy
/// has layers in_flight, the reservation is their permit.
///
/// Returns RATECELL_ALLOWED, RATECELL_DENIED, RATECELL_NEVER or RATECELL_CLOCK_RANGE, and writes *decision.
/// Errors: RATECELL_EINVAL (limiter, request, its key, flags, zone or reservation), RATECELL_EALIGN (limiter,
/// request, decision, reservation), RATECELL_ESIZE (the key's length), RATECELL_ERESERVE (the limiter, with
/// RATECELL_RESERVE). Then nothing was charged.
/// NULL: decision may be.
/// Threads: any.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_decide(
    limiter: *const ratecell_limiter,
    request: *const ratecell_request,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe {
        answer(
            limiter,
            |limiter: &Limiter| pointer::input(request)?.read(limiter),
            decision,
            |status| reservation::reserve_or(status, limiter, request, decision),
        )
    }
}

/// Make a key as if it had never been seen.
///
/// What it was charged on a state shared under RATECELL_FULL_SHARE stays.
///
/// Returns 0, or 1 if there was nothing to forget.
/// Errors: RATECELL_EINVAL (limiter, key), RATECELL_EALIGN (limiter), RATECELL_ESIZE (key_len).
/// NULL: key may be, if key_len is 0.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_forget(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    let given =
        unsafe { pointer::input(limiter).and_then(|limiter| Ok((limiter, pointer::key(key, key_len)?))) };
    match given {
        Ok((limiter, key)) => i32::from(!limiter.limiter.forget(key)),
        Err(status) => status as i32,
    }
}
