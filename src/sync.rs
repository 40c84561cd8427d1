//! The atomics of the crate: std's, or in its own tests those of a model checker. And the [`Pair`], which is two of them.
//!
//! The shim renames and never weakens. The rest of the crate does not mention the checkers, and is
//! written in the part of the API that all three share.

#[cfg(not(ratecell_model))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(ratecell_model)]
pub(crate) use crate::tests::model::{AtomicU32, AtomicU64, Ordering, fence};

mod pair;

pub(crate) use pair::Pair;

#[cfg(not(target_has_atomic = "64"))]
compile_error!("ratecell needs 64-bit atomics: without them a check would take a hidden lock");
