//! What is asked of a limiter, as C gives it: frozen.

use core::ffi::c_void;

use super::flags::{
    RATECELL_AT, RATECELL_CHARGE, RATECELL_HASHED, RATECELL_NEXT, RATECELL_RESERVE, RATECELL_TRY,
    RATECELL_WITHIN,
};
use super::ratecell_status::RATECELL_EINVAL;
use super::{pointer, ratecell_limiter, ratecell_reservation, ratecell_status, ratecell_zone};
use crate::limiter::Limiter;
use ratecell_core::Request;

/// A request: 64 bytes on 64-bit machines, the same in every version. With only key, key_len and cost set, and all
/// else 0, it is a plain check by the limiter's clock.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_request {
    /// The key's bytes; may be NULL if key_len is 0, or with RATECELL_HASHED. The empty key is valid.
    pub key: *const c_void,
    /// The bytes at key.
    pub key_len: usize,
    /// With RATECELL_HASHED, instead of the key. Distinct hashes can be one key: a key is identified by its bucket,
    /// of which there are max_keys / 5, and by 40 bits. Among n = max_keys keys two agree in both with a probability of
    /// about 2.5 n / 2^40. A key by its hash is not the key by its bytes. Where others choose the keys, the hash must be
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
    /// Units, all or none. 0 is a peek: it charges nothing, and the decision's remaining is the answer.
    ///
    /// With RATECELL_CHARGE, units that have been spent already, whether or not they would be allowed: as many as there is
    /// room for are charged, so that the key is at most full; each of several layers is filled on its own. The decision is
    /// that of a peek afterwards. A new key for which a full table has no room is not charged under
    /// RATECELL_FULL_DENY and RATECELL_FULL_ALLOW; under RATECELL_FULL_DENY the decision says so, and no peek does.
    pub cost: u32,
    /// RATECELL_HASHED, RATECELL_AT, RATECELL_WITHIN, RATECELL_CHARGE, RATECELL_NEXT, RATECELL_TRY, RATECELL_RESERVE. Any
    /// other bit is RATECELL_EINVAL, and so is RATECELL_CHARGE with RATECELL_WITHIN or RATECELL_RESERVE, and RATECELL_RESERVE
    /// in a batch and in a claim.
    pub flags: u32,
    /// For a limiter whose policy has tz=caller: the zone whose windows decide, made by ratecell_zone_new for that limiter, or
    /// for one of the same calendar. Without one the answer is RATECELL_NEVER, with RATECELL_NO_ZONE in the decision's notes.
    /// For every other limiter it must be NULL.
    pub zone: *const ratecell_zone,
    /// With RATECELL_RESERVE, where the reservation is written; for ratecell_limiter_settle, _release and _renew, where it
    /// stands. Otherwise it must be NULL.
    pub reservation: *mut ratecell_reservation,
}

/// One of several requests that are allowed together or not at all.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_claim {
    /// The limiter that decides it.
    pub limiter: *const ratecell_limiter,
    /// Its request.
    pub request: ratecell_request,
}

const KNOWN: u32 =
    RATECELL_HASHED | RATECELL_AT | RATECELL_WITHIN | RATECELL_CHARGE | RATECELL_NEXT | RATECELL_TRY;
// The core has the same numbers; a test asks each of them what it means.
const _: () = assert!(KNOWN == Request::FLAGS);
const CHARGE_WITHIN: u32 = RATECELL_CHARGE | RATECELL_WITHIN;

impl ratecell_request {
    /// The request, if it is one of `limiter`.
    ///
    /// # Safety
    /// If `limiter` takes zones and the request's is neither NULL nor misaligned, it points to one. Unless the hash is given, if the key is not NULL, it points to as many bytes as it has, which nobody changes
    /// during the call.
    #[inline(always)]
    pub(super) unsafe fn read(&self, limiter: &Limiter) -> Result<Request<'_>, ratecell_status> {
        let meaningless = self.flags & !KNOWN != 0 || self.flags & CHARGE_WITHIN == CHARGE_WITHIN;
        if meaningless || !self.reservation.is_null() {
            return Err(RATECELL_EINVAL);
        }
        let zone = if self.zone.is_null() {
            None
        } else {
            // SAFETY: the caller's word.
            Some(unsafe { ratecell_zone::read(self.zone, limiter) }?)
        };
        let key = if self.flags & RATECELL_HASHED != 0 {
            &[]
        } else {
            // SAFETY: the caller's word.
            unsafe { pointer::key(self.key, self.key_len) }?
        };
        let Self { hash, now_ns, max_delay_ns, cost, flags, .. } = *self;
        let request = Request::from_parts(key, hash, now_ns, max_delay_ns, cost, flags);
        Ok(match zone {
            None => request,
            Some(zone) => request.zone(zone),
        })
    }

    /// Whether it has RATECELL_RESERVE.
    #[inline(always)]
    pub(super) fn reserves(&self) -> bool {
        self.flags & RATECELL_RESERVE != 0
    }

    /// The request without RATECELL_RESERVE, and where its reservation is; an error where it means nothing.
    pub(super) fn reserved(&self) -> Result<(Self, *mut ratecell_reservation), ratecell_status> {
        // Of units that have been spent nothing comes back.
        if self.flags & RATECELL_CHARGE != 0 {
            return Err(RATECELL_EINVAL);
        }
        let plain =
            Self { flags: self.flags & !RATECELL_RESERVE, reservation: core::ptr::null_mut(), ..*self };
        Ok((plain, self.reservation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_is_the_core_s() {
        let policy: ratecell_core::Policy = "3/s".parse().expect("a policy");
        let limiter = Limiter::builder(policy).max_keys(1).build().expect("a limiter");
        let of = |flags| {
            // Static, so that what is read of it may leave here.
            let request: &'static ratecell_request = Box::leak(Box::new(ratecell_request {
                key: "key".as_ptr().cast(),
                key_len: 3,
                hash: 7,
                now_ns: 11,
                max_delay_ns: 13,
                cost: 17,
                flags,
                zone: core::ptr::null(),
                reservation: core::ptr::null_mut(),
            }));
            // SAFETY: a key of three bytes, which are static.
            unsafe { request.read(&limiter) }.expect("a request of one flag")
        };
        let plain = of(0);
        assert_eq!(plain.key(), ratecell_core::Key::Bytes(b"key"));
        assert_eq!((plain.now_ns(), plain.max_delay_ns(), plain.units()), (None, None, 17));
        assert!(plain.is_plain() && !plain.is_charge() && !plain.wants_next());
        assert_eq!(of(RATECELL_HASHED).key(), ratecell_core::Key::Hash(7));
        assert_eq!(of(RATECELL_AT).now_ns(), Some(11));
        assert_eq!(of(RATECELL_WITHIN).max_delay_ns(), Some(13));
        assert!(of(RATECELL_CHARGE).is_charge());
        assert!(of(RATECELL_NEXT).wants_next());
    }
}
