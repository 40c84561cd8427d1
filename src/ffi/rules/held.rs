//! Giving back what requests by rules hold.

use super::super::flags::RATECELL_CANCEL;
use super::super::ratecell_status::RATECELL_EINVAL;
use super::super::why::guarded;
use super::super::{pointer, text};
use super::ratecell_rules;
use super::request::{Given, ratecell_rules_request};

/// Settle what a request holds by attributes that are known afterwards, such as the tokens that it has used: each rule whose
/// cost is taken from one of them, with from or by, is settled at the cost that they make, as ratecell_limiter_settle does.
/// All others stay as they are: those of a fixed cost, those whose attribute is not given, those whose cost is taken from
/// the path, and layers in_flight. With RATECELL_CANCEL each rule is settled at 0, and attributes are none.
///
/// The request may be the one that reserved, with other attributes, and with the answer's n_claims for max_held. Its claims
/// and shadows are not read. A rule stays as it is that is not in the file in force any more, makes its cost in another way
/// than when it was charged, or has begun anew. After a change of the numbers of its limit, units of windows come back, and
/// those of a rate or a bucket stay charged. Settle each request once.
///
/// Returns 0.
/// Errors: RATECELL_EINVAL (rules, request, its attributes, flags, reserved or held, an attribute's name or value),
/// RATECELL_EALIGN, RATECELL_ESIZE (a length or count), RATECELL_EPANIC. Then nothing was charged, and nothing given back, but
/// for RATECELL_EPANIC.
/// NULL: attributes and held may be, if there are none; a name or value, if its length is 0.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_rules_settle(
    rules: *const ratecell_rules,
    request: *const ratecell_rules_request,
) -> i32 {
    guarded(|| {
        // SAFETY: as the header's preamble has it.
        let (rules, request) = unsafe { (pointer::input(rules)?, pointer::input(request)?) };
        // SAFETY: the same.
        let (now_ns, held) = unsafe { request.held(RATECELL_CANCEL)? };
        let limiter = &rules.limiter;
        if request.flags & RATECELL_CANCEL != 0 {
            if request.n_attributes != 0 {
                return Err(RATECELL_EINVAL);
            }
            limiter.cancel_claims(&held, now_ns);
        } else {
            // SAFETY: the same.
            let attributes = unsafe { Given::read(request.attributes, request.n_attributes)? };
            limiter.settle_claims(&held, &attributes, now_ns);
        }
        Ok(())
    })
}

/// Give back the permits of the layers in_flight that a request holds, of all rules; all other layers stay as they are. Nothing
/// comes back of a permit that has passed by itself, whose key was evicted, or whose rule is not in the file in force any
/// more or has begun anew.
///
/// The request may be the one that reserved, with the answer's n_claims for max_held. Besides held, now_ns is read with
/// RATECELL_AT. Release each request once.
///
/// Returns how many units came back: of several rules with such layers the least, and at most INT32_MAX.
/// Errors: RATECELL_EINVAL (rules, request, its flags, reserved or held), RATECELL_EALIGN, RATECELL_ESIZE (a count),
/// RATECELL_EPANIC. Then nothing was given back, but for RATECELL_EPANIC.
/// NULL: held may be, if there is none.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_rules_release(
    rules: *const ratecell_rules,
    request: *const ratecell_rules_request,
) -> i32 {
    text::guarded(|| {
        // SAFETY: as the header's preamble has it.
        let (rules, request) = unsafe { (pointer::input(rules)?, pointer::input(request)?) };
        // SAFETY: the same.
        let (now_ns, held) = unsafe { request.held(0)? };
        let units = rules.limiter.release_claims(&held, now_ns);
        Ok(usize::try_from(units.min(i32::MAX.unsigned_abs())).unwrap_or_default())
    })
}
