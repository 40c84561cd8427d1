//! `ratecell check`: what a limiter answers, for a person to read.

use std::time::Duration;

use anyhow::Result;
use ratecell::{Decision, Limiter, Outcome};

use crate::cli::CheckArgs;
use crate::output::{print, table};

/// The columns of a [`row`].
pub(crate) const HEADING: [&str; 7] =
    ["request", "outcome", "limit", "remaining", "retry after", "reset after", "delay"];

pub(crate) fn run(args: CheckArgs) -> Result<()> {
    let limiter = Limiter::builder(args.policy).max_keys(1).build()?;
    let now = args.at.unwrap_or_else(|| limiter.now_ns());
    let rows = (1..=args.times)
        .map(|request| row(&request.to_string(), limiter.check_at(&args.key, args.cost, now)));
    let table = table(HEADING, 2, rows.collect());
    let policy = limiter.policy();
    print(format_args!("{policy} of {} at {now} ns, cost {}\n{table}", args.key, args.cost))
}

/// A decision as a row of a table, under a name.
pub(crate) fn row(name: &str, decision: Decision) -> [String; 7] {
    let outcome = match decision.outcome() {
        Outcome::Allowed => "allowed",
        Outcome::Denied => "denied",
        Outcome::Never => "never: the cost exceeds the limit",
        _ => "clock_range: the time is past what the policy serves",
    };
    let duration = |duration: Duration| format!("{duration:?}");
    [
        name.to_owned(),
        outcome.to_owned(),
        decision.limit().to_string(),
        decision.remaining().to_string(),
        decision.retry_after().map_or_else(|| "never".to_owned(), duration),
        duration(decision.reset_after()),
        duration(decision.delay()),
    ]
}
