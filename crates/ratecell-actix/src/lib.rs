#![doc = include_str!("../README.md")]
//!
//! The modules stand in dependency order: each imports only from those above it.

mod head;
mod limit;
mod fields;
mod body;
mod shared;
mod service;
mod middleware;

pub use body::ResponseBody;
pub use limit::Limit;
pub use middleware::{RateLimit, RateLimitBuilder};
pub use ratecell_http::{ConfigError, Counts, Key, OnFault, Reason, Refusal, Used};
pub use service::RateLimitService;
