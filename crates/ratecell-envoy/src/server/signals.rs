//! Signals.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{self, SignalKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    End,
    Reload,
}

/// Those that come from now on. Made and asked within a runtime.
pub(super) struct Signals {
    #[cfg(unix)]
    kinds: [unix::Signal; 3],
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn new() -> io::Result<Self> {
        let kinds = [
            unix::signal(SignalKind::interrupt())?,
            unix::signal(SignalKind::terminate())?,
            unix::signal(SignalKind::hangup())?,
        ];
        Ok(Self { kinds })
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for one.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) -> Signal {
        let Self { kinds: [interrupt, terminate, hangup] } = self;
        tokio::select! {
            _ = interrupt.recv() => Signal::End,
            _ = terminate.recv() => Signal::End,
            _ = hangup.recv() => Signal::Reload,
        }
    }

    /// Waits for one.
    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) -> Signal {
        // Where it cannot be heard, the server ends at once rather than never.
        let _ = tokio::signal::ctrl_c().await;
        Signal::End
    }
}
