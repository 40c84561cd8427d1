//! `ratecell replay`: what would policies have done to the requests of a log?

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use ratecell_logs::{ClientText, Cost, Filter, Line, Options, Reason, Record, Selector, Spread};

use crate::cli::{At, Order, ReplayArgs, SpreadArg};
use crate::output::print;

mod assumptions;
mod input;
mod layers;
mod report;
mod tally;
mod text;

use assumptions::Assumptions;
use input::{Input, Inputs};
use report::Report;
use tally::{Request, Tally};

pub(crate) fn run(args: ReplayArgs) -> Result<()> {
    let mut options = Options::default();
    options.zone = args.zone;
    for pointer in &args.pointers {
        let (field, pointer) = pointer.split_once('=').unwrap_or((pointer, ""));
        options.set_pointer(field, pointer).map_err(|error| anyhow!("--pointer: {error}"))?;
    }
    let assumptions = Assumptions {
        at: args.at,
        window_ns: match args.order {
            Order::Time => Some(u64::try_from(args.window.as_nanos()).unwrap_or(u64::MAX)),
            Order::File => None,
        },
        spread: match args.spread {
            SpreadArg::Even => Spread::Even,
            SpreadArg::Together => Spread::Together,
        },
    };
    let mut inputs = Inputs::open(&args.files, args.format.as_ref(), &options)?;
    let question = Question { key: args.key, cost: args.cost, filters: args.filters, at: args.at };
    let mut tally = Tally::new(args.policies, args.max_keys, assumptions, inputs.coarsest_digits())?;
    for input in &mut inputs.files {
        read(input, &question, &mut tally)?;
    }
    tally.finish();
    inputs.progress.finish_and_clear();

    let Some(period) = tally.period else { bail!("{}", no_record(&inputs.files, &tally)) };
    let report = Report::new(&tally, period, &inputs.files, args.top);
    if args.json {
        for warning in report.warnings() {
            eprintln!("ratecell: {warning}");
        }
        print(serde_json::to_string(&report)?)
    } else {
        print(report)
    }
}

/// What of a record is decided.
struct Question {
    key: Selector,
    cost: Cost,
    filters: Vec<Filter>,
    at: At,
}

/// Hands the records of a file over.
fn read(input: &mut Input, question: &Question, tally: &mut Tally) -> Result<()> {
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
                question.ask(&record, *digits, tally);
            }
            Line::Skipped(skip) => found.skip(skip),
            Line::Malformed(Reason::NoZone) => {
                bail!("{name}:{number}: the time has no offset from UTC: give its zone with --zone, such as --zone +01:00")
            }
            Line::Malformed(reason) => found.malformed(number, reason, line),
        }
    }
}

impl Question {
    fn ask(&self, record: &Record<'_>, digits: u8, tally: &mut Tally) {
        if !self.filters.iter().all(|filter| filter.holds(record)) {
            tally.filtered += 1;
            return;
        }
        let Some(key) = self.key.key(record, ClientText::Key) else {
            tally.no_key += 1;
            return;
        };
        let time_ns = match self.at {
            At::Stamp => record.time_ns(),
            At::Arrival => record.arrival_ns(),
        };
        let key = tally.number(&key);
        tally.decide(time_ns, Request { key, cost: self.cost.of(record), digits });
    }
}

/// Why nothing was decided.
fn no_record(files: &[Input], tally: &Tally) -> String {
    let name = match files {
        [only] => only.name.clone(),
        _ => format!("{} files", files.len()),
    };
    let malformed: u64 = files.iter().map(|file| file.found.malformed_count()).sum();
    let mut reasons = Vec::new();
    for (count, what) in [
        (malformed, "malformed lines"),
        (tally.filtered, "records that --where leaves out"),
        (tally.no_key, "records without the --key"),
    ] {
        if count > 0 {
            reasons.push(format!("{count} {what}"));
        }
    }
    let first = files.iter().find_map(|file| {
        let first = file.found.first_malformed.first()?;
        Some(format!("; {}:{}: {}: {}", file.name, first.line, first.reason, text::printable(&first.text)))
    });
    let found = if reasons.is_empty() { "no lines".to_owned() } else { reasons.join(", ") };
    format!("{name}: no request to decide: {found}{}", first.unwrap_or_default())
}

/// What messages call a file.
fn name_of(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() }
}
