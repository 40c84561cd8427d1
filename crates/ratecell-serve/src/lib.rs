//! Servers that decide by ratecell's limits, in protocols that clients already speak.
//!
//! [`Server`] speaks the Redis protocol, RESP2 and RESP3: `docs/SERVERS.md` says what each command answers. Each thread has
//! an event loop of its own, and all decide on the same tables.
//!
//! The modules below stand in dependency order: each imports only from those above it.

mod error;
mod resp;
mod limits;
#[cfg_attr(not(feature = "server"), expect(dead_code, reason = "what a server counts and asks"))]
mod commands;
#[cfg(feature = "server")]
mod server;

pub use error::ServeError;
pub use limits::{Limits, LimitsBuilder, THROTTLE};
#[cfg(feature = "server")]
pub use server::{Server, ServerConfig};

/// The replies to bytes that come in these parts, as a connection has them: for fuzzing.
#[doc(hidden)]
#[must_use]
pub fn answers<'p>(limits: &std::sync::Arc<Limits>, parts: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    commands::answers(limits, parts)
}
