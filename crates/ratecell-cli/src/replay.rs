//! `ratecell replay`: what would policies have done to the requests of a log?

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use ratecell_logs::{ClientText, Cost, Filter, Line, Options, Reason, Record, Selector, Spread, StampIs};

use crate::cli::{At, Order, ReplayArgs, SpreadArg, Written};
use crate::output::{complain, print};

mod assumptions;
mod input;
mod layers;
mod pipeline;
mod report;
mod rules;
mod tally;
mod text;

use assumptions::Assumptions;
use input::{Input, Inputs, no_lines};
use pipeline::Pipeline;
use report::Report;
use tally::Tally;

pub(crate) fn run(args: ReplayArgs) -> Result<()> {
    let mut options = Options::default();
    options.zone = args.zone.map(|zone| zone.seconds);
    for pointer in &args.pointers {
        let (field, pointer) = pointer.split_once('=').unwrap_or((pointer, ""));
        options.set_pointer(field, pointer).map_err(|error| anyhow!("--pointer: {error}"))?;
    }
    let assumptions = Assumptions {
        at: args.at,
        zone: args.zone,
        window_ns: match args.order {
            Order::Time => Some(u64::try_from(args.window.as_nanos()).unwrap_or(u64::MAX)),
            Order::File => None,
        },
        spread: match args.spread {
            SpreadArg::Even => Spread::Even,
            SpreadArg::Together => Spread::Together,
        },
    };
    if let Some(path) = &args.rules {
        return rules::run(path, &args, &options, assumptions);
    }
    let mut inputs = Inputs::open(&args.files, args.format.as_ref(), &options)?;
    let tally = Tally::new(args.policies, args.max_keys, assumptions, inputs.coarsest_digits())?;
    let (key, cost, filters) = (args.key, args.cost, args.filters);
    let mut question = Question { key, cost, filters, at: args.at, counts: Counts::default() };
    let mut pipeline = Pipeline::start(tally);
    for input in &mut inputs.files {
        read(input, |record, digits| question.ask(record, digits, &mut pipeline))?;
    }
    let (keys, tally) = pipeline.finish();
    inputs.progress.finish_and_clear();

    let Some(period) = tally.period else { bail!("{}", no_record(&inputs.files, question.counts)) };
    if question.counts.no_cost == tally.records {
        bail!("--cost {}: none of {} requests has a number in that field", question.cost.text, tally.records);
    }
    let report = Report::new(&keys, &tally, period, &question, &inputs.files, args.top);
    if args.json {
        for warning in report.warnings() {
            complain(warning);
        }
        print(serde_json::to_string(&report)?)
    } else {
        print(report)
    }
}

/// What of a record is decided.
struct Question {
    key: Written<Selector>,
    cost: Written<Cost>,
    filters: Vec<Written<Filter>>,
    at: At,
    counts: Counts,
}

/// Records to which the question does not apply as it was put.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// A filter does not hold: not decided.
    filtered: u64,
    /// A part of the key is not there: not decided.
    no_key: u64,
    /// The field of the cost is not there, or no number: decided at no cost.
    no_cost: u64,
    /// The stamp is the end, and the arrival, which is asked for, is not known: decided at the stamp.
    no_duration: u64,
}

/// Hands the records of a file over, with the digits of its stamps.
fn read(input: &mut Input, mut ask: impl FnMut(&Record<'_>, u8)) -> Result<()> {
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
    fn ask(&mut self, record: &Record<'_>, digits: u8, pipeline: &mut Pipeline) {
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
        pipeline.decide(time_ns, &key, cost.unwrap_or(0), digits);
    }
}

/// When a record's request is decided.
fn time_ns(record: &Record<'_>, at: At, counts: &mut Counts) -> u64 {
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
fn no_record(files: &[Input], counts: Counts) -> String {
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
        Some(format!("; {}:{}: {}: {}", file.name, first.line, first.reason, text::printable(&first.text)))
    });
    let skipped: BTreeMap<_, _> = files.iter().flat_map(|file| file.found.skipped.clone()).collect();
    let found = if reasons.is_empty() { no_lines(&skipped).to_owned() } else { reasons.join(", ") };
    format!("{name}: no request to decide: {found}{}", first.unwrap_or_default())
}

/// What messages call a file.
fn name_of(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() }
}
