//! `ratecell key`: what one key of the region in a file may do now.

use anyhow::{Result, bail};
use ratecell::{Limiter, Region};

use crate::check::{HEADING, row};
use crate::cli::KeyArgs;
use crate::output::{one_line, print, table};

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
    let limiter = Limiter::following().open(&args.file)?;
    let policy = limiter.policy();
    if args.forget {
        return if limiter.forget(&args.key) {
            print(format_args!("{key} is forgotten: {policy} has it as a key never seen"))
        } else {
            print(format_args!("{key} was not seen, or all that it used has drained: nothing to forget"))
        };
    }
    let decision = limiter.peek(&args.key);
    let seen =
        if decision.reset_after().is_zero() { ": never seen, or all that it used has drained" } else { "" };
    let table = table(HEADING, 2, vec![row("a peek", decision)]);
    print(format_args!("{policy} of {key}{seen}\n{table}"))
}
