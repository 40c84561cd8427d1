//! Policies as text.

use core::ffi::{CStr, c_char};
use core::fmt;

use super::ratecell_status::RATECELL_EPOLICY_SYNTAX;
use super::why::Refusal;
use super::{pointer, ratecell_status, text};
use ratecell_core::Policy;
use ratecell_core::PolicyError;

/// # Safety
/// If `policy` is not NULL, it is text that ends in a NUL.
pub(super) unsafe fn read(policy: *const c_char) -> Result<Policy, Refusal> {
    // SAFETY: the caller's word.
    Ok(parse(unsafe { pointer::text(policy) }?)?)
}

/// Why a text is no policy.
enum PolicyRefusal {
    Policy(PolicyError),
    Encoding { column: usize },
}

impl PolicyRefusal {
    pub(super) fn status(&self) -> ratecell_status {
        match self {
            Self::Policy(error) => error.kind().into(),
            Self::Encoding { .. } => RATECELL_EPOLICY_SYNTAX,
        }
    }
}

impl From<PolicyRefusal> for Refusal {
    fn from(refusal: PolicyRefusal) -> Self {
        Self::new(refusal.status(), refusal.to_string())
    }
}

impl fmt::Display for PolicyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(error) => write!(f, "{error}"),
            Self::Encoding { column } => write!(f, "syntax at column {column}: not UTF-8: expected ASCII"),
        }
    }
}

fn parse(text: &CStr) -> Result<Policy, PolicyRefusal> {
    match text.to_str() {
        Ok(text) => text.parse().map_err(PolicyRefusal::Policy),
        Err(error) => Err(PolicyRefusal::Encoding { column: error.valid_up_to() + 1 }),
    }
}

/// Check a policy and write it in its canonical form, and a NUL: one space between its words, the shortest
/// periods, and its options in one order. "100 per minute" is written as "100/m".
///
/// The grammar, in which square brackets enclose an optional part. An example is
/// "10/s burst=20 & fixed_window 1000/d".
///
/// ```text
/// policy    1 to 8 layers, joined by &; a request is charged to all of them or to none
/// layer     [algorithm] LIMIT/PERIOD [option=value]...
/// LIMIT     a whole number, which may have underscores; in gcra, the leaky ones and a continuous token_bucket
///           also a decimal: 0.5/s is 1/2s. "10 per s" and "10r/s" are 10/s
/// PERIOD    [whole number] unit; a duration is a whole number and a unit
/// unit      ns us ms s m h d w, or an English name such as sec, minutes, hour or days
///
/// algorithm            options, with their defaults
/// gcra, or none        burst=LIMIT: units at one instant
/// token_bucket         capacity=LIMIT mode=continuous, or interval (refilled at multiples of PERIOD),
///                      or interval_first (refilled at PERIODs after the request that found it full)
/// leaky_meter          capacity=N, which is needed
/// leaky_queue          queue=N, which is needed; burst=1: units without a delay
/// sliding_window       strict=false: two weighted windows; true: the estimate never above LIMIT
/// sliding_log          no options: every unit is kept
/// fixed_window         start=aligned, to the epoch, or first: opened by a request; offset=0s, below PERIOD
/// calendar_window      tz=ZONE, which is needed: a name such as Europe/Berlin, UTC or +05:30; at=00:00: the time at which
///                      windows begin; week=monday; day=1, of months, quarters and years. Its PERIOD is day, week,
///                      month, quarter or year
/// in_flight            hold=DURATION, which is needed; its quota is LIMIT alone. What is admitted comes back by itself, after
///                      more than a hold and at most two
/// all of them          heal=DURATION: a state from further in the future than this is forgotten; none by default
///                      horizon=DURATION: how long after the epoch the state must serve; nine years by default
/// ```
///
/// Options may stand in any order, each once. Ranges and errors are in vectors/README.md.
///
/// Returns the length without the NUL. With len 0 only the length is returned.
/// Errors: RATECELL_EINVAL (policy, buffer), RATECELL_EPOLICY_..., RATECELL_ESIZE (len), RATECELL_ENOSPC,
/// RATECELL_EPANIC.
/// NULL: buffer may be, if len is 0.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_policy_format(
    policy: *const c_char,
    buffer: *mut c_char,
    len: usize,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    text::guarded(|| unsafe {
        pointer::text(policy).and_then(|policy| match parse(policy) {
            Ok(policy) => text::write(&policy, buffer, len),
            Err(refusal) => Err(refusal.status()),
        })
    })
}

/// Say in a sentence what is wrong with a policy, where, and what was expected, and write a NUL.
///
/// Returns the length without the NUL: 0, and an empty text, for a policy that is right. With len 0 only
/// the length is returned.
/// Errors: RATECELL_EINVAL (policy, buffer), RATECELL_ESIZE (len), RATECELL_ENOSPC, RATECELL_EPANIC.
/// NULL: buffer may be, if len is 0.
/// Threads: any. Not from a signal handler.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_policy_explain(
    policy: *const c_char,
    buffer: *mut c_char,
    len: usize,
) -> i32 {
    // SAFETY: as the header's preamble has it.
    text::guarded(|| unsafe {
        pointer::text(policy).and_then(|policy| match parse(policy) {
            Ok(_) => text::write(&"", buffer, len),
            Err(refusal) => text::write(&refusal, buffer, len),
        })
    })
}
