//! What is asked of a limiter, as C gives it: frozen.

use core::ffi::c_void;

use super::flags::{RATECELL_AT, RATECELL_CHARGE, RATECELL_HASHED, RATECELL_NEXT, RATECELL_WITHIN};
use super::ratecell_status::RATECELL_EINVAL;
use super::{pointer, ratecell_limiter, ratecell_status};
use ratecell_core::Request;

/// The zone of a policy whose windows are the caller's days; no function of this version makes one.
#[derive(Debug)]
pub struct ratecell_zone {
    _private: (),
}

/// A reservation; no function of this version makes one.
#[derive(Debug)]
pub struct ratecell_reservation {
    _private: (),
}

/// What is asked of a limiter: 64 bytes on 64-bit machines, the same in every version. All zeros but key, key_len
/// and cost are a plain check by the limiter's clock.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_request {
    /// The key's bytes; may be NULL if key_len is 0, or with RATECELL_HASHED. The empty key is valid.
    pub key: *const c_void,
    /// How many.
    pub key_len: usize,
    /// With RATECELL_HASHED, instead of the key. Distinct hashes can be one key: a key is identified by its bucket,
    /// of which there are max_keys / 6, and by 40 bits. Among n = max_keys keys two agree in both with a probability of
    /// about 3n / 2^40. A key by its hash is not the key by its bytes. Where others choose the keys, the hash must be
    /// one they cannot predict.
    pub hash: u64,
    /// With RATECELL_AT: nanoseconds since any instant, as long as all users of the limiter mean the same.
    pub now_ns: u64,
    /// With RATECELL_WITHIN: the longest delay with which the request is allowed. Otherwise it is denied, and not charged:
    /// retry_after_ns is the time until this same request is allowed, and delay_ns the delay that it would be given at the
    /// first instant at which the policy alone admits it, so the policy's own wait is
    /// retry_after_ns - max(0, delay_ns - max_delay_ns). Where its own units alone are delayed for longer, as those of a
    /// cost above the burst of a leaky_queue are, it can never go: RATECELL_NEVER, with a delay_ns above 0.
    pub max_delay_ns: u64,
    /// Units: all of them or none. 0 is a peek: it charges nothing, and the decision's remaining is the answer.
    ///
    /// With RATECELL_CHARGE, units that have been spent already, whether or not they would be allowed: as many as there is
    /// room for are charged, so that the key is at most full; of several layers, each is filled by itself. The decision is
    /// what a peek sees afterwards. A new key for which a full table has no room is not charged under
    /// RATECELL_FULL_DENY and RATECELL_FULL_ALLOW; under RATECELL_FULL_DENY the decision says so, and no peek does.
    pub cost: u32,
    /// RATECELL_HASHED, RATECELL_AT, RATECELL_WITHIN, RATECELL_CHARGE, RATECELL_NEXT. Any other bit, and RATECELL_CHARGE
    /// with RATECELL_WITHIN, is RATECELL_EINVAL.
    pub flags: u32,
    /// NULL.
    pub zone: *const ratecell_zone,
    /// NULL.
    pub reservation: *mut ratecell_reservation,
}

/// One of several requests that are to be allowed together or not at all.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_claim {
    /// The limiter that decides it.
    pub limiter: *const ratecell_limiter,
    /// What it is asked.
    pub request: ratecell_request,
}

const KNOWN: u32 = RATECELL_HASHED | RATECELL_AT | RATECELL_WITHIN | RATECELL_CHARGE | RATECELL_NEXT;
const CHARGE_WITHIN: u32 = RATECELL_CHARGE | RATECELL_WITHIN;

impl ratecell_request {
    /// The request, if it is one.
    ///
    /// # Safety
    /// Unless the hash is given, if the key is not NULL, it points to as many bytes as it has, which nobody changes
    /// during the call.
    #[inline(always)]
    pub(super) unsafe fn read(&self) -> Result<Request<'_>, ratecell_status> {
        let meaningless = self.flags & !KNOWN != 0 || self.flags & CHARGE_WITHIN == CHARGE_WITHIN;
        if meaningless || !self.zone.is_null() || !self.reservation.is_null() {
            return Err(RATECELL_EINVAL);
        }
        let has = |flag| self.flags & flag != 0;
        // Only the key is written where only the key is asked for.
        let mut request = if has(RATECELL_HASHED) {
            Request::hashed(self.hash)
        } else {
            // SAFETY: the caller's word.
            Request::new(unsafe { pointer::key(self.key, self.key_len) }?)
        };
        request = request.cost(self.cost);
        if has(RATECELL_AT) {
            request = request.at(self.now_ns);
        }
        if has(RATECELL_WITHIN) {
            request = request.within_ns(self.max_delay_ns);
        }
        if has(RATECELL_CHARGE) {
            request = request.charge();
        }
        if has(RATECELL_NEXT) {
            request = request.with_next();
        }
        Ok(request)
    }
}
