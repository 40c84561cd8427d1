//! What the feature `tracing` tells of: what happens to limiters and their stores. No decision is among it, so no check
//! pays for it. Without the feature these are empty functions.

use std::path::Path;

use super::Limiter;
use ratecell_core::Policy;

/// A limiter was made in memory of its own.
pub(super) fn built(limiter: &Limiter) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: "ratecell", policy = %limiter.policy(), "limiter built");
    #[cfg(not(feature = "tracing"))]
    let _ = limiter;
}

/// A file was made or opened.
pub(super) fn opened(limiter: &Limiter, path: &Path) {
    #[cfg(feature = "tracing")]
    {
        tracing::debug!(target: "ratecell", policy = %limiter.policy(), path = %path.display(), "file opened");
        if let Some(warning) = limiter.warning() {
            tracing::warn!(target: "ratecell", path = %path.display(), "{warning}");
        }
    }
    #[cfg(not(feature = "tracing"))]
    let _ = (limiter, path);
}

/// The policy of a limiter was changed.
pub(super) fn changed(to: &Policy) {
    #[cfg(feature = "tracing")]
    tracing::info!(target: "ratecell", policy = %to, "policy changed");
    #[cfg(not(feature = "tracing"))]
    let _ = to;
}

/// The agent of this process cannot do its work, with its words for why; or can again.
#[cfg(feature = "store")]
pub(super) fn trouble(error: Option<&ratecell_sync::StoreError>) {
    #[cfg(feature = "tracing")]
    match error {
        Some(error) => tracing::warn!(target: "ratecell", "{error}"),
        None => tracing::info!(target: "ratecell", "the store answers again"),
    }
    #[cfg(not(feature = "tracing"))]
    let _ = error;
}
