//! Reservations: what was charged, and what is done with it.

use core::mem::MaybeUninit;

use super::check::write;
use super::{pointer, ratecell_decision, ratecell_limiter, ratecell_request, ratecell_status};
use crate::limiter::{Limiter, Reservation};
use ratecell_core::{Decision, Request};

/// What a request with RATECELL_RESERVE has charged: 344 bytes of plain data, the same in every version. All zeros are no
/// reservation.
///
/// Its first 24 + 40 * n bytes are all of it, for the n layers of the limiter's policy. They may be kept and copied, also to
/// another process that shares the table, and there to the beginning of a ratecell_reservation that is all zeros, as the
/// bytes behind them are. They are in the byte order of the machine.
///
/// Settle each reservation once, and release it once: a second time may give back units of other requests of the key.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_reservation {
    /// The library's own.
    pub data: [u64; 43],
}

const _: () = assert!(size_of::<ratecell_reservation>() == Reservation::MAX_BYTES);

impl ratecell_reservation {
    /// As C has it; all zeros of none. Into its place: of a copy the machine code may keep memcpy's address in a register, and
    /// a call through one cannot be followed there.
    #[inline(never)]
    pub(super) fn write(place: &mut MaybeUninit<Self>, reservation: Option<&Reservation>) {
        let written = place.write(Self { data: [0; 43] });
        if let Some(reservation) = reservation {
            let mut places = written.data.iter_mut();
            reservation.write(|word| {
                if let Some(place) = places.next() {
                    *place = word;
                }
            });
        }
    }

    pub(super) fn read(&self) -> Result<Reservation, ratecell_status> {
        Reservation::from_words(&self.data).map_err(|_| ratecell_status::RATECELL_EINVAL)
    }
}

/// Decides a request with RATECELL_RESERVE or a zone, which is refused as a plain one; answers `status`, its refusal, of any
/// other.
///
/// # Safety
/// As the header's preamble has it.
// They are looked for here, so that no other request pays for them.
#[cold]
#[inline(never)]
pub(super) unsafe fn decide_apart_or(
    status: ratecell_status,
    limiter: *const ratecell_limiter,
    request: *const ratecell_request,
    decision: *mut ratecell_decision,
) -> i32 {
    let decide = || {
        // SAFETY: the caller's word.
        let (limiter, request) = unsafe { (&pointer::input(limiter)?.limiter, pointer::input(request)?) };
        if !request.reserves() {
            if request.zone.is_null() {
                return Err(status);
            }
            // SAFETY: the same.
            let (request, place) =
                unsafe { (request.read_in(limiter)?, pointer::optional_output(decision)?) };
            return Ok(write(limiter.decide(request), place));
        }
        let (request, reservation) = request.reserved()?;
        // SAFETY: the same.
        let (request, reservation, place) = unsafe {
            (request.read_in(limiter)?, pointer::output(reservation)?, pointer::optional_output(decision)?)
        };
        match &limiter.reserve(request) {
            Ok((decision, reserved)) => {
                ratecell_reservation::write(reservation, reserved.as_ref());
                Ok(write(*decision, place))
            }
            Err(error) => Err(error.into()),
        }
    };
    decide().unwrap_or_else(|status: ratecell_status| status as i32)
}

/// Does something with the reservation that a request has, and answers. A reservation that `act` returns is written back.
///
/// # Safety
/// As the header's preamble has it.
unsafe fn with_reservation(
    limiter: *const ratecell_limiter,
    request: *const ratecell_request,
    decision: *mut ratecell_decision,
    act: impl FnOnce(&Limiter, Reservation, &Request<'_>) -> (Decision, Option<Reservation>),
) -> i32 {
    let act = || {
        // SAFETY: the caller's word.
        let (limiter, (request, place)) =
            unsafe { (&pointer::input(limiter)?.limiter, pointer::input(request)?.reserved()?) };
        // The key is that of the reservation.
        let request = ratecell_request { key_len: 0, ..request };
        // SAFETY: a request without a key; the same.
        let (request, reservation, decision) = unsafe {
            (request.read_in(limiter)?, pointer::input(place)?.read()?, pointer::optional_output(decision)?)
        };
        limiter.can_reserve().map_err(|error| ratecell_status::from(&error))?;
        let (decided, moved) = act(limiter, reservation, &request);
        if moved.is_some() {
            // SAFETY: the caller's word; it was read above, so it is neither NULL nor misaligned.
            ratecell_reservation::write(unsafe { pointer::output(place)? }, moved.as_ref());
        }
        Ok(write(decided, decision))
    };
    act().unwrap_or_else(|status: ratecell_status| status as i32)
}

/// Settle the request's reservation: its cost is how many units were used, so the others that were reserved are given back,
/// and a cost of 0 is a cancellation. If more were used than were reserved, the difference is charged as with
/// RATECELL_CHARGE. Layers in_flight stay as they are.
///
/// Each layer gives back as much as it can without forgiving what others were charged. Windows and logs give back all, as long
/// as their units still count. A rate or a bucket gives back what has not drained yet. A leaky_queue gives back the last
/// place alone. Nothing comes back if the key was forgotten or evicted meanwhile, or if the reservation is of another table.
///
/// A reservation has no zone. Under a policy with tz=caller units come back as ever. But the answer is RATECELL_NEVER with
/// RATECELL_NO_ZONE, and units beyond those reserved are not charged: charge them by a request with RATECELL_CHARGE and
/// its zone.
///
/// The request may be the one that reserved, with another cost. Besides cost and reservation, now_ns is read with
/// RATECELL_AT; the key, its hash and the other flags are not. Settle each reservation once.
///
/// Returns what a peek afterwards returns, and writes its decision to *decision: RATECELL_ALLOWED, or RATECELL_DENIED if the
/// clock has stepped back to before the key's state. After RATECELL_CLOCK_RANGE nothing was given back.
/// Errors: RATECELL_EINVAL (limiter, request, its flags, zone or reservation), RATECELL_EALIGN (limiter, request,
/// reservation, decision), RATECELL_ERESERVE (limiter). Then nothing was charged, and nothing given back.
/// NULL: decision may be.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_settle(
    limiter: *const ratecell_limiter,
    request: *const ratecell_request,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe {
        with_reservation(limiter, request, decision, |limiter, reservation, request| {
            let decision = match request.now_ns() {
                Some(now) => limiter.settle_at(reservation, request.units(), now),
                None => limiter.settle(reservation, request.units()),
            };
            (decision, None)
        })
    }
}

/// Give back the permit of the layers in_flight that the request's reservation is; all other layers stay as they are.
/// Nothing comes back of a permit that has passed by itself, whose key was forgotten or evicted meanwhile, or that is of
/// another table.
///
/// The request may be the one that reserved. Besides the reservation, now_ns is read with RATECELL_AT; the key, its hash, the
/// cost and the other flags are not. Release each permit once.
///
/// Returns and writes what ratecell_limiter_settle does. The decision's given_back is how many units came back: of several
/// such layers the least.
/// Errors: as ratecell_limiter_settle.
/// NULL: decision may be.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_release(
    limiter: *const ratecell_limiter,
    request: *const ratecell_request,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe {
        with_reservation(limiter, request, decision, |limiter, reservation, request| {
            let decision = match request.now_ns() {
                Some(now) => limiter.release_at(reservation, now),
                None => limiter.release(reservation),
            };
            (decision, None)
        })
    }
}

/// Renew the permit of the layers in_flight that the request's reservation is, so that it lives on for at least another hold,
/// and write it back to the reservation. What was forgotten or has passed is acquired again. All such layers are renewed, or
/// none; a permit that is renewed at least once each hold is never refused.
///
/// The request is read as by ratecell_limiter_release. Nobody else may use the reservation during the call.
///
/// Returns RATECELL_ALLOWED, and writes the decision of a peek afterwards to *decision; or RATECELL_DENIED, RATECELL_NEVER or
/// RATECELL_CLOCK_RANGE, and writes the refusal: then the permit is what it was.
/// Errors: as ratecell_limiter_settle.
/// NULL: decision may be.
/// Threads: any.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_renew(
    limiter: *const ratecell_limiter,
    request: *const ratecell_request,
    decision: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    unsafe {
        with_reservation(limiter, request, decision, |limiter, mut reservation, request| {
            let decision = match request.now_ns() {
                Some(now) => limiter.renew_at(&mut reservation, now),
                None => limiter.renew(&mut reservation),
            };
            (decision, Some(reservation))
        })
    }
}
