//! `ratecell replay`: what would policies have done to the requests of a log?

use anyhow::Result;
use ratecell_study::Wish;

use crate::cli::ReplayArgs;
use crate::log::{Assumptions, Decide, Logged, Period, Recording, decide};
use crate::output::{complain, print};

mod layers;
mod page;
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
    let observer = |digits| {
        let recording = args.report.as_ref().map(|_| Recording::new(Wish::DenyNobody, assumptions));
        let tally = Tally::new(args.policies, args.max_keys, assumptions, digits)?;
        Ok(Observer { tally, recording: recording.transpose()? })
    };
    let (decided, recording) = decide(&args.log, args.report.is_some(), observer)?
        .split(|Observer { tally, recording }| (tally, recording));
    let report = Report::new(&decided, args.top);
    if let (Some(path), Some(recording)) = (&args.report, recording) {
        page::write(path, &decided, &recording.recorder.finish()?, &report, args.max_keys)?;
    }
    if args.json {
        report.warnings().for_each(complain);
        print(serde_json::to_string(&report)?)
    } else {
        print(report)
    }
}

/// Counts what policies do, and keeps the requests where a page is asked for.
struct Observer {
    tally: Tally,
    recording: Option<Recording>,
}

impl Decide for Observer {
    fn decide(&mut self, time_ns: u64, request: Logged) {
        self.tally.decide(time_ns, request);
        if let Some(recording) = &mut self.recording {
            recording.decide(time_ns, request);
        }
    }

    fn finish(&mut self) {
        self.tally.finish();
        if let Some(recording) = &mut self.recording {
            recording.finish();
        }
    }

    fn extent(&self) -> (u64, Option<Period>) {
        self.tally.extent()
    }
}
