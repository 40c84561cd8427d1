//! Several limiters in one call, all or nothing.

use core::ffi::c_void;

use super::decision::status;
use super::ratecell_status::{RATECELL_EINVAL, RATECELL_ESIZE};
use super::{pointer, ratecell_decision, ratecell_limiter, ratecell_status};
use crate::limiter::Claim;
use crate::limiter::joint::decide_all;
use ratecell_core::{Decision, Outcome};

/// The most claims of one call, and layers of their policies: each is charged deeper on the stack, of which 64 KB
/// are promised to be enough.
const MOST: usize = 64;

/// One of several requests that are to be allowed together or not at all: 40 bytes on 64-bit machines, the same in
/// every version.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_claim {
    /// Who decides.
    pub limiter: *const ratecell_limiter,
    /// The key's bytes; may be NULL if key_len is 0.
    pub key: *const c_void,
    /// How many.
    pub key_len: usize,
    /// When, by this limiter's own time: ratecell_limiter_now has it.
    pub now_ns: u64,
    /// Units; 0 asks and charges nothing.
    pub cost: u32,
    /// 0.
    pub reserved: u32,
}

/// Decide n claims as one request: all are charged, or none is. Their policies have at most 64 layers in all, for
/// which 64 KB of stack are enough.
///
/// There is one decision for each claim: what its limiter says by itself, and of one that would have allowed,
/// where another refuses, what it has still. No number of callers can have any limiter allow more than its
/// policy; a claim that another caller overtakes is refused. What was charged for it is then taken back, unless
/// another charge of the same key came after it: such a charge stays.
///
/// Returns the gravest outcome: RATECELL_ALLOWED if all are, RATECELL_DENIED, RATECELL_NEVER or
/// RATECELL_CLOCK_RANGE; and writes all decisions.
/// Errors: RATECELL_EINVAL (claims, decisions, any claim's limiter or key, or its reserved not 0),
/// RATECELL_EALIGN (claims, decisions, any claim's limiter), RATECELL_ESIZE (n, the layers, any claim's key_len).
/// NULL: claims, if n is 0; decisions may be.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_check_all(
    claims: *const ratecell_claim,
    n: usize,
    decisions: *mut ratecell_decision,
) -> i32 {
    let decide = || -> Result<Outcome, ratecell_status> {
        if n > MOST {
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
        if layers > MOST {
            return Err(RATECELL_ESIZE);
        }
        let mut own = [Decision::default(); MOST];
        let own = own.get_mut(..n).ok_or(RATECELL_ESIZE)?;
        // None is left out: an error was told above.
        let outcome = decide_all(claims.iter().filter_map(|claim| claim.read().ok()), own);
        for (place, decision) in places.iter_mut().zip(own) {
            ratecell_decision::write(place, *decision);
        }
        Ok(outcome)
    };
    match decide() {
        Ok(outcome) => status(outcome) as i32,
        Err(status) => status as i32,
    }
}

impl ratecell_claim {
    fn read(&self) -> Result<Claim<'_>, ratecell_status> {
        if self.reserved != 0 {
            return Err(RATECELL_EINVAL);
        }
        // SAFETY: as the header's preamble has it, of each claim.
        let (limiter, key) =
            unsafe { (pointer::input(self.limiter)?, pointer::key(self.key, self.key_len)?) };
        Ok(Claim { limiter: &limiter.limiter, key, cost: self.cost, now_ns: self.now_ns })
    }
}
