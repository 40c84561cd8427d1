//! Many machines share one limit through a store such as Redis or Valkey.
//!
//! The store holds one value a key, the words of its layers, and adds units to them within bounds that
//! [`ratecell_core::algorithm::Span`] gives: it knows no algorithm. [`Store`] is its client.

mod store;

pub use store::*;
