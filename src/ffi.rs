//! ratecell decides "may this key do this now?" inside the process that asks: exactly, lock-free, in
//! memory that never grows.
//!
//! What holds for every function here:
//!
//! - Names. Functions and types begin with ratecell_, constants with RATECELL_. Times are whole
//!   nanoseconds and end in _ns. Keys are bytes with a length; they are read during the call and not kept.
//! - Status. A negative int32_t is an error, listed in ratecell_status: nothing was charged and no output
//!   was written. 0 is success, or allowed; a positive status is an answer that is not yes. Lengths of text
//!   are returned as positive numbers. New statuses may be added, none changes its meaning.
//! - NULL. Every pointer is checked. One that must not be NULL and is gives RATECELL_EINVAL; one that is
//!   not aligned for its type, RATECELL_EALIGN. What may be NULL says so. That memory is there, as long as
//!   its length says, nobody can check: it is the caller's to see to.
//! - Threads. A function that takes a const ratecell_limiter pointer may be called from any number of
//!   threads at once, on one limiter too, and from a signal handler, unless it says otherwise. There are
//!   no callbacks, no errno, no last error, no thread and no timer.
//! - Ownership. ratecell_limiter_new makes, ratecell_limiter_free ends, once, when no call is under way.
//!   A limiter is one process's: after fork() parent and child each limit on their own. Those of
//!   ratecell_region_init, ratecell_region_attach and ratecell_limiter_open have their tables in memory that
//!   processes share: after fork() both go on with the same tables, each by its own copy of the limiter.
//! - Regions. Memory that processes share holds tables and a header that says what they are, and no
//!   pointers: it may stand at any address. A process that stops or dies, at any instruction of a check, blocks
//!   nobody and leaves nothing to repair. What the words of the tables mean is the region's (algorithm, windows,
//!   number of layers, max_keys, when_full); rate, burst, capacity and limit are each limiter's own.
//! - Memory. All of a table is taken when it is made, or RATECELL_ENOMEM says that it cannot be. A check
//!   allocates nothing, blocks nowhere and makes no system call but to read the clock. Two things are
//!   otherwise: a sliding_log policy allocates a key's log and locks briefly (no call from a signal handler
//!   there), and where the few hundred bytes beside a table cannot be had, the process ends, as Rust does.
//! - Versions. A program works with every later library of the same soname. ratecell_request and
//!   ratecell_decision never change. ratecell_config and ratecell_stats may grow at their ends, which their sizes tell. Before 1.0
//!   each minor version has a soname of its own.

#![expect(non_camel_case_types, reason = "these are the names of the C header")]
#![expect(
    clippy::missing_safety_doc,
    reason = "the contract of every pointer is that of the header's preamble"
)]

mod batch;
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
mod shared;
mod stats;
mod status;
mod text;
mod version;
mod waiting;
mod why;

pub use batch::ratecell_limiter_decide_batch;
pub use check::{
    ratecell_limiter_check, ratecell_limiter_check_at, ratecell_limiter_decide, ratecell_limiter_forget,
};
pub use clients::{
    RATECELL_CLIENT_KEY_SIZE, ratecell_client_key, ratecell_client_kind, ratecell_clients,
    ratecell_clients_config, ratecell_clients_free, ratecell_clients_new, ratecell_line,
};
pub use config::{ratecell_config, ratecell_when_full};
pub use decision::{RATECELL_NO_PLACE, ratecell_decision};
pub use fields::{ratecell_answer, ratecell_fields, ratecell_style};
pub use flags::{
    RATECELL_AT, RATECELL_CHARGE, RATECELL_EXACT, RATECELL_HASHED, RATECELL_NEXT, RATECELL_WITHIN,
    RATECELL_ZEROED,
};
pub use joint::ratecell_decide_all;
pub use limiter::{
    ratecell_limiter, ratecell_limiter_epoch, ratecell_limiter_free, ratecell_limiter_new,
    ratecell_limiter_now, ratecell_limiter_policy,
};
pub use policy::{ratecell_policy_explain, ratecell_policy_format};
pub use request::{ratecell_claim, ratecell_request, ratecell_reservation, ratecell_zone};
pub use shared::{
    ratecell_limiter_open, ratecell_limiter_with_policy, ratecell_region_attach, ratecell_region_init,
    ratecell_region_size,
};
pub use stats::{ratecell_limiter_stats, ratecell_stats};
pub use status::{ratecell_status, ratecell_strerror};
pub use version::ratecell_version_number;
pub use waiting::{
    ratecell_wait_action, ratecell_wait_action_kind, ratecell_wait_event, ratecell_wait_event_kind,
    ratecell_wait_outcome, ratecell_waiting, ratecell_waiting_event, ratecell_waiting_free,
    ratecell_waiting_new, ratecell_waiting_parameters,
};
