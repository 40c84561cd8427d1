#![doc = include_str!("../README.md")]
//!
//! # The way through the crate
//!
//! ```text
//! key ─ keyed hash ─► two candidate buckets ─► slot {tag, word}
//!                                                │ load
//!            now, cost ────────────► Algorithm::step(word, now, cost)   pure, total, integers only
//!                                                │ (word', decision)
//!                        denied or peek: no store │ allowed: one compare-and-swap
//!                                                ▼
//!                                            Decision
//! ```
//!
//! The modules below stand in dependency order: each imports only from those above it.
#![cfg_attr(
    all(test, any(ratecell_loom, ratecell_shuttle)),
    expect(dead_code, reason = "the models' memory is of one process: they have no regions")
)]

mod sync;
mod clock;
#[cfg(not(all(test, any(ratecell_loom, ratecell_shuttle))))]
#[expect(unsafe_code, reason = "memory is mapped, zeroed and shared")]
mod memory;
#[cfg(all(test, any(ratecell_loom, ratecell_shuttle)))]
use tests::model as memory;
mod error;
mod cell;
mod table;
#[cfg(not(all(test, any(ratecell_loom, ratecell_shuttle))))]
#[cfg_attr(not(target_os = "linux"), path = "region/elsewhere.rs")]
mod region;
mod limiter;
#[cfg(feature = "capi")]
#[expect(unsafe_code, reason = "C hands over pointers")]
pub mod ffi;
#[cfg(doctest)]
mod docs;

pub use error::{BuildError, RegionError, RegionField};
pub use limiter::{Claim, DirectLimiter, Limiter, LimiterBuilder};
pub use memory::{Memory, MemoryError};
pub use ratecell_core::{
    Decision, Emission, Mode, Outcome, Policy, PolicyBuilder, PolicyError, PolicyErrorKind, Request,
    Resolved, Start, builder, client_key, fields, waiting,
};
pub use table::{Stats, WhenFull};

#[cfg(test)]
mod tests;
