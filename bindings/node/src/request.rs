//! A request as the page has it.

use napi::bindgen_prelude::BigInt;
use ratecell::{Request, Zone};

use crate::page::{AT, COST, FLAGS, KEY, LENGTH, PAGE, WITHIN};

/// Flags of a request. `HERE`: it does not wait for a store.
pub(crate) const AT_TIME: u32 = 1;
pub(crate) const WITHIN_DELAY: u32 = 2;
pub(crate) const CHARGE: u32 = 4;
pub(crate) const NEXT: u32 = 8;
pub(crate) const HERE: u32 = 16;

/// All of a request but its key and its zone.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    flags: u32,
    cost: u32,
    at: u64,
    within: u64,
}

impl Terms {
    #[inline]
    pub(crate) fn of(page: &[u8; PAGE]) -> Self {
        Self {
            flags: word(page, FLAGS),
            cost: word(page, COST),
            at: long(page, AT),
            within: long(page, WITHIN),
        }
    }

    /// These, at one instant: now, by the limiter's clock, where they give none.
    pub(crate) fn at(self, limiter: &ratecell::Limiter) -> Self {
        if self.flags & AT_TIME != 0 {
            self
        } else {
            Self { flags: self.flags | AT_TIME, at: limiter.now_ns(), ..self }
        }
    }

    #[inline]
    pub(crate) fn request<'k>(&self, key: &'k [u8], zone: Option<&'k Zone>) -> Request<'k> {
        let mut request = Request::new(key).cost(self.cost);
        if self.flags == 0 && zone.is_none() {
            return request;
        }
        if self.flags & AT_TIME != 0 {
            request = request.at(self.at);
        }
        if self.flags & WITHIN_DELAY != 0 {
            request = request.within_ns(self.within);
        }
        if self.flags & CHARGE != 0 {
            request = request.charge();
        }
        if self.flags & NEXT != 0 {
            request = request.with_next();
        }
        if self.flags & HERE != 0 {
            request = request.without_waiting();
        }
        if let Some(zone) = zone {
            request = request.zone(zone);
        }
        request
    }
}

/// The key in the page; a length past its end is that of the rest.
#[inline]
pub(crate) fn key(page: &[u8; PAGE]) -> &[u8] {
    let length = word(page, LENGTH) as usize;
    &page[KEY..PAGE.min(KEY + length)]
}

#[inline]
fn word(page: &[u8; PAGE], at: usize) -> u32 {
    u32::from_ne_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

#[inline]
fn long(page: &[u8; PAGE], at: usize) -> u64 {
    u64::from(word(page, at)) << (if cfg!(target_endian = "big") { 32 } else { 0 })
        | u64::from(word(page, at + 4)) << (if cfg!(target_endian = "big") { 0 } else { 32 })
}

/// A u64 from JavaScript, which has seen to it that it is one.
#[expect(clippy::needless_pass_by_value, reason = "napi gives it so")]
pub(crate) fn u64_of(number: BigInt) -> u64 {
    number.get_u64().1
}
