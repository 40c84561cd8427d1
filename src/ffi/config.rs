//! How a limiter is made, size first.

use core::ffi::{CStr, c_char};
use core::mem::offset_of;
use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use super::flags::{RATECELL_NAMES, RATECELL_RESERVATIONS, RATECELL_ZEROED};
use super::pointer;
use super::ratecell_status::RATECELL_ECONFIG;
#[cfg(feature = "store")]
use super::ratecell_status::RATECELL_ESTORE;
use super::why::Refusal;
use super::{ratecell_rules, ratecell_status};
use crate::limiter::{LimiterBuilder, OnFailure, OnMiss};
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
    /// RATECELL_ZEROED, RATECELL_RESERVATIONS, RATECELL_NAMES, RATECELL_FORKED, RATECELL_FOLLOW and RATECELL_CHANGE, or 0. A
    /// flag that the library does not know, or that the call has no use for, is RATECELL_ECONFIG.
    pub flags: u64,
    /// Where the call writes in a sentence what was wrong and what was expected, and a NUL; on success, an empty
    /// text, or a warning that a region was made with other rules of the time zones in its policy. A text that does not
    /// fit is cut off. NULL, with a why_len of 0, for no sentence. Not written where the config itself cannot be read.
    pub why: *mut c_char,
    /// The bytes at why.
    pub why_len: usize,
    /// For a limiter whose units are those of many machines, which is one of a file that `ratecell sync` made, or that has a
    /// store: what happens to a request that nothing of this machine's answers; one of ratecell_on_miss. For any other
    /// limiter, this and the fields below are 0; otherwise RATECELL_ECONFIG.
    pub on_miss: u64,
    /// With RATECELL_MISS_WAIT: the longest wait in nanoseconds; 0 is 50,000,000.
    pub wait_ns: u64,
    /// What happens to such a request if the store does not answer either: one of ratecell_on_failure.
    pub on_failure: u64,
    /// With RATECELL_FAILURE_LOCAL: the number of machines that share the limit, at least 1.
    pub machines: u64,
    /// The store's address, such as "redis://10.0.0.5:6379", for an agent in this process; NULL for none. A library that was
    /// built without the feature store, as the usual one is, has no client of a store: RATECELL_ECONFIG.
    pub store: *const c_char,
    /// The name of the limit at the store, 1 to 64 of A-Z a-z 0-9 _ . : -; NULL without a store.
    pub store_name: *const c_char,
    /// For ratecell_limiter_new and ratecell_rules_new: the zero of the limiter's times, in seconds since 1970, and below 0
    /// before it; 0 is the Monday 00:00 UTC before it is made. It is for callers who give every request its time, such as
    /// that of a record in a log: a calendar_window is counted from it, and aligned windows are aligned to it. For any other
    /// call it is 0; otherwise RATECELL_ECONFIG.
    pub epoch_s: i64,
    /// For ratecell_rules_new: an earlier limiter by rules, whose table the new one uses. Both go
    /// on, each by its own file: a rule whose name, key and policy are in both admits exactly its limit together. max_keys,
    /// when_full, epoch_s and RATECELL_FORKED are then those of the earlier one, and 0 here. It may be freed before the new
    /// one, and must not be freed during the call. NULL for none, and for any other call; otherwise RATECELL_ECONFIG.
    pub beside: *const ratecell_rules,
    /// With a store: the operator's number of the policy. Where it is greater than that of the store's policy, the policy is
    /// changed for all machines, as ratecell_limiter_change does; otherwise the store's is in force. Without a store it is 0;
    /// otherwise RATECELL_ECONFIG.
    pub policy_version: u64,
    /// For ratecell_rules_new: the path of a file in which the limits are that all processes have in common that name it; NULL
    /// for none, and for any other call; otherwise RATECELL_ECONFIG. If it is absent, empty or all zeros, it is made. max_keys
    /// and when_full are as for an existing region. RATECELL_FORKED, epoch_s and beside are 0. It is not kept.
    pub file: *const c_char,
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
            on_miss: 0,
            wait_ns: 0,
            on_failure: 0,
            machines: 0,
            store: core::ptr::null(),
            store_name: core::ptr::null(),
            epoch_s: 0,
            beside: core::ptr::null(),
            policy_version: 0,
            file: core::ptr::null(),
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

/// What happens to a request that nothing of this machine's answers, where machines share units.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ratecell_on_miss {
    /// It waits for the store, at most wait_ns, and is then denied.
    RATECELL_MISS_WAIT = 0,
    /// It is denied at once, and the store is asked for those that follow.
    RATECELL_MISS_DENY = 1,
}

/// What happens to such a request if the store does not answer, or no agent is there.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ratecell_on_failure {
    /// It is denied.
    RATECELL_FAILURE_CLOSED = 0,
    /// It is allowed, uncharged, and counted in ratecell_stats.
    RATECELL_FAILURE_OPEN = 1,
    /// The agent decides it by the part of the policy of one of so many machines. Without an agent it is denied.
    RATECELL_FAILURE_LOCAL = 2,
}

use ratecell_on_failure::*;
use ratecell_on_miss::*;

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

    pub(super) fn apply(self, mut builder: LimiterBuilder) -> Result<LimiterBuilder, Refusal> {
        if !self.beside.is_null() {
            return Err(Refusal::config(
                "beside: expected NULL for a limiter that is not by rules".to_owned(),
            ));
        }
        if !self.file.is_null() {
            return Err(Refusal::config("file: expected NULL for a limiter that is not by rules".to_owned()));
        }
        if self.max_keys > 0 {
            builder = builder.max_keys(usize::try_from(self.max_keys).map_err(|_| RATECELL_ECONFIG)?);
        }
        if let when_full @ (WhenFull::Share | WhenFull::Deny | WhenFull::Allow) = self.when_full()? {
            builder = builder.when_full(when_full);
        }
        if let Some(epoch) = self.epoch()? {
            builder = builder.epoch(epoch);
        }
        if self.flags & u64::from(RATECELL_RESERVATIONS) != 0 {
            builder = builder.reservations();
        }
        if self.flags & u64::from(RATECELL_NAMES) != 0 {
            builder = builder.names(true);
        }
        self.share(builder)
    }

    /// The zero of the limiter's times, if the config says it.
    pub(super) fn epoch(self) -> Result<Option<SystemTime>, Refusal> {
        if self.epoch_s == 0 {
            return Ok(None);
        }
        let distance = Duration::from_secs(self.epoch_s.unsigned_abs());
        let epoch = if self.epoch_s < 0 {
            UNIX_EPOCH.checked_sub(distance)
        } else {
            UNIX_EPOCH.checked_add(distance)
        };
        let why = || format!("epoch_s {}: expected an instant that the system's times hold", self.epoch_s);
        epoch.map(Some).ok_or_else(|| Refusal::config(why()))
    }

    /// What the config says of many machines.
    fn share(self, mut builder: LimiterBuilder) -> Result<LimiterBuilder, Refusal> {
        builder = match (self.on_miss, self.wait_ns) {
            (0, 0) => builder,
            (miss, wait_ns) if miss == RATECELL_MISS_WAIT as u64 => {
                builder.on_miss(OnMiss::Wait(Duration::from_nanos(wait_ns)))
            }
            (miss, 0) if miss == RATECELL_MISS_DENY as u64 => builder.on_miss(OnMiss::Deny),
            (miss, wait_ns) => {
                let why = format!(
                    "on_miss {miss} with wait_ns {wait_ns}: expected a ratecell_on_miss, a wait only of RATECELL_MISS_WAIT"
                );
                return Err(Refusal::config(why));
            }
        };
        builder = match (self.on_failure, u32::try_from(self.machines)) {
            (failure, Ok(0)) if failure == RATECELL_FAILURE_CLOSED as u64 => builder,
            (failure, Ok(0)) if failure == RATECELL_FAILURE_OPEN as u64 => {
                builder.on_failure(OnFailure::Open)
            }
            (failure, Ok(machines @ 1..)) if failure == RATECELL_FAILURE_LOCAL as u64 => {
                builder.on_failure(OnFailure::Local { machines })
            }
            (failure, _) => {
                let why = format!(
                    "on_failure {failure} with {} machines: expected a ratecell_on_failure, machines only and at least 1 with RATECELL_FAILURE_LOCAL",
                    self.machines
                );
                return Err(Refusal::config(why));
            }
        };
        if self.store.is_null() && self.store_name.is_null() {
            if self.policy_version > 0 {
                let why =
                    "policy_version: expected a store beside it, or 0; the agent of a file of leases has it";
                return Err(Refusal::config(why.to_owned()));
            }
            return Ok(builder);
        }
        // SAFETY: by the caller's word, each is NULL or a text that nobody changes during the call.
        let texts = unsafe { (plain(self.store, "store")?, plain(self.store_name, "store_name")?) };
        if self.policy_version > 0 {
            builder = builder.policy_version(self.policy_version);
        }
        shared_by(builder, texts)
    }

    /// Refuses a config that says more than where the reason for an error goes, for a call that makes `what`.
    pub(super) fn expect_defaults(&self, what: &str) -> Result<(), Refusal> {
        let said = [
            ("max_keys", self.max_keys != 0),
            ("when_full", self.when_full != 0),
            ("flags", self.flags != 0),
            ("on_miss", self.on_miss != 0),
            ("wait_ns", self.wait_ns != 0),
            ("on_failure", self.on_failure != 0),
            ("machines", self.machines != 0),
            ("store", !self.store.is_null()),
            ("store_name", !self.store_name.is_null()),
            ("epoch_s", self.epoch_s != 0),
            ("beside", !self.beside.is_null()),
            ("policy_version", self.policy_version != 0),
            ("file", !self.file.is_null()),
        ];
        match said.into_iter().find(|(_, is_said)| *is_said) {
            Some((field, _)) => Err(Refusal::config(format!("{field}: expected 0 for {what}"))),
            None => Ok(()),
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

    pub(super) fn when_full(self) -> Result<WhenFull, ratecell_status> {
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

/// The text of a field.
///
/// # Safety
/// If `text` is not NULL, it is a text that ends with a NUL and that nobody changes while it is used.
unsafe fn plain<'a>(text: *const c_char, field: &str) -> Result<&'a str, Refusal> {
    if text.is_null() {
        return Err(Refusal::config(format!(
            "{field} is NULL: expected a store and a store_name, or neither"
        )));
    }
    // SAFETY: the caller's word.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes.to_str().map_err(|_| Refusal::config(format!("{field} is not UTF-8")))
}

#[cfg(feature = "store")]
fn shared_by(builder: LimiterBuilder, (url, name): (&str, &str)) -> Result<LimiterBuilder, Refusal> {
    let store = ratecell_sync::Store::open(url).and_then(|store| store.named(name));
    let store = store.map_err(|error| Refusal::new(RATECELL_ESTORE, error.to_string()))?;
    Ok(builder.shared_by(store))
}

#[cfg(not(feature = "store"))]
fn shared_by(_: LimiterBuilder, (_, name): (&str, &str)) -> Result<LimiterBuilder, Refusal> {
    Err(Refusal::config(format!(
        "store: this library has no client of a store; expected one that was built with the feature store, or a file that `ratecell sync FILE STORE --name {name}` made"
    )))
}
