//! Decisions on one key.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::time::Duration;

use super::decision::status;
use super::{pointer, ratecell_decision, ratecell_limiter};
use crate::limiter::Limiter;
use ratecell_core::Decision;

type Place<'a> = Option<&'a mut MaybeUninit<ratecell_decision>>;

/// Checks what every call here is given, has `decide` decide, and answers.
///
/// # Safety
/// As the header's preamble has it.
#[inline(always)]
unsafe fn answer(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
    decision: *mut ratecell_decision,
    decide: impl FnOnce(&Limiter, &[u8]) -> Decision,
) -> i32 {
    // SAFETY: the caller's word.
    let given = unsafe {
        pointer::input(limiter).and_then(|limiter| {
            Ok((limiter, pointer::key(key, key_len)?, pointer::optional_output(decision)?))
        })
    };
    match given {
        Ok((limiter, key, place)) => tell(decide(&limiter.limiter, key), place),
        Err(status) => status as i32,
    }
}

/// [`answer`] for a key that is a hash.
///
/// # Safety
/// As the header's preamble has it.
#[inline(always)]
unsafe fn answer_hash(
    limiter: *const ratecell_limiter,
    decision: *mut ratecell_decision,
    decide: impl FnOnce(&Limiter) -> Decision,
) -> i32 {
    // SAFETY: a key of no bytes, and the caller's word.
    unsafe { answer(limiter, core::ptr::null(), 0, decision, |limiter, _| decide(limiter)) }
}

#[inline(always)]
fn tell(decision: Decision, place: Place<'_>) -> i32 {
    if let Some(place) = place {
        ratecell_decision::write(place, decision);
    }
    status(decision.outcome()) as i32
}

/// Decide cost units of a key now, all of them or none, and charge them if they are allowed.
///
/// No bytes are a key like any other. A cost of 0 is a ratecell_limiter_peek.
///
/// Returns RATECELL_ALLOWED, RATECELL_DENIED, RATECELL_NEVER or RATECELL_CLOCK_RANGE, and writes *decision.
/// Errors: RATECELL_EINVAL (limiter, key), RATECELL_EALIGN (limiter, decision), RATECELL_ESIZE (key_len).
/// NULL: decision may be; key, if key_len is 0.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_check(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
    cost: u32,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe { answer(limiter, key, key_len, decision, |limiter, key| limiter.check_n(key, cost)) }
}

/// ratecell_limiter_check at now_ns, nanoseconds since any instant, as long as all who share the limiter
/// mean the same.
///
/// Returns, errors, NULL and threads: as ratecell_limiter_check.
/// Since: 0.1
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
    unsafe { answer(limiter, key, key_len, decision, |limiter, key| limiter.check_at(key, cost, now_ns)) }
}

/// ratecell_limiter_check, but what would be allowed with a delay_ns of more than max_delay_ns is denied, and
/// charges nothing: its retry_after_ns is when the delay is no longer. Where its own units alone are delayed for
/// longer, as those of a cost above the burst of a leaky_queue are, it can never go: RATECELL_NEVER.
///
/// For callers who can hold a request only so long. With 0 a leaky_queue is asked as often as needed, and nobody
/// has a place in it who may yet give up.
///
/// Returns, errors, NULL and threads: as ratecell_limiter_check.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_check_within(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
    cost: u32,
    max_delay_ns: u64,
    decision: *mut ratecell_decision,
) -> i32 {
    let max_delay = Duration::from_nanos(max_delay_ns);
    // SAFETY: as the header's preamble has it.
    unsafe {
        answer(limiter, key, key_len, decision, |limiter, key| limiter.check_within(key, cost, max_delay))
    }
}

/// ratecell_limiter_check_within at now_ns.
///
/// Returns, errors, NULL and threads: as ratecell_limiter_check.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_check_within_at(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
    cost: u32,
    max_delay_ns: u64,
    now_ns: u64,
    decision: *mut ratecell_decision,
) -> i32 {
    let max_delay = Duration::from_nanos(max_delay_ns);
    // SAFETY: as the header's preamble has it.
    unsafe {
        answer(limiter, key, key_len, decision, |limiter, key| {
            limiter.check_within_at(key, cost, max_delay, now_ns)
        })
    }
}

/// Decide cost units now of the key with this hash, which the caller computed.
///
/// Distinct hashes can be one key: a key is identified by its bucket, of which there are max_keys / 6, and by 40
/// bits. Among n = max_keys keys two agree in both with a probability of about 3n / 2^40. A key by its hash is not
/// the key by its bytes. Where others choose the keys, the hash must be one they cannot predict.
///
/// Returns, errors, NULL and threads: as ratecell_limiter_check.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_check_hash(
    limiter: *const ratecell_limiter,
    hash: u64,
    cost: u32,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe { answer_hash(limiter, decision, |limiter| limiter.check_hash(hash, cost)) }
}

/// ratecell_limiter_check_hash at now_ns.
///
/// Returns, errors, NULL and threads: as ratecell_limiter_check.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_check_hash_at(
    limiter: *const ratecell_limiter,
    hash: u64,
    cost: u32,
    now_ns: u64,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe { answer_hash(limiter, decision, |limiter| limiter.check_hash_at(hash, cost, now_ns)) }
}

/// Say what a check of a key would see now, and write nothing to the table: a check of cost 0.
///
/// It does not see whether a full table has room for a new key: under RATECELL_FULL_DENY a key may have units
/// remaining and be denied all the same.
///
/// Returns RATECELL_ALLOWED, RATECELL_CLOCK_RANGE, or RATECELL_DENIED where the clock has stepped back to
/// before the key's state; and writes *decision, whose remaining is the answer.
/// Errors, NULL and threads: as ratecell_limiter_check.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_peek(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe { answer(limiter, key, key_len, decision, |limiter, key| limiter.peek(key)) }
}

/// ratecell_limiter_peek at now_ns.
///
/// Returns, errors, NULL and threads: as ratecell_limiter_peek.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_peek_at(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
    now_ns: u64,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe { answer(limiter, key, key_len, decision, |limiter, key| limiter.peek_at(key, now_ns)) }
}

/// Charge cost units of a key now that have been spent already, whether or not they would be allowed: as many
/// as there is room for, so that the key is at most full. Of several layers, each is filled by itself.
///
/// For what is known only when it is over, such as a response's status, and for refusals that are to count.
///
/// A new key for which a full table has no room is not charged under RATECELL_FULL_DENY and RATECELL_FULL_ALLOW.
/// Under RATECELL_FULL_DENY the decision says so, and no peek does; a charge of 0 is a peek.
///
/// Returns what ratecell_limiter_peek would afterwards, or RATECELL_DENIED for want of room; and writes *decision
/// likewise.
/// Errors, NULL and threads: as ratecell_limiter_check.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_charge(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
    cost: u32,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe { answer(limiter, key, key_len, decision, |limiter, key| limiter.charge(key, cost)) }
}

/// ratecell_limiter_charge at now_ns.
///
/// Returns, errors, NULL and threads: as ratecell_limiter_charge.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_charge_at(
    limiter: *const ratecell_limiter,
    key: *const c_void,
    key_len: usize,
    cost: u32,
    now_ns: u64,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe { answer(limiter, key, key_len, decision, |limiter, key| limiter.charge_at(key, cost, now_ns)) }
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
