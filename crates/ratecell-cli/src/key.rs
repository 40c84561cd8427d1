//! `ratecell key`: what one key of the region in a file may do now.

use std::sync::Arc;

use anyhow::{Result, bail};
use ratecell::{Decision, Limiter, Policy, Region};

use crate::check::{HEADING, row};
use crate::cli::KeyArgs;
use crate::output::{one_line, print, table};

/// How often a region is read whose policy is changed at the same time.
const ATTEMPTS: usize = 100;

pub(crate) fn run(args: &KeyArgs) -> Result<()> {
    let (file, key) = (args.file.display(), one_line(&args.key));
    // A region is read before it is opened, which would make one where there is none.
    let region = Region::read(&args.file)?;
    if region.policy().asks_for_zone() {
        bail!(
            "{file}: {} asks each request for its zone: expected a policy without tz=caller",
            region.policy()
        );
    }
    if args.forget {
        let limiter = Limiter::following().open(&args.file)?;
        let policy = limiter.policy();
        return if limiter.forget(&args.key) {
            print(format_args!("{key} is forgotten: {policy} has it as a key never seen"))
        } else {
            print(format_args!("{key} was not seen, or all that it used has drained: nothing to forget"))
        };
    }
    let (policy, decision) = peek(args, region)?;
    let seen =
        if decision.reset_after().is_zero() { ": never seen, or all that it used has drained" } else { "" };
    let table = table(HEADING, 2, vec![row("a peek", decision)]);
    print(format_args!("{policy} of {key}{seen}\n{table}"))
}

/// What the key may do, and by which policy. Only the units of many machines take more than reading the file: their agent is
/// asked.
fn peek(args: &KeyArgs, mut region: Region) -> Result<(Arc<Policy>, Decision)> {
    if region.shared().is_some() {
        let limiter = Limiter::following().open(&args.file)?;
        return Ok((limiter.policy(), limiter.peek(&args.key)));
    }
    for _ in 0..ATTEMPTS {
        let decision = region.peek(&args.key);
        if !region.is_outdated() {
            return Ok((Arc::new(region.policy().clone()), decision));
        }
        region = Region::read(&args.file)?;
    }
    bail!("{}: the policy is changed again and again: expected one that stays", args.file.display())
}
