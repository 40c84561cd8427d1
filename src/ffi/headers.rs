//! The HTTP fields of a decision.

use core::ffi::{CStr, c_char};
use std::time::{SystemTime, UNIX_EPOCH};

use super::limiter::policy_of;
use super::ratecell_status::{RATECELL_EINVAL, RATECELL_ENAME};
use super::{pointer, ratecell_decision, ratecell_limiter, ratecell_status, text};
use ratecell_core::headers::{Field, Headers};

/// The HTTP fields that tell a client its limits. Times in them are whole seconds, rounded up.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ratecell_header {
    /// RateLimit: "name";r=50;t=30, what remains and until when (draft-ietf-httpapi-ratelimit-headers-11).
    RATECELL_HEADER_RATELIMIT = 0,
    /// RateLimit-Policy: "name";q=100;w=60, each layer's quota and window in seconds (the same draft).
    RATECELL_HEADER_RATELIMIT_POLICY = 1,
    /// Retry-After: 30, of a denial alone (RFC 9110).
    RATECELL_HEADER_RETRY_AFTER = 2,
    /// X-RateLimit-Limit: 100.
    RATECELL_HEADER_X_RATELIMIT_LIMIT = 3,
    /// X-RateLimit-Remaining: 50.
    RATECELL_HEADER_X_RATELIMIT_REMAINING = 4,
    /// X-RateLimit-Reset: 30, in seconds from now.
    RATECELL_HEADER_X_RATELIMIT_RESET = 5,
    /// X-RateLimit-Reset: 1795219230, in seconds since 1970, by the system's wall clock.
    RATECELL_HEADER_X_RATELIMIT_RESET_UNIX = 6,
}

use ratecell_header::*;

const FIELDS: [(ratecell_header, Field, &CStr); 7] = [
    (RATECELL_HEADER_RATELIMIT, Field::RateLimit, c"RateLimit"),
    (RATECELL_HEADER_RATELIMIT_POLICY, Field::RateLimitPolicy, c"RateLimit-Policy"),
    (RATECELL_HEADER_RETRY_AFTER, Field::RetryAfter, c"Retry-After"),
    (RATECELL_HEADER_X_RATELIMIT_LIMIT, Field::XRateLimitLimit, c"X-RateLimit-Limit"),
    (RATECELL_HEADER_X_RATELIMIT_REMAINING, Field::XRateLimitRemaining, c"X-RateLimit-Remaining"),
    (RATECELL_HEADER_X_RATELIMIT_RESET, Field::XRateLimitReset, c"X-RateLimit-Reset"),
    (RATECELL_HEADER_X_RATELIMIT_RESET_UNIX, Field::XRateLimitResetUnix, c"X-RateLimit-Reset"),
];

fn field(header: i32) -> Option<(Field, &'static CStr)> {
    let found = FIELDS.into_iter().find(|(number, ..)| *number as i32 == header);
    found.map(|(_, field, name)| (field, name))
}

/// Tell a field's name, as it is sent. header is one of ratecell_header.
///
/// Returns static text, or NULL for a number that is no field; those that are count up from 0.
/// Errors: none.
/// NULL: nothing to be.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub extern "C" fn ratecell_header_name(header: i32) -> *const c_char {
    field(header).map_or(core::ptr::null(), |(_, name)| name.as_ptr())
}

/// Write the value of an HTTP field about one of a limiter's decisions, and a NUL, without allocation.
///
/// header is one of ratecell_header. name, printable ASCII, is the policy's name in RateLimit and
/// RateLimit-Policy; of several layers, name-1, name-2 and so on.
///
/// Returns the length without the NUL: 0, and an empty text, if the field is not to be sent with the
/// decision. With len 0 only the length is returned.
/// Errors: RATECELL_EINVAL (limiter, decision, buffer, header, or the decision's outcome or layer is none of this
/// limiter's), RATECELL_EALIGN (limiter, decision), RATECELL_ENAME, RATECELL_ESIZE (len), RATECELL_ENOSPC.
/// NULL: name may be, and each layer is named by its own text; buffer, if len is 0.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_header(
    limiter: *const ratecell_limiter,
    header: i32,
    name: *const c_char,
    decision: *const ratecell_decision,
    buffer: *mut c_char,
    len: usize,
) -> i32 {
    let write = || {
        // SAFETY: as the header's preamble has it.
        let (policy, decision) = unsafe { (policy_of(limiter)?, pointer::input(decision)?) };
        let (field, _) = field(header).ok_or(RATECELL_EINVAL)?;
        let decision = decision.read().filter(|decision| decision.layer() < policy.layers().len());
        let decision = decision.ok_or(RATECELL_EINVAL)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut headers = Headers::new(policy).at(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        if !name.is_null() {
            // SAFETY: as the header's preamble has it.
            let name = unsafe { pointer::text(name) }?.to_str().map_err(|_| RATECELL_ENAME)?;
            headers = headers.named(name).map_err(|_| RATECELL_ENAME)?;
        }
        // SAFETY: as the header's preamble has it.
        unsafe {
            match headers.value(field, &decision) {
                Some(value) => text::write(&value, buffer, len),
                None => text::write(&"", buffer, len),
            }
        }
    };
    let written: Result<usize, ratecell_status> = write();
    text::code(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_here_and_there() {
        for (number, (header, field, name)) in FIELDS.into_iter().enumerate() {
            assert_eq!(header as usize, number);
            assert_eq!(field.name(), name.to_str().expect("ASCII"));
        }
    }
}
