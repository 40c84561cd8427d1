//! How a limiter is made: a config of any size and content, in as much memory as it says.

use core::ffi::CStr;
use core::mem::offset_of;
use core::ptr;

use arbitrary::Arbitrary;
use ratecell::ffi::ratecell_status::{RATECELL_E2BIG, RATECELL_ECONFIG, RATECELL_ENOMEM, RATECELL_ESIZE};
use ratecell::ffi::{
    ratecell_config, ratecell_limiter, ratecell_limiter_free, ratecell_limiter_new, ratecell_limiter_policy,
    ratecell_policy_format,
};

use super::faults::Fault;
use crate::memory::Memory;
use crate::policies::PolicyText;
use crate::text::written;

/// Few keys, so that tables fill.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(super) struct MaxKeys(u8);

impl MaxKeys {
    pub(super) fn few(self) -> u64 {
        1 + u64::from(self.0) % 64
    }

    /// Or the default, or more than there can be.
    fn any(self) -> u64 {
        match self.0 {
            254 => 0,
            255 => u64::MAX,
            _ => self.few(),
        }
    }
}

/// The size of the first version's config: what follows it is 0 where it is shorter.
const OLDEST: usize = offset_of!(ratecell_config, on_miss);
/// Beyond this a size is garbage.
const LARGEST: usize = 4096;

#[derive(Arbitrary, Debug)]
pub(super) struct Create {
    policy: PolicyText,
    /// Of the config, NULL for none.
    size: Option<u16>,
    max_keys: MaxKeys,
    when_full: u8,
    /// What fills a config that is longer than the library knows.
    newer: u8,
    fault: Fault,
}

impl Create {
    pub(super) fn run(self) {
        let fault = match self.fault {
            Fault::InputMisaligned(_) if self.size.is_none() => Fault::None,
            Fault::InputNull | Fault::InputMisaligned(_) | Fault::OutputNull | Fault::OutputMisaligned(_) => {
                self.fault
            }
            _ => Fault::None,
        };
        let text = self.policy.to_c();
        let policy = if fault == Fault::InputNull { ptr::null() } else { text.as_ptr() };
        let memory = self.size.map(|size| self.config(usize::from(size)));
        let config =
            memory.as_ref().map_or(ptr::null(), |memory| fault.input(memory.pointer::<ratecell_config>()));
        let place = Memory::room::<*mut ratecell_limiter>(fault.shift());
        // SAFETY: texts end in a NUL, a config is as long as it says, the place has room for a limiter.
        let status = unsafe { ratecell_limiter_new(policy, config, fault.output(place.pointer())) };

        let refusals = self.refusals(fault);
        if refusals.is_empty() {
            assert_eq!(status, 0, "{self:?}: expected a limiter");
            check_and_free(place.value(0), &text);
        } else {
            assert!(refusals.contains(&status), "{self:?}: status {status}: expected one of {refusals:?}");
            place.assert_untouched("ratecell_limiter_new");
        }
    }

    /// As many bytes as the size says, and at least the size itself.
    fn config(&self, size: usize) -> Memory {
        // No flags, no place for a reason, no store and no epoch; and 0 to the end of what the library knows.
        let known = [size as u64, self.max_keys.any(), u64::from(self.when_full)];
        let mut bytes: Vec<u8> = known.into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.resize(size_of::<ratecell_config>(), 0);
        bytes.resize(size.max(size_of::<usize>()), self.newer);
        Memory::of(&bytes)
    }

    /// Every reason there is not to make a limiter: the contract puts none first.
    fn refusals(&self, fault: Fault) -> Vec<i32> {
        let text = self.policy.to_c();
        // SAFETY: a text with its NUL, and no buffer.
        let policy = unsafe { ratecell_policy_format(text.as_ptr(), ptr::null_mut(), 0) };
        let mut refusals = Vec::from_iter(fault.status());
        refusals.extend((policy < 0).then_some(policy));
        let Some(size) = self.size.map(usize::from) else { return refusals };
        let own = size_of::<ratecell_config>();
        let is_read = size >= OLDEST;
        let wrong = [
            (!is_read, RATECELL_ESIZE),
            (size > LARGEST || (size > own && self.newer != 0), RATECELL_E2BIG),
            (is_read && self.when_full > 3, RATECELL_ECONFIG),
            (is_read && self.max_keys.any() == u64::MAX, RATECELL_ENOMEM),
        ];
        refusals.extend(wrong.into_iter().filter(|(wrong, _)| *wrong).map(|(_, status)| status as i32));
        refusals
    }
}

fn check_and_free(limiter: *mut ratecell_limiter, policy: &CStr) {
    let of_limiter = written("ratecell_limiter_policy", |buffer, len| {
        // SAFETY: just made; a buffer as `written` has it.
        unsafe { ratecell_limiter_policy(limiter, buffer, len) }
    });
    let of_text = written("ratecell_policy_format", |buffer, len| {
        // SAFETY: a text with its NUL; as above.
        unsafe { ratecell_policy_format(policy.as_ptr(), buffer, len) }
    });
    assert_eq!(of_limiter, of_text, "the policy of a limiter of {policy:?}");
    // SAFETY: just made, and not used again.
    unsafe { ratecell_limiter_free(limiter) };
}
