//! The HTTP fields of decisions.

use core::ffi::{c_char, c_void};

use arrayvec::ArrayVec;

use super::limiter::policy_of;
use super::ratecell_status::{RATECELL_EINVAL, RATECELL_ENAME, RATECELL_ESIZE};
use super::{pointer, ratecell_decision, ratecell_limiter, ratecell_status, text};
use crate::limiter::layers::MAX_LAYERS;
use ratecell_core::Policy;
use ratecell_core::fields::{Answer, Fields, Label, Style, Styles};

/// The HTTP fields that tell a client its limits: a bit each, so that several can be written at once.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ratecell_style {
    /// RateLimit-Policy: "name";q=100;w=60 and RateLimit: "name";r=50;t=30
    /// (draft-ietf-httpapi-ratelimit-headers-11).
    RATECELL_STYLE_DRAFT11 = 1,
    /// The same fields by draft -07.
    RATECELL_STYLE_DRAFT07 = 2,
    /// RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset by draft -06.
    RATECELL_STYLE_DRAFT06 = 4,
    /// RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset by the drafts -03 to -05.
    RATECELL_STYLE_DRAFT03 = 8,
    /// X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset, in seconds from now.
    RATECELL_STYLE_X = 16,
    /// The same fields, X-RateLimit-Reset in seconds since 1970.
    RATECELL_STYLE_X_UNIX = 32,
    /// As RATECELL_STYLE_X_UNIX, and X-RateLimit-Used.
    RATECELL_STYLE_GITHUB = 64,
    /// X-Rate-Limit-Limit, X-Rate-Limit-Remaining and X-Rate-Limit-Reset, in seconds since 1970.
    RATECELL_STYLE_TWITTER = 128,
    /// RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, and the first two as X-RateLimit-Limit-Minute and so
    /// on.
    RATECELL_STYLE_KONG = 256,
}

use ratecell_style::*;

const STYLES: [(ratecell_style, Style); 9] = [
    (RATECELL_STYLE_DRAFT11, Style::Draft11),
    (RATECELL_STYLE_DRAFT07, Style::Draft07),
    (RATECELL_STYLE_DRAFT06, Style::Draft06),
    (RATECELL_STYLE_DRAFT03, Style::Draft03),
    (RATECELL_STYLE_X, Style::X),
    (RATECELL_STYLE_X_UNIX, Style::XUnix),
    (RATECELL_STYLE_GITHUB, Style::GitHub),
    (RATECELL_STYLE_TWITTER, Style::Twitter),
    (RATECELL_STYLE_KONG, Style::Kong),
];

/// A limiter's decision, with the names of its policy: 56 bytes on 64-bit machines, the same in every version.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_answer {
    /// The limiter that decided.
    pub limiter: *const ratecell_limiter,
    /// Its decision; of a request with RATECELL_NEXT where the fields are to be as exact as they can be.
    pub decision: *const ratecell_decision,
    /// The policy's name, 1 to 256 characters of printable ASCII, in RateLimit and RateLimit-Policy; of several layers,
    /// name-1, name-2 and so on. NULL: each layer is named by its own text.
    pub name: *const c_char,
    /// The unit that is counted: requests, content-bytes or concurrent-requests. NULL for requests.
    pub unit: *const c_char,
    /// The partition of the clients that the limit is for, 0 to 256 bytes; NULL for none. Every client that asks reads
    /// it: put no address in it, nor a hash of one without a key.
    pub partition: *const c_void,
    /// The bytes of the partition.
    pub partition_len: usize,
    /// 0.
    pub reserved: u64,
}

/// Write the HTTP fields of a response about the decisions of one or more limiters, and a NUL, without allocation: for
/// each field a line `Name: value` and a line feed.
///
/// styles is one or more of ratecell_style; no two may write a field of the same name. n is at most 64. now_unix_ns, the
/// wall clock in nanoseconds since 1970, is read by the styles that give an instant. Times are whole seconds, rounded
/// up. RateLimit-Policy, RateLimit and the limits of the older drafts are lists: a field that is there already is added
/// to. Retry-After is the last; of two the greater is right.
///
/// Returns the length without the NUL: 0, and an empty text, if no field is to be sent. With len 0 only the length is
/// returned.
/// Errors: RATECELL_EINVAL (answers, buffer, styles, an answer's limiter, decision or reserved, or the decision's outcome
/// or layer is none of the limiter's), RATECELL_EALIGN (answers, an answer's limiter or decision), RATECELL_ENAME (an
/// answer's name, unit or partition), RATECELL_ESIZE (n, len), RATECELL_ENOSPC, RATECELL_EPANIC.
/// NULL: answers may be, if n is 0; buffer, if len is 0.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_fields(
    styles: u32,
    answers: *const ratecell_answer,
    n: usize,
    now_unix_ns: u64,
    buffer: *mut c_char,
    len: usize,
) -> i32 {
    text::guarded(|| {
        let styles = chosen(styles)?;
        if n > MAX_LAYERS {
            return Err(RATECELL_ESIZE);
        }
        let mut policies = ArrayVec::<_, MAX_LAYERS>::new();
        let mut own = ArrayVec::<_, MAX_LAYERS>::new();
        // SAFETY: as the header's preamble has it.
        let answers: &[ratecell_answer] = unsafe { pointer::inputs(answers, n) }?;
        for answer in answers {
            // SAFETY: as the header's preamble has it, of each answer.
            policies.try_push(unsafe { policy_of(answer.limiter) }?).map_err(|_| RATECELL_ESIZE)?;
        }
        for (answer, policy) in answers.iter().zip(&policies) {
            own.try_push(answer.read(policy)?).map_err(|_| RATECELL_ESIZE)?;
        }
        // SAFETY: as the header's preamble has it.
        unsafe { text::write(&Fields::new(styles, &own, now_unix_ns), buffer, len) }
    })
}

pub(super) fn chosen(bits: u32) -> Result<Styles, ratecell_status> {
    let mut rest = bits;
    let mut styles: Option<Styles> = None;
    for (bit, style) in STYLES {
        if bits & bit as u32 != 0 {
            rest &= !(bit as u32);
            styles = Some(match styles {
                None => style.into(),
                Some(earlier) => earlier.and(style).map_err(|_| RATECELL_EINVAL)?,
            });
        }
    }
    styles.filter(|_| rest == 0).ok_or(RATECELL_EINVAL)
}

impl ratecell_answer {
    fn read<'a>(&'a self, policy: &'a Policy) -> Result<Answer<'a>, ratecell_status> {
        // SAFETY: as the header's preamble has it, of each answer.
        let decision = unsafe { pointer::input(self.decision)? };
        let decision = decision.read().filter(|decision| decision.layer() < policy.layers().len());
        let mut label = Label::new();
        // SAFETY: as the header's preamble has it, of each answer.
        unsafe {
            if !self.name.is_null() {
                label = label.named(ascii(self.name)?).map_err(|_| RATECELL_ENAME)?;
            }
            if !self.unit.is_null() {
                label = label.unit(ascii(self.unit)?.parse().map_err(|_| RATECELL_ENAME)?);
            }
            if !self.partition.is_null() {
                let partition = pointer::key(self.partition, self.partition_len)?;
                label = label.partition(partition).map_err(|_| RATECELL_ENAME)?;
            }
        }
        match (decision, self.reserved) {
            (Some(decision), 0) => Ok(Answer::of(policy, label, decision)),
            _ => Err(RATECELL_EINVAL),
        }
    }
}

/// # Safety
/// As the header's preamble has it.
unsafe fn ascii<'a>(text: *const c_char) -> Result<&'a str, ratecell_status> {
    // SAFETY: the caller's word.
    unsafe { pointer::text(text) }?.to_str().map_err(|_| RATECELL_ENAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_has_its_bit() {
        for (number, ((bit, style), other)) in STYLES.into_iter().zip(Style::ALL).enumerate() {
            assert_eq!((bit as u32, style), (1 << number, other));
        }
    }
}
