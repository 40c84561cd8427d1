//! `ratecell suggest`: which limit would do what is wished to the requests of a log?

use anyhow::{Result, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use ratecell_study::{PARTITIONS, Study};

use crate::cli::SuggestArgs;
use crate::log::{Assumptions, Decided, LogReport, Recording, decide};
use crate::output::{complain, print};

mod report;
mod text;

use report::Report;

/// Calls of the study's progress in each round.
const PARTS: u64 = PARTITIONS as u64;

pub(crate) fn run(args: &SuggestArgs) -> Result<()> {
    let (assumptions, wish) = (Assumptions::new(&args.log), args.wish.wish());
    if assumptions.window_ns.is_none() {
        bail!("--order file: expected --order time: what earlier requests suggest is tried on later ones");
    }
    let recorded = decide(&args.log, false, |_| Recording::new(wish, assumptions))?;
    let log = LogReport::new(&recorded, &recorded.decider.timeline, assumptions);
    let Decided { keys, decider, period, .. } = recorded;
    let of_log = |error| anyhow!("{} requests: {error}", log.records);
    let study =
        decider.recorder.finish().and_then(|recording| Study::new(recording, wish)).map_err(of_log)?;
    let progress = progress(&log)?;
    let suggestion = study.suggest(&|| {
        if progress.position() >= PARTS {
            progress.reset();
        }
        progress.inc(1);
    })?;
    progress.finish_and_clear();
    let report = Report::new(log, &study, &suggestion, &keys, period);
    if args.json {
        report.warnings().for_each(complain);
        print(serde_json::to_string(&report)?)
    } else {
        print(report)
    }
}

/// A bar over each round, if they take long and somebody watches.
fn progress(log: &LogReport) -> Result<ProgressBar> {
    /// Requests from here on take long enough to watch.
    const LONG: u64 = 300_000;
    if log.records < LONG || !std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        return Ok(ProgressBar::hidden());
    }
    let style = ProgressStyle::with_template("{bar:40} of a round of 200 policies, {eta}")?;
    Ok(ProgressBar::new(PARTS).with_style(style))
}
