//! Policies as text.

use core::ffi::{CStr, c_char};
use core::fmt;

use super::limiter::Refusal;
use super::ratecell_status::RATECELL_EPOLICY_SYNTAX;
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
pub(super) enum PolicyRefusal {
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
/// The grammar is `[algorithm] LIMIT/PERIOD [option=value]... [& layer]...`, such as "10/s burst=20". LIMIT may
/// have underscores, and a point if it is a rate; PERIOD is a unit (ns us ms s m h d w, or its English name)
/// with an optional whole number before it; `per` may stand for the slash. vectors/README.md defines it.
///
/// Returns the length without the NUL. With len 0 only the length is returned.
/// Errors: RATECELL_EINVAL (policy, buffer), RATECELL_EPOLICY_..., RATECELL_ESIZE (len), RATECELL_ENOSPC.
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
    text::code(unsafe {
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
/// Errors: RATECELL_EINVAL (policy, buffer), RATECELL_ESIZE (len), RATECELL_ENOSPC.
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
    let written = unsafe {
        pointer::text(policy).and_then(|policy| match parse(policy) {
            Ok(_) => text::write(&"", buffer, len),
            Err(refusal) => text::write(&refusal, buffer, len),
        })
    };
    text::code(written)
}
