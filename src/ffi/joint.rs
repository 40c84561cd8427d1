//! Several limiters in one call, all or nothing.

use core::mem::MaybeUninit;

use super::decision::status;
use super::ratecell_status::RATECELL_ESIZE;
use super::{pointer, ratecell_claim, ratecell_decision, ratecell_status};
use crate::limiter::Claim;
use crate::limiter::joint::decide_all;
use crate::limiter::layers::MAX_LAYERS;
use ratecell_core::{Decision, Outcome};

/// Decide n claims as one request: all are charged, or none is. Their policies have at most 64 layers in all, for
/// which 64 KB of stack are enough.
///
/// There is one decision for each claim: that of its limiter alone. Where a claim would be allowed and another is
/// refused, its decision is that of a peek. No number of callers can make any limiter allow more than its policy: a claim
/// that another caller overtakes is refused. The charges made for it are then taken back, except where the key's
/// cell has changed since, or is one that newcomers share: such a charge stays. Two claims on one key of one limiter are decided one after the other;
/// if their sum is above its capacity, they are denied each time, with a retry_after_ns that does not help: give one claim
/// with the sum.
///
/// Returns the gravest outcome: RATECELL_ALLOWED if all are, RATECELL_DENIED, RATECELL_NEVER or
/// RATECELL_CLOCK_RANGE; and writes all decisions.
/// Errors: RATECELL_EINVAL (claims, decisions, any claim's limiter or request), RATECELL_EALIGN (claims, decisions,
/// any claim's limiter), RATECELL_ESIZE (n, the layers, any request's key_len). Then nothing was charged.
/// NULL: claims, if n is 0; decisions may be.
/// Threads: any.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_decide_all(
    claims: *const ratecell_claim,
    n: usize,
    decisions: *mut ratecell_decision,
) -> i32 {
    let decide = || -> Result<Outcome, ratecell_status> {
        if n > MAX_LAYERS {
            return Err(RATECELL_ESIZE);
        }
        // SAFETY: as the header's preamble has it.
        let (claims, places) = unsafe {
            let places = if decisions.is_null() { &mut [][..] } else { pointer::outputs(decisions, n)? };
            (pointer::inputs(claims, n)?, places)
        };
        let layers = claims.iter().try_fold(0, |layers, claim| {
            claim.read().map(|claim| layers + claim.limiter.policy().layers().len())
        })?;
        if layers > MAX_LAYERS {
            return Err(RATECELL_ESIZE);
        }
        if n <= FEW { decided::<FEW>(claims, places) } else { decided::<MAX_LAYERS>(claims, places) }
    };
    match decide() {
        Ok(outcome) => status(outcome) as i32,
        Err(status) => status as i32,
    }
}

/// So many claims are few: room for all that there may be takes as long to write as one of them to decide.
const FEW: usize = 4;

/// Decides claims that are known to be good, at most `ROOM` of them.
fn decided<const ROOM: usize>(
    claims: &[ratecell_claim],
    places: &mut [MaybeUninit<ratecell_decision>],
) -> Result<Outcome, ratecell_status> {
    let mut own = [Decision::default(); ROOM];
    let own = own.get_mut(..claims.len()).ok_or(RATECELL_ESIZE)?;
    // None is left out: an error was returned before.
    let outcome = decide_all(claims.iter().filter_map(|claim| claim.read().ok()), own);
    for (place, decision) in places.iter_mut().zip(own) {
        ratecell_decision::write(place, *decision);
    }
    Ok(outcome)
}

impl ratecell_claim {
    fn read(&self) -> Result<Claim<'_>, ratecell_status> {
        // SAFETY: as the header's preamble has it, of each claim.
        unsafe {
            let limiter = &pointer::input(self.limiter)?.limiter;
            Ok(Claim { limiter, request: self.request.read(limiter)? })
        }
    }
}
