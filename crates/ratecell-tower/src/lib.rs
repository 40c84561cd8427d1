#![doc = include_str!("../README.md")]
//!
//! The modules stand in dependency order: each imports only from those above it.

mod head;
mod limit;
mod fields;
mod body;
mod response;
mod shared;
mod future;
mod service;
mod layer;

pub use body::ResponseBody;
pub use future::ResponseFuture;
pub use head::{PeerAddress, RequestHead};
pub use layer::{RateLimitBuilder, RateLimitLayer};
pub use limit::Limit;
pub use ratecell_http::{ConfigError, Counts, Key, OnFault, Reason, Refusal, Used};
pub use service::RateLimit;
