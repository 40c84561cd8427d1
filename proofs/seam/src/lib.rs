//! The kernels as functions of plain numbers.
//!
//! Each export makes kernels of their parameters and calls one of their functions, which is named by a number. What it
//! returns goes to the host, one call for each number.
#![cfg(ratecell_proofs)]

mod calls;
mod changes;
mod divider;
mod kernels;
mod leases;

/// The divider that ships. The kernels here divide by plain division.
#[path = "../../../crates/ratecell-core/src/algorithm/divide.rs"]
mod shipped;
