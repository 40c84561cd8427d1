//! `ratecell replay`: what would policies have done to the requests of a log?

use anyhow::Result;

use crate::cli::ReplayArgs;
use crate::log::{Assumptions, decide};
use crate::output::{complain, print};

mod layers;
mod report;
mod rules;
mod tally;
mod text;

use report::Report;
use tally::Tally;

pub(crate) fn run(args: ReplayArgs) -> Result<()> {
    if let Some(path) = &args.rules {
        return rules::run(path, &args);
    }
    let assumptions = Assumptions::new(&args.log);
    let tally = |digits| Tally::new(args.policies, args.max_keys, assumptions, digits);
    let report = Report::new(&decide(&args.log, tally)?, args.top);
    if args.json {
        report.warnings().for_each(complain);
        print(serde_json::to_string(&report)?)
    } else {
        print(report)
    }
}
