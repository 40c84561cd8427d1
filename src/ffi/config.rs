//! How a limiter is made, size first.

use core::ffi::c_char;
use core::mem::offset_of;

use super::flags::RATECELL_ZEROED;
use super::pointer;
use super::ratecell_status;
use super::ratecell_status::RATECELL_ECONFIG;
use crate::limiter::LimiterBuilder;
use crate::table::WhenFull;

/// How a limiter is made. Begin with RATECELL_CONFIG_INIT; a field of 0 has its default.
///
/// Later versions may append fields. A program that was compiled with fewer has the defaults of the others;
/// one that was compiled with more can use them where the library knows them, and gets RATECELL_E2BIG where
/// it does not and they are not 0, or the size is above 4096.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_config {
    /// sizeof(ratecell_config), which RATECELL_CONFIG_INIT sets.
    pub size: usize,
    /// Keys that have room at once; at exactly this many, about 6 in 100,000 find none. The memory is about 26
    /// bytes a key and layer; a sliding_log about 100, and 8 for each unit it has room for. 0 is 100,000; for
    /// ratecell_region_init, as many as the memory holds; for an existing region, as many as it has.
    pub max_keys: u64,
    /// What happens to a new key for which there is no room: one of ratecell_when_full. For an
    /// existing region, 0 is what it has.
    pub when_full: u64,
    /// RATECELL_ZEROED, or 0. A flag that the library does not know, or that the call has no use for, is
    /// RATECELL_ECONFIG.
    pub flags: u64,
    /// Where the call writes in a sentence what was wrong and what was expected, and a NUL; on success, an empty
    /// text. A text that does not fit is cut off. NULL, with a why_len of 0, for no sentence. Not written where the config
    /// itself cannot be read.
    pub why: *mut c_char,
    /// The bytes at why.
    pub why_len: usize,
}

impl Default for ratecell_config {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            max_keys: 0,
            when_full: 0,
            flags: 0,
            why: core::ptr::null_mut(),
            why_len: 0,
        }
    }
}

/// What happens to a new key when all places for it are in use, by keys that still have something to
/// remember.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ratecell_when_full {
    /// Evict the key that holds the fewest used units. These units are forgiven, and counted in ratecell_stats. More
    /// may pass than the policy allows, but no more than that count.
    RATECELL_FULL_EVICT = 0,
    /// Charge the newcomer to a state that all newcomers of its bucket share, until it has drained. It may deny too
    /// much, and never allows too much.
    RATECELL_FULL_SHARE = 1,
    /// Deny the newcomer; retry_after_ns is the time until a place may come free. With several layers, the first one
    /// without a place denies. If the policy itself denies (after a clock step back), retry_after_ns is the policy's.
    RATECELL_FULL_DENY = 2,
    /// Allow the newcomer without a charge, and count it in ratecell_stats.
    RATECELL_FULL_ALLOW = 3,
}

use ratecell_when_full::*;

/// The size of the first version.
const OLDEST: usize = offset_of!(ratecell_config, why_len) + size_of::<usize>();
impl ratecell_config {
    /// The caller's config as this version's; what an older one lacks is 0.
    ///
    /// # Safety
    /// If `config` is neither NULL nor misaligned, it points to a size, and that many bytes are there that
    /// nobody changes during the call.
    pub(super) unsafe fn read(config: *const Self) -> Result<Self, ratecell_status> {
        // SAFETY: the caller's word; a config's fields are integers and raw pointers.
        unsafe { pointer::sized(config, Self::default(), OLDEST) }
    }

    pub(super) fn apply(self, mut builder: LimiterBuilder) -> Result<LimiterBuilder, ratecell_status> {
        if self.max_keys > 0 {
            builder = builder.max_keys(usize::try_from(self.max_keys).map_err(|_| RATECELL_ECONFIG)?);
        }
        match self.when_full()? {
            WhenFull::Evict => Ok(builder),
            when_full => Ok(builder.when_full(when_full)),
        }
    }

    /// Whether memory that becomes a region is all zeros.
    pub(super) fn zeroed(&self) -> bool {
        self.flags & u64::from(RATECELL_ZEROED) != 0
    }

    /// The config, if it has no flags but `known`.
    pub(super) fn with_flags(self, known: u32) -> Result<Self, ratecell_status> {
        if self.flags & !u64::from(known) == 0 { Ok(self) } else { Err(RATECELL_ECONFIG) }
    }

    fn when_full(self) -> Result<WhenFull, ratecell_status> {
        let choices = [
            // The default, which is not to be told apart from nothing said.
            (RATECELL_FULL_EVICT, WhenFull::Evict),
            (RATECELL_FULL_SHARE, WhenFull::Share),
            (RATECELL_FULL_DENY, WhenFull::Deny),
            (RATECELL_FULL_ALLOW, WhenFull::Allow),
        ];
        let chosen = choices.into_iter().find(|(choice, _)| *choice as u64 == self.when_full);
        chosen.map(|(_, when_full)| when_full).ok_or(RATECELL_ECONFIG)
    }
}
