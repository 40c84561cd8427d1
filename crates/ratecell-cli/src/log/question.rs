//! What of each record is decided.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use ratecell_logs::{ClientText, Cost, Filter, Line, Reason, Record, Selector, StampIs};

use super::args::{At, LogArgs, Written};
use super::input::{Input, no_lines};
use super::pipeline::{Decide, Pipeline};
use crate::output::printable;

/// A request of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logged {
    /// The number of its key.
    pub(crate) key: usize,
    pub(crate) cost: u32,
    /// Of the stamps of its file.
    pub(crate) digits: u8,
}

/// What of a record is decided.
pub(crate) struct Question {
    pub(crate) key: Written<Selector>,
    pub(crate) cost: Written<Cost>,
    pub(crate) filters: Vec<Written<Filter>>,
    pub(crate) at: At,
    pub(crate) counts: Counts,
}

/// Records to which the question does not apply as it was put.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// A filter does not hold: not decided.
    pub(crate) filtered: u64,
    /// A part of the key is not there: not decided.
    pub(crate) no_key: u64,
    /// The field of the cost is not there, or no number: decided at no cost.
    pub(crate) no_cost: u64,
    /// The stamp is the end, and the arrival, which is asked for, is not known: decided at the stamp.
    pub(crate) no_duration: u64,
}

/// Hands the records of a file over, with the digits of its stamps.
pub(crate) fn read(input: &mut Input, mut ask: impl FnMut(&Record<'_>, u8)) -> Result<()> {
    let Input { name, lines, reader, digits, found, .. } = input;
    let Some(reader) = reader else { return Ok(()) };
    loop {
        let number = lines.number();
        let next = lines.next_line();
        let next = next.map_err(|error| anyhow!("{name}: cannot be read after line {number}: {error}"))?;
        let Some((number, line)) = next else { return Ok(()) };
        match reader.line(line) {
            Line::Record(record) => {
                found.records += 1;
                ask(&record, *digits);
            }
            Line::Skipped(skip) => found.skip(skip),
            Line::Malformed(Reason::NoZone) => {
                bail!(
                    "{name}:{number}: the time has no offset from UTC: give its zone with --zone, such as --zone +01:00"
                )
            }
            Line::Malformed(reason) => found.malformed(number, reason, line),
        }
    }
}

impl Question {
    pub(crate) fn new(args: &LogArgs) -> Self {
        Self {
            key: args.key.clone(),
            cost: args.cost.clone(),
            filters: args.filters.clone(),
            at: args.at,
            counts: Counts::default(),
        }
    }

    pub(super) fn ask<D: Decide>(&mut self, record: &Record<'_>, digits: u8, pipeline: &mut Pipeline<D>) {
        if !self.filters.iter().all(|filter| filter.value.holds(record)) {
            self.counts.filtered += 1;
            return;
        }
        let Some(key) = self.key.value.key(record, ClientText::Key) else {
            self.counts.no_key += 1;
            return;
        };
        let cost = self.cost.value.known(record);
        self.counts.no_cost += u64::from(cost.is_none());
        let time_ns = time_ns(record, self.at, &mut self.counts);
        pipeline.push(time_ns, &key, cost.unwrap_or(0), digits);
    }
}

/// When a record's request is decided.
pub(crate) fn time_ns(record: &Record<'_>, at: At, counts: &mut Counts) -> u64 {
    match at {
        At::Stamp => record.time_ns(),
        At::Arrival => {
            let is_unknown = record.stamp_is() == StampIs::End && record.duration_ns().is_none();
            counts.no_duration += u64::from(is_unknown);
            record.arrival_ns()
        }
    }
}

/// Why nothing was decided.
pub(crate) fn no_record(files: &[Input], counts: Counts) -> String {
    let name = match files {
        [only] => only.name.clone(),
        _ => format!("{} files", files.len()),
    };
    let malformed: u64 = files.iter().map(|file| file.found.malformed_count()).sum();
    let mut reasons = Vec::new();
    for (count, what) in [
        (malformed, "malformed lines"),
        (counts.filtered, "records that --where leaves out"),
        (counts.no_key, "records without the --key"),
    ] {
        if count > 0 {
            reasons.push(format!("{count} {what}"));
        }
    }
    let first = files.iter().find_map(|file| {
        let first = file.found.first_malformed.first()?;
        Some(format!("; {}:{}: {}: {}", file.name, first.line, first.reason, printable(&first.text)))
    });
    let skipped: BTreeMap<_, _> = files.iter().flat_map(|file| file.found.skipped.clone()).collect();
    let found = if reasons.is_empty() { no_lines(&skipped).to_owned() } else { reasons.join(", ") };
    format!("{name}: no request to decide: {found}{}", first.unwrap_or_default())
}
