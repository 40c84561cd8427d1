//! What a call is given that it must refuse.

use core::ptr;

use arbitrary::{Arbitrary, Result, Unstructured};
use ratecell::ffi::ratecell_limiter;
use ratecell::ffi::ratecell_status::{RATECELL_EALIGN, RATECELL_EINVAL, RATECELL_ESIZE};

/// At most one thing is wrong with a call, so that its status is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    LimiterNull,
    LimiterMisaligned(usize),
    /// NULL where a key, an array, a buffer or a struct of some size must be.
    InputNull,
    InputMisaligned(usize),
    /// A length that no memory has.
    InputHuge,
    OutputNull,
    OutputMisaligned(usize),
    /// Of the elements of an array, one that means nothing.
    ElementReserved,
    ElementNull,
    ElementHuge,
}

impl<'a> Arbitrary<'a> for Fault {
    /// Seldom one: what follows an error is to be seen too.
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let byte: u8 = u.arbitrary()?;
        let shift = 1 + usize::from(byte) % 7;
        Ok(match byte {
            0..=199 => Self::None,
            200..=207 => Self::LimiterNull,
            208..=215 => Self::LimiterMisaligned(shift),
            216..=219 => Self::InputNull,
            220..=223 => Self::InputMisaligned(shift),
            224..=231 => Self::InputHuge,
            232..=235 => Self::OutputNull,
            236..=243 => Self::OutputMisaligned(shift),
            244..=247 => Self::ElementReserved,
            248..=251 => Self::ElementNull,
            252..=255 => Self::ElementHuge,
        })
    }
}

impl Fault {
    /// What a call with it answers.
    pub(super) fn status(self) -> Option<i32> {
        let status = match self {
            Self::None => return None,
            Self::LimiterNull | Self::InputNull | Self::OutputNull => RATECELL_EINVAL,
            Self::ElementReserved | Self::ElementNull => RATECELL_EINVAL,
            Self::LimiterMisaligned(_) | Self::InputMisaligned(_) | Self::OutputMisaligned(_) => {
                RATECELL_EALIGN
            }
            Self::InputHuge | Self::ElementHuge => RATECELL_ESIZE,
        };
        Some(status as i32)
    }

    /// Whether it is seen before what a request says: of the limiter or of the request's own pointer.
    pub(super) fn is_of_a_pointer(self) -> bool {
        use Fault::*;
        matches!(self, LimiterNull | LimiterMisaligned(_) | InputNull | InputMisaligned(_))
    }

    /// This fault where it can be made: it is one of a limiter, or `possible`.
    pub(super) fn among(self, possible: bool) -> Self {
        let of_limiter = matches!(self, Self::LimiterNull | Self::LimiterMisaligned(_));
        if possible || of_limiter { self } else { Self::None }
    }

    pub(super) fn limiter(self, limiter: *const ratecell_limiter) -> *const ratecell_limiter {
        match self {
            Self::LimiterNull => ptr::null(),
            Self::LimiterMisaligned(shift) => limiter.wrapping_byte_add(shift),
            _ => limiter,
        }
    }

    pub(super) fn input<T>(self, input: *const T) -> *const T {
        match self {
            Self::InputNull => ptr::null(),
            Self::InputMisaligned(shift) => input.wrapping_byte_add(shift),
            _ => input,
        }
    }

    pub(super) fn len(self, len: usize) -> usize {
        match self {
            // Of nothing, NULL is no fault.
            Self::InputNull => len.max(1),
            Self::InputHuge => usize::MAX,
            _ => len,
        }
    }

    /// How far from aligned the output is to be.
    pub(super) fn shift(self) -> usize {
        if let Self::OutputMisaligned(shift) = self { shift } else { 0 }
    }

    pub(super) fn output<T>(self, output: *mut T) -> *mut T {
        if self == Self::OutputNull { ptr::null_mut() } else { output }
    }
}
