//! Envoy's rate limit service, decided by ratecell's rules: a drop-in for envoyproxy/ratelimit.
//!
//! [`Import`] writes the files of envoyproxy/ratelimit as a file of rules. `docs/SERVERS.md` describes the service.
//!
//! ```text
//! error · names · proto → yaml → config → import · descriptor · counts → service → server
//! ```
//!
//! Each module imports only from those to its left.
#![forbid(unsafe_code)]

mod error;
mod names;
#[cfg(feature = "server")]
pub mod proto;
mod yaml;
mod config;
mod import;
#[cfg(feature = "server")]
mod descriptor;
#[cfg(feature = "server")]
mod counts;
#[cfg(feature = "server")]
mod service;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "server")]
pub use counts::{Counts, RuleCounts};
#[cfg(feature = "server")]
pub use error::EnvoyError;
pub use error::ImportError;
pub use import::Import;
#[cfg(feature = "server")]
pub use server::{Page, Server, ServerConfig, Tls};
#[cfg(feature = "server")]
pub use service::{ResponseFields, Service, limiter};
