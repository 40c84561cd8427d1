#![doc = include_str!("../README.md")]
//!
//! The modules stand in dependency order: each imports only from those above it.

mod key;
mod head;
mod error;
mod refusal;
mod fields;
mod used;
mod held;
mod told;
mod limits;
mod rules;
mod decider;

pub use decider::{Counts, Decider, OnFault, Pass, Verdict};
pub use error::ConfigError;
pub use fields::{FIELD_NAMES, is_list, later};
pub use head::{Head, HeadAttributes, client_key, host, is_grpc, rule_clients};
pub use held::Held;
pub use key::Key;
pub use limits::{Claimed, Limit, Limits};
pub use refusal::{Reason, Refusal};
pub use rules::RuleLimits;
pub use used::Used;
