//! What every decision of the rate limiter `ratecell` is: policies, words, and the arithmetic between them.
//!
//! A *word* is one key's whole state, a `u64`. A [`Policy`] is read from text or built; each of its layers has a
//! kernel that implements [`Algorithm`](algorithm::Algorithm), whose `step` decides a request on a word and returns
//! the next word. This crate keeps no words: it has no atomics, no clock, no I/O and no `unsafe` code. `ratecell`
//! keeps them in a concurrent table and re-exports what its users need; a store elsewhere decides by the same lines.
//!
//! ```text
//! request · error · decision → algorithm → policy → structured → client_key · waiting · fields
//! ```
//!
//! Each module imports only from those to its left.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod request;
mod error;
mod decision;
pub mod algorithm;
mod policy;
mod structured;
pub mod client_key;
pub mod waiting;
pub mod fields;

pub use algorithm::params::{Mode, Start};
pub use algorithm::words::{WholeUnits, whole_units};
pub use algorithm::{Emission, Resolved};
pub use decision::{Decision, Outcome};
pub use error::{PolicyError, PolicyErrorKind};
pub use policy::{Layer, Policy, PolicyBuilder};
pub use request::{Key, Request};

/// What each algorithm's [`PolicyBuilder`] is marked with.
pub mod builder {
    pub use crate::policy::{
        FixedWindow, Gcra, LeakyMeter, LeakyQueue, SlidingLog, SlidingWindow, TokenBucket,
    };
}

#[cfg(test)]
mod tests;
