//! The atomics of the crate: std's, or in its own tests those of a model checker.
//!
//! The shim renames and never weakens. The rest of the crate does not mention the checkers, and is
//! written in the part of the API that all three share.

#[cfg(not(all(test, any(ratecell_loom, ratecell_shuttle))))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering, fence};

#[cfg(all(test, any(ratecell_loom, ratecell_shuttle)))]
pub(crate) use crate::tests::model::{AtomicU64, Ordering, fence};

#[cfg(not(target_has_atomic = "64"))]
compile_error!("ratecell needs 64-bit atomics: without them a check would take a hidden lock");
