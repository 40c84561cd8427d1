//! What needs more than the public API.

mod grammar;
#[cfg(feature = "calendar")]
mod moving;
