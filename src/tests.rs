//! Tests that need the inside of the crate. What can be tested from outside stands in `tests/`.

mod conventions;
pub(crate) mod kernels;
mod layering;
#[cfg(not(any(ratecell_model, miri)))]
mod versions;
#[cfg(not(ratecell_model))]
mod newcomers;
#[cfg(not(ratecell_model))]
mod numbers;
#[cfg(not(ratecell_model))]
mod stress;

/// The crate's atomics and memory under a model checker.
#[cfg(ratecell_model)]
pub(crate) mod model;
#[cfg(ratecell_model)]
mod models;
