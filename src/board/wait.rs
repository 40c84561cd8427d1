//! Waiting for a word to change: by a futex on Linux, which works across processes; elsewhere in steps; and as a model
//! checker's threads wait.
//!
//! `wait` returns once the word is another than `expected`, or after `at_most`, or before; false says that it was for
//! `at_most`. A change that is followed by a call to wake is never slept through: the futex compares the word and goes to
//! sleep in one step.

#[cfg(all(target_os = "linux", not(ratecell_model)))]
mod futex;
#[cfg(all(any(test, not(target_os = "linux")), not(ratecell_model)))]
mod steps;

#[cfg(ratecell_model)]
pub(super) use crate::tests::model::{wait, wake_all, wake_one};
#[cfg(all(target_os = "linux", not(ratecell_model)))]
pub(super) use futex::{wait, wake_all, wake_one};
#[cfg(not(any(target_os = "linux", ratecell_model)))]
pub(super) use steps::wait;

/// Nobody sleeps for longer than a step.
#[cfg(not(any(target_os = "linux", ratecell_model)))]
pub(super) fn wake_one(_: &crate::sync::AtomicU32) {}

/// As above.
#[cfg(not(any(target_os = "linux", ratecell_model)))]
pub(super) fn wake_all(_: &crate::sync::AtomicU32) {}
