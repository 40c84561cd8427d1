//! The decisions of the rate limiter `ratecell`: policies, words, and the arithmetic between them.
//!
//! A *word* is the whole state of one key, a `u64`. A [`Policy`] is parsed from text or built. Each of its layers has a
//! kernel that implements [`Algorithm`](algorithm::Algorithm): its `step` decides a request on a word and returns the next
//! word. This crate stores no words. It has no atomics, no clock, no I/O and no `unsafe` code; only the feature
//! `system-zones` reads files, those of the system's time zones. `ratecell` stores the words in a concurrent table, and
//! re-exports the items that its users need. Another store can decide by the same code.
//!
//! ```text
//! error · decision · zone → request → algorithm → policy → structured → client_key · waiting · fields
//! ```
//!
//! Each module imports only from those to its left.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(test, feature = "system-zones"))]
extern crate std;

mod error;
mod decision;
mod zone;
mod request;
pub mod algorithm;
mod policy;
mod structured;
pub mod client_key;
pub mod waiting;
pub mod fields;

pub use algorithm::params::{Mode, Start};
pub use algorithm::words::{WholeUnits, whole_units};
pub use algorithm::{Emission, Resolved};
pub use decision::{Combined, Decision, Outcome};
pub use error::{PolicyError, PolicyErrorKind};
pub use policy::{ChangeError, Generation, Layer, Policy, PolicyBuilder};
pub use request::{Key, Request};
pub use zone::{Period, Weekday, Zone};

/// What each algorithm's [`PolicyBuilder`] is marked with.
pub mod builder {
    pub use crate::policy::{
        CalendarWindow, FixedWindow, Gcra, InFlight, LeakyMeter, LeakyQueue, SlidingLog, SlidingWindow,
        TokenBucket,
    };
}

#[cfg(test)]
mod tests;
