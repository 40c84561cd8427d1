//! Zones for requests to a limiter whose policy has tz=caller.

use core::ffi::c_char;

use super::ratecell_status::RATECELL_EPOLICY_BAD_ZONE;
use super::why::guarded;
use super::{pointer, ratecell_limiter, ratecell_status};
use crate::limiter::Limiter;
use ratecell_core::Zone;

/// A time zone, ready for requests to a limiter whose policy has tz=caller.
#[derive(Debug)]
pub struct ratecell_zone {
    zone: Zone,
}

impl ratecell_zone {
    /// The zone that a request names, if `limiter` takes it. A limiter that takes none reads none.
    ///
    /// # Safety
    /// If `limiter` takes zones and `zone` is not misaligned, it points to one that is not freed during the call.
    #[cold]
    pub(super) unsafe fn read<'z>(zone: *const Self, limiter: &Limiter) -> Result<&'z Zone, ratecell_status> {
        if !limiter.policy().asks_for_zone() {
            return Err(ratecell_status::RATECELL_EINVAL);
        }
        // SAFETY: the caller's word.
        let zone = unsafe { pointer::input(zone) }.map(|zone| &zone.zone)?;
        if limiter.policy().takes_zone(zone) { Ok(zone) } else { Err(ratecell_status::RATECELL_EINVAL) }
    }
}

/// Make a time zone ready for requests to a limiter whose policy has tz=caller. It has the instants at which that policy's
/// windows begin in the zone, so that a check computes none. This takes up to a millisecond, and about 40 KB for days:
/// make each zone once. The name is one of the time zone database such as "Asia/Tokyo", "UTC", or an offset such as
/// "+05:30".
///
/// It may be used for every limiter of the same period, at, week, day, epoch and horizon, and outlives the limiter.
///
/// Returns 0; free *zone with ratecell_zone_free.
/// Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, name, zone), RATECELL_EPOLICY_BAD_ZONE (there is no such zone, or
/// the limiter's policy names its zone itself), RATECELL_EPOLICY_RANGE, RATECELL_EPANIC. *zone is then as it was.
/// NULL: none.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_zone_new(
    limiter: *const ratecell_limiter,
    name: *const c_char,
    zone: *mut *mut ratecell_zone,
) -> i32 {
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        let (limiter, name, out) =
            unsafe { (pointer::input(limiter)?, pointer::text(name)?, pointer::output(zone)?) };
        let name = name.to_str().map_err(|_| RATECELL_EPOLICY_BAD_ZONE)?;
        let zone = limiter.limiter.zone(name).map_err(|error| ratecell_status::from(error.kind()))?;
        out.write(Box::into_raw(Box::new(ratecell_zone { zone })));
        Ok(())
    })
}

/// Free a zone.
///
/// It must come from this library and not be freed yet, and no call with a request that names it may be under way.
///
/// Returns nothing.
/// Errors: none.
/// NULL: zone may be; nothing happens.
/// Threads: one, after all others are done with it. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_zone_free(zone: *mut ratecell_zone) {
    if zone.is_null() || !zone.is_aligned() {
        return;
    }
    // SAFETY: made by Box::into_raw, and by the caller's word not ended and not in use.
    drop(unsafe { Box::from_raw(zone) });
}
