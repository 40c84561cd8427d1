//! Tests that need the inside of the crate. What can be tested from outside stands in `tests/`.

mod conventions;
mod grammar;
pub(crate) mod kernels;
mod layering;
#[cfg(not(any(ratecell_loom, ratecell_shuttle)))]
mod newcomers;
#[cfg(not(any(ratecell_loom, ratecell_shuttle)))]
mod stress;

/// The crate's atomics and memory under a model checker.
#[cfg(any(ratecell_loom, ratecell_shuttle))]
pub(crate) mod model;
#[cfg(any(ratecell_loom, ratecell_shuttle))]
mod models;
