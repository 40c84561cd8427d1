//! What a log is and what was assumed of it: how every report on a log begins.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::args::At;
use super::assumptions::{Assumptions, duration};
use super::files::{FileReport, write_file};
use super::pipeline::Decided;
use super::question::Question;
use super::timeline::Timeline;

const NS: f64 = 1e9;

/// The fields and their order are the documented ones.
#[derive(Debug, Serialize)]
pub(crate) struct LogReport {
    /// Requests that were decided.
    pub(crate) records: u64,
    malformed: u64,
    skipped: u64,
    /// Records that were not decided: those that `--where` left out, and those without a key.
    filtered: u64,
    no_key: u64,
    /// Requests that were decided at no cost, as the field of the cost is not there or no number.
    no_cost: u64,
    /// The times of the earliest and the latest request.
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) files: Vec<FileReport>,
    pub(crate) assumed: Assumed,
    #[serde(skip)]
    pub(crate) assumptions: Assumptions,
}

/// What was asked, and what was assumed of the times.
#[derive(Debug, Serialize)]
pub(crate) struct Assumed {
    /// The options, as they were written.
    pub(crate) key: String,
    pub(crate) cost: String,
    #[serde(rename = "where")]
    pub(crate) filters: Vec<String>,
    /// `stamp` or `arrival`.
    pub(crate) at: &'static str,
    /// Requests that were decided at their stamps, as they have no duration by which their arrival is known.
    pub(crate) no_duration: u64,
    /// Of times that are written without an offset, as `+hh:mm`, if it was given.
    pub(crate) zone: Option<String>,
    /// `time` or `file`.
    order: &'static str,
    window_s: Option<f64>,
    /// Records that came too late for the window, and one that would have been wide enough.
    late: u64,
    enough_window_s: Option<f64>,
    /// In the order of the files, the furthest that a time was behind one before it.
    step_back_s: Option<f64>,
    spread: &'static str,
    /// Records that share their stamp with another one; where they are decided in the order of the files, with a neighbour.
    pub(crate) sharing: u64,
    #[serde(skip)]
    enough_window_ns: u64,
    #[serde(skip)]
    pub(crate) step_back_ns: Option<u64>,
}

impl LogReport {
    pub(crate) fn new<D, T>(decided: &Decided<D>, timeline: &Timeline<T>, assumptions: Assumptions) -> Self {
        let Decided { question, files, period, .. } = decided;
        Self {
            records: timeline.records,
            malformed: files.iter().map(|file| file.found.malformed_count()).sum(),
            skipped: files.iter().map(|file| file.found.skipped_count()).sum(),
            filtered: question.counts.filtered,
            no_key: question.counts.no_key,
            no_cost: question.counts.no_cost,
            first: period.first(),
            last: period.last(),
            files: files.iter().map(FileReport::new).collect(),
            assumed: Assumed::new(timeline, question, assumptions),
            assumptions,
        }
    }

    pub(crate) fn span(&self) -> SignedDuration {
        self.last.duration_since(self.first)
    }

    /// What is to be said where the counts do not show what policies would have done: a line for each format that does
    /// not fit, one about requests without a cost, one about those without a duration, one about a window that was too
    /// small.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let formats = self.files.iter().filter_map(|file| file.warning.clone());
        let no_cost = (self.no_cost > 0).then(|| {
            format!(
                "{} of {} records have no number for --cost {} and were decided at no cost",
                self.no_cost, self.records, self.assumed.cost,
            )
        });
        let no_duration = no_duration(self.assumed.no_duration, self.records);
        let late = late(self.assumed.late, self.records, self.assumed.enough_window_ns);
        formats.chain(no_cost).chain(no_duration).chain(late)
    }
}

/// What is to be said of records whose arrival is not known.
pub(crate) fn no_duration(count: u64, records: u64) -> Option<String> {
    (count > 0).then(|| format!("{count} of {records} records have no duration: decided at their stamps"))
}

/// What is to be said of records for which the window was too small.
pub(crate) fn late(count: u64, records: u64, enough_window_ns: u64) -> Option<String> {
    (count > 0).then(|| {
        format!(
            "{count} of {records} records came too late for the window and were decided later than their stamps: --window {} would have been enough",
            duration(enough_window_ns),
        )
    })
}

impl Assumed {
    fn new<T>(timeline: &Timeline<T>, question: &Question, assumptions: Assumptions) -> Self {
        let Assumptions { at, zone, window_ns, .. } = assumptions;
        // Without a window of their own, the records still went through that of the other assumptions.
        let late = timeline.late().filter(|_| window_ns.is_some()).unwrap_or_default();
        let step_back_ns = window_ns.is_none().then_some(timeline.furthest_back_ns);
        let enough_window_ns = timeline.enough_window_ns();
        Self {
            key: question.key.text.clone(),
            cost: question.cost.text.clone(),
            filters: question.filters.iter().map(|filter| filter.text.clone()).collect(),
            at: match at {
                At::Stamp => "stamp",
                At::Arrival => "arrival",
            },
            no_duration: question.counts.no_duration,
            zone: zone.map(|zone| zone.to_string()),
            order: if window_ns.is_some() { "time" } else { "file" },
            window_s: window_ns.map(|ns| ns as f64 / NS),
            late,
            enough_window_s: (late > 0).then_some(enough_window_ns as f64 / NS),
            step_back_s: step_back_ns.map(|ns| ns as f64 / NS),
            spread: assumptions.spread_word(),
            sharing: timeline.sharing(),
            enough_window_ns,
            step_back_ns,
        }
    }
}

impl fmt::Display for LogReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "records    {}", self.records)?;
        for (name, count) in [
            ("malformed ", self.malformed),
            ("skipped   ", self.skipped),
            ("filtered  ", self.filtered),
            ("no key    ", self.no_key),
            ("no cost   ", self.no_cost),
        ] {
            if count > 0 {
                writeln!(f, "{name} {count}")?;
            }
        }
        writeln!(f, "first      {}", self.first)?;
        writeln!(f, "last       {}", self.last)?;
        writeln!(f, "span       {:#}", self.span())?;
        for file in &self.files {
            write_file(f, file)?;
        }
        writeln!(f, "key        {}", self.assumed.key)?;
        writeln!(f, "cost       {}", self.assumed.cost)?;
        if !self.assumed.filters.is_empty() {
            writeln!(f, "where      {}", self.assumed.filters.join(" and "))?;
        }
        if let Some(zone) = &self.assumed.zone {
            writeln!(f, "zone       {zone} where a time has no offset")?;
        }
        let sharer = self.assumptions.ordered().sharer();
        writeln!(f, "shared     {} records share their stamp with {sharer}", self.assumed.sharing)?;
        let known = if self.assumed.no_duration > 0 { " where that is known" } else { "" };
        writeln!(f, "decided    at the {}{known}, {}", self.assumed.at, self.assumptions)?;
        if let Some(step) = self.assumed.step_back_ns.filter(|step| *step > 0) {
            writeln!(f, "           times step back by up to {}", duration(step))?;
        }
        Ok(())
    }
}
