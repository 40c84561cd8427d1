//! Many decisions in one call.

use super::{pointer, ratecell_decision, ratecell_limiter, ratecell_request, status};

/// Decide n requests in their order, while memory is fetched for those to come. The decisions are those of as many
/// ratecell_limiter_decide; a key may occur more than once. The clock is read once for all requests without
/// RATECELL_AT. There is one decision for each request.
///
/// Returns 0 and writes all decisions, whose outcomes are the answers.
/// Errors: RATECELL_EINVAL (limiter, requests, decisions, any request's key, flags, zone or reservation),
/// RATECELL_EALIGN (limiter, requests, decisions), RATECELL_ESIZE (n, any request's key_len). Then no
/// request was decided.
/// NULL: requests and decisions may be, if n is 0.
/// Threads: any.
/// Since: 0.1
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_decide_batch(
    limiter: *const ratecell_limiter,
    requests: *const ratecell_request,
    n: usize,
    decisions: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    let given = unsafe {
        pointer::input(limiter)
            .and_then(|limiter| Ok((limiter, pointer::inputs(requests, n)?, pointer::outputs(decisions, n)?)))
    };
    let decided = given.and_then(|(limiter, requests, decisions)| {
        // SAFETY: as the header's preamble has it, of each request.
        requests.iter().try_for_each(|request| unsafe { request.read(&limiter.limiter) }.map(|_| ()))?;
        // SAFETY: the same. It is a request: an error was returned above, before anything was charged, and nobody
        // changes the requests during the call.
        let read = |request| unsafe { ratecell_request::read(request, &limiter.limiter).unwrap_unchecked() };
        limiter.limiter.decide_each(requests, read, decisions, ratecell_decision::write);
        Ok(())
    });
    status::code(decided)
}
