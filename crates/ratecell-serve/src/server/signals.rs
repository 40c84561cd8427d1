//! Signals.

use std::io;

use tokio::runtime::{Builder, Runtime};
#[cfg(unix)]
use tokio::signal::unix::{self, SignalKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    End,
    Reload,
}

/// Those that come from now on.
pub(super) struct Signals {
    runtime: Runtime,
    #[cfg(unix)]
    kinds: [unix::Signal; 3],
}

pub(super) fn listen() -> io::Result<Signals> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    #[cfg(unix)]
    let kinds = {
        let _entered = runtime.enter();
        [
            unix::signal(SignalKind::interrupt())?,
            unix::signal(SignalKind::terminate())?,
            unix::signal(SignalKind::hangup())?,
        ]
    };
    Ok(Signals {
        runtime,
        #[cfg(unix)]
        kinds,
    })
}

impl Signals {
    /// Waits for one.
    #[cfg(unix)]
    pub(super) fn next(&mut self) -> Signal {
        let Self { runtime, kinds: [interrupt, terminate, hangup] } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => Signal::End,
                _ = terminate.recv() => Signal::End,
                _ = hangup.recv() => Signal::Reload,
            }
        })
    }

    /// Waits for one.
    #[cfg(not(unix))]
    pub(super) fn next(&mut self) -> Signal {
        // Where it cannot be heard, the server ends at once rather than never.
        let _ = self.runtime.block_on(tokio::signal::ctrl_c());
        Signal::End
    }
}
