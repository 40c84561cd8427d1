//! ratecell is a rate limiter that runs inside your process. Its decisions are exact, cost about one
//! cache-line fetch, and use a fixed amount of memory.
//!
//! What holds for every function here:
//!
//! - Names. Functions and types begin with ratecell_, constants with RATECELL_. Times are whole
//!   nanoseconds and end in _ns. Keys are bytes with a length; they are read during the call and not kept.
//! - Status. A negative int32_t is an error, listed in ratecell_status: nothing was charged and no output
//!   was written, except a config's why. 0 is success, or allowed; a positive status is any other outcome.
//!   Lengths of text are returned as positive numbers. New statuses may be added; none changes its meaning.
//! - NULL. Every pointer is checked. A NULL where none is allowed returns RATECELL_EINVAL, and a pointer that
//!   is not aligned for its type RATECELL_EALIGN. Each function says what may be NULL. The library cannot
//!   verify that memory is valid for its length; that is the caller's responsibility.
//! - Requests. A ratecell_request says all that a decision depends on: the key or its hash, the units, the
//!   time, the longest delay. Variants are flags and fields of it, so one function decides them all;
//!   ratecell_limiter_check and _check_at are shorthands for the plain request. Unknown flags are refused.
//! - Reservations. A request with RATECELL_RESERVE also writes a ratecell_reservation: plain data that says
//!   what was charged. Nothing is kept in the library for it, and it needs no end. ratecell_limiter_settle gives
//!   back what was not used, ratecell_limiter_release gives back a permit of the layers in_flight, and
//!   ratecell_limiter_renew keeps one. What a request by rules holds is a row of them, one for each rule, that
//!   only the rules can find the tables of: so ratecell_rules_settle and ratecell_rules_release are functions of
//!   their own.
//! - Zones. A limiter whose policy has tz=caller decides by the windows of the zone that each request names. A
//!   ratecell_zone is that zone made ready, so that a check computes no window.
//! - Threads. A function that takes a const pointer to a limiter may be called from any number of
//!   threads at once, on one limiter too, and from a signal handler, unless it says otherwise. There are
//!   no callbacks, no errno, no last error, no thread and no timer.
//! - Ownership. ratecell_limiter_free frees a limiter, once, when no call on it is under way. After fork(),
//!   parent and child each limit on their own with a limiter of ratecell_limiter_new or ratecell_rules_new; with
//!   RATECELL_FORKED the latter has tables that they share. Limiters of
//!   ratecell_region_init, ratecell_region_attach and ratecell_limiter_open have their tables in memory that
//!   processes share: parent and child both go on with the same tables, each with its own copy of the limiter.
//! - Regions. Memory that processes share holds tables and a header that describes them, and no pointers: it
//!   may be mapped at any address. A process that stops or dies, at any instruction of a check, blocks no
//!   other process and leaves nothing to repair. The region fixes what the words of its tables mean
//!   (algorithm, windows, number of layers, max_keys, when_full); rate, burst, capacity and limit belong to
//!   each limiter, until ratecell_limiter_change changes those of the region.
//! - Memory. A table is allocated as a whole when it is made, or RATECELL_ENOMEM is returned. A check
//!   allocates nothing, blocks nowhere, and makes no system call except to read the clock. There are four
//!   exceptions. A sliding_log policy allocates a key's log and locks briefly, so it must not be used in a
//!   signal handler. ratecell_rules_decide allocates in the first decisions of a thread, so it must not be
//!   used there either. After a ratecell_limiter_change the next call on each limiter, and the first of each
//!   thread, allocates and locks, so a limiter whose policy changes must not be used there. And where the few
//!   hundred bytes beside a table cannot be allocated, the process aborts, as Rust programs do.
//! - Versions. A program works with every later library of the same soname. ratecell_request,
//!   ratecell_decision, ratecell_claim, ratecell_answer, ratecell_reservation and other structs that are
//!   frozen, as they say, never change. ratecell_config and ratecell_stats may grow at their ends; their
//!   sizes say how far they go. Before 1.0 each minor version has a soname of its own.

#![expect(non_camel_case_types, reason = "these are the names of the C header")]
#![expect(
    clippy::missing_safety_doc,
    reason = "the contract of every pointer is that of the header's preamble"
)]

mod batch;
mod change;
mod check;
mod clients;
mod config;
mod decision;
mod fields;
mod flags;
mod joint;
mod limiter;
mod pointer;
mod policy;
mod request;
mod reservation;
mod regions;
mod rules;
mod stats;
mod status;
mod text;
mod version;
mod waiting;
mod why;
mod zone;

pub use batch::ratecell_limiter_decide_batch;
pub use change::ratecell_limiter_change;
pub use check::{
    ratecell_limiter_check, ratecell_limiter_check_at, ratecell_limiter_decide, ratecell_limiter_forget,
};
pub use clients::{
    RATECELL_CLIENT_KEY_SIZE, ratecell_client_key, ratecell_client_kind, ratecell_clients,
    ratecell_clients_config, ratecell_clients_free, ratecell_clients_new, ratecell_line,
};
pub use config::{ratecell_config, ratecell_on_failure, ratecell_on_miss, ratecell_when_full};
pub use decision::{
    RATECELL_LEASED, RATECELL_NO_PLACE, RATECELL_NO_ZONE, RATECELL_UNANSWERED, ratecell_decision,
};
pub use fields::{ratecell_answer, ratecell_fields, ratecell_style};
pub use flags::{
    RATECELL_AT, RATECELL_CANCEL, RATECELL_CHANGE, RATECELL_CHARGE, RATECELL_EXACT, RATECELL_FOLLOW,
    RATECELL_FORKED, RATECELL_HASHED, RATECELL_NAMES, RATECELL_NEXT, RATECELL_RESERVATIONS, RATECELL_RESERVE,
    RATECELL_TRY, RATECELL_WITHIN, RATECELL_ZEROED,
};
pub use joint::ratecell_decide_all;
pub use limiter::{
    ratecell_limiter, ratecell_limiter_epoch, ratecell_limiter_free, ratecell_limiter_new,
    ratecell_limiter_now, ratecell_limiter_policy,
};
pub use policy::{ratecell_policy_explain, ratecell_policy_format};
pub use regions::{
    ratecell_limiter_open, ratecell_limiter_with_policy, ratecell_region_attach, ratecell_region_init,
    ratecell_region_size,
};
pub use request::{ratecell_claim, ratecell_request};
pub use reservation::{
    ratecell_limiter_release, ratecell_limiter_renew, ratecell_limiter_settle, ratecell_reservation,
};
pub use rules::{
    RATECELL_RULE_NAME_SIZE, ratecell_attribute, ratecell_rules, ratecell_rules_answer,
    ratecell_rules_change, ratecell_rules_claim, ratecell_rules_decide, ratecell_rules_fields,
    ratecell_rules_free, ratecell_rules_held, ratecell_rules_new, ratecell_rules_release,
    ratecell_rules_request, ratecell_rules_settle, ratecell_rules_shadow, ratecell_rules_stats,
};
pub use stats::{ratecell_limiter_stats, ratecell_stats};
pub use status::{ratecell_status, ratecell_strerror};
pub use version::ratecell_version_number;
pub use waiting::{
    ratecell_wait_action, ratecell_wait_action_kind, ratecell_wait_event, ratecell_wait_event_kind,
    ratecell_wait_outcome, ratecell_waiting, ratecell_waiting_event, ratecell_waiting_free,
    ratecell_waiting_new, ratecell_waiting_parameters,
};
pub use zone::{ratecell_zone, ratecell_zone_free, ratecell_zone_new};
