//! Many machines share one limit through a store such as Redis or Valkey.
//!
//! The store holds one value a key, the words of its layers, and adds units to them within bounds that
//! [`ratecell_core::algorithm::Span`] gives: it knows no algorithm. [`Store`] is its client, and an [`Agent`] decides what to
//! ask for.

mod store;
mod agent;

pub use agent::*;
pub use store::*;

use arrayvec::ArrayVec;

/// One of each layer of a policy.
pub type Layered<T> = ArrayVec<T, MOST_LAYERS>;
/// The words of a key, one of each layer.
pub type Words = Layered<u64>;
