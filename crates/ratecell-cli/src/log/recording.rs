//! The requests of a log, kept at the times at which they are decided.

use anyhow::Result;
use ratecell_study::{Recorder, Wish};

use super::assumptions::Assumptions;
use super::period::Period;
use super::pipeline::Decide;
use super::question::Logged;
use super::timeline::Timeline;

/// Records requests when their time has come.
pub(crate) struct Recording {
    pub(crate) recorder: Recorder,
    pub(crate) timeline: Timeline<Logged>,
}

impl Recording {
    pub(crate) fn new(wish: Wish, assumptions: Assumptions) -> Result<Self> {
        Ok(Self { recorder: Recorder::new(wish)?, timeline: Timeline::new(assumptions) })
    }
}

impl Decide for Recording {
    fn decide(&mut self, time_ns: u64, request: Logged) {
        let Self { recorder, timeline } = self;
        timeline.note(time_ns);
        timeline.push(time_ns, request.digits, request, |when, Logged { key, cost, .. }| {
            recorder.push(when.now_ns, key, cost);
        });
    }

    fn finish(&mut self) {
        let Self { recorder, timeline } = self;
        timeline.finish(|when, Logged { key, cost, .. }| recorder.push(when.now_ns, key, cost));
    }

    fn extent(&self) -> (u64, Option<Period>) {
        (self.timeline.records, self.timeline.period)
    }
}
