//! Many decisions in one call.

use core::ffi::c_void;

use super::{pointer, ratecell_decision, ratecell_limiter, ratecell_status, status};

/// One request of a batch: 24 bytes on 64-bit machines, the same in every version.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_request {
    /// The key's bytes; may be NULL if key_len is 0.
    pub key: *const c_void,
    /// How many.
    pub key_len: usize,
    /// Units; 0 asks and charges nothing.
    pub cost: u32,
    /// 0.
    pub reserved: u32,
}

/// Decide n requests at now_ns, in their order, while memory is fetched for those to come. The decisions
/// are those of as many ratecell_limiter_check_at; a key may occur more than once.
///
/// ratecell_limiter_now has the time by the limiter's own clock. There is one decision for each request.
///
/// Returns 0 and writes all decisions, whose outcomes are the answers.
/// Errors: RATECELL_EINVAL (limiter, requests, decisions, any request's key, or its reserved not 0),
/// RATECELL_EALIGN (limiter, requests, decisions), RATECELL_ESIZE (n, any request's key_len). Then no
/// request was decided.
/// NULL: requests and decisions may be, if n is 0.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_check_batch(
    limiter: *const ratecell_limiter,
    requests: *const ratecell_request,
    n: usize,
    now_ns: u64,
    decisions: *mut ratecell_decision,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    let given = unsafe {
        pointer::input(limiter)
            .and_then(|limiter| Ok((limiter, pointer::inputs(requests, n)?, pointer::outputs(decisions, n)?)))
    };
    let decided = given.and_then(|(limiter, requests, decisions)| {
        requests.iter().try_for_each(|request| request.check())?;
        let limiter = &limiter.limiter;
        let read = |request: &ratecell_request| {
            // An error was told above, before anything was charged.
            let key = request.key().unwrap_or_default();
            (limiter.hash(key), request.cost)
        };
        limiter.decide_batch(requests, read, now_ns, decisions, ratecell_decision::write);
        Ok(())
    });
    status::code(decided)
}

impl ratecell_request {
    fn check(&self) -> Result<(), ratecell_status> {
        if self.reserved != 0 {
            return Err(ratecell_status::RATECELL_EINVAL);
        }
        self.key().map(|_| ())
    }

    #[inline(always)]
    fn key(&self) -> Result<&[u8], ratecell_status> {
        // SAFETY: as the header's preamble has it, of each request of a batch.
        unsafe { pointer::key(self.key, self.key_len) }
    }
}
