//! Envoy's rate limit service, decided by ratecell's rules: a drop-in for envoyproxy/ratelimit.
//!
//! [`Import`] writes the files of envoyproxy/ratelimit as a file of rules. `docs/SERVERS.md` describes the service.
//!
//! ```text
//! error · names → yaml → config → import
//! ```
//!
//! Each module imports only from those to its left.
#![forbid(unsafe_code)]

mod error;
mod names;
mod yaml;
mod config;
mod import;

pub use error::{EnvoyError, ImportError};
pub use import::Import;
