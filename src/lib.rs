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

#[cfg(not(target_os = "linux"))]
compile_error!("ratecell is for Linux: its shared memory, its files and its clock rely on it");

mod sync;
mod clock;
mod error;
mod cell;
mod table;
#[cfg(not(all(test, any(ratecell_loom, ratecell_shuttle))))]
mod region;
mod limiter;
#[cfg(feature = "capi")]
#[expect(unsafe_code, reason = "C hands over pointers")]
pub mod ffi;
#[cfg(doctest)]
mod docs;

pub use error::{BuildError, RegionError, RegionField};
pub use limiter::{Claim, DirectLimiter, Limiter, LimiterBuilder};
pub use ratecell_core::{
    Decision, Emission, Mode, Outcome, Policy, PolicyBuilder, PolicyError, PolicyErrorKind, Request,
    Resolved, Start, builder, fields, headers,
};
pub use table::{Memory, Stats, WhenFull};

#[cfg(test)]
mod tests;
