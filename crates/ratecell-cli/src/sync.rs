//! `ratecell sync`: the agent of a machine, as a process.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ratecell::store::Store;
use ratecell::{Limiter, Shared};

use crate::cli::SyncArgs;
use crate::output::{complain, print};

/// How often the agent's warnings are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// So many looks in a row without a sign of life, and the agent has ended. It needs some after the process was stopped.
const GONE: u32 = 10;

pub(crate) fn run(args: SyncArgs) -> Result<()> {
    let SyncArgs { file, store, name, policy, policy_version, max_keys, on_failure } = args;
    let store = Store::open(&store)?.named(&name)?;
    // Before the file is there: a signal that comes from now on ends the agent cleanly.
    let (ended, end) = channel();
    ctrlc::set_handler(move || {
        // The receiver is gone where the agent ends by itself.
        let _ = ended.send(());
    })
    .context("signals cannot be received")?;
    let builder = policy.map_or_else(Limiter::following, Limiter::builder).shared_by(store);
    let builder = match policy_version {
        Some(version) => builder.policy_version(version),
        None => builder,
    };
    let builder = match max_keys {
        Some(max_keys) => builder.max_keys(max_keys),
        None => builder,
    };
    let builder = match on_failure {
        Some(on_failure) => builder.on_failure(on_failure),
        None => builder,
    };
    let limiter = builder.open(&file)?;
    let shared = || limiter.shared().unwrap_or_default();
    let mut warned = Vec::new();
    warn(&shared(), &mut warned);
    print(format_args!("ready: {} has \"{}\" by the leases of {name}", file.display(), limiter.policy()))?;
    let mut absent = 0;
    loop {
        match end.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        let shared = shared();
        absent = if shared.has_agent { 0 } else { absent + 1 };
        if absent == GONE {
            match shared.warnings.last() {
                Some(reason) => bail!("the agent has ended: {reason}"),
                None => bail!("the agent has ended"),
            }
        }
        warn(&shared, &mut warned);
    }
}

/// Tells what was not told before. A trouble that is over is told again when it comes back.
fn warn(shared: &Shared, warned: &mut Vec<String>) {
    for warning in shared.warnings.iter().filter(|warning| !warned.contains(warning)) {
        complain(format_args!("warning: {warning}"));
    }
    warned.clone_from(&shared.warnings);
}
