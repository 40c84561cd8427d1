//! `ratecell change`: another policy for all machines of a store.

use anyhow::Result;
use ratecell::Limiter;
use ratecell::store::Store;

use crate::cli::ChangeArgs;
use crate::output::print;

pub(crate) fn run(args: ChangeArgs) -> Result<()> {
    let ChangeArgs { store, name, policy } = args;
    let store = Store::open(&store)?.named(&name)?;
    // An agent of its own, without leases.
    let limiter = Limiter::following().shared_by(store).max_keys(1).build()?;
    let before = limiter.policy();
    limiter.change(policy)?;
    let now = limiter.policy();
    if now == before {
        print(format_args!("{name} has \"{now}\", as before"))
    } else {
        print(format_args!("{name} has \"{now}\", after \"{before}\""))
    }
}
