//! `ratecell replay`: what would policies have done to the requests of a log?

use anyhow::{Result, bail};

use crate::cli::ReplayArgs;
use crate::output::print;

mod access_log;
mod input;
mod record;
mod report;
mod selector;
mod tally;
mod text;
mod time;

pub use access_log::LogField;
pub use record::{KeySource, Malformed, Record, RecordParser, TimeSource};
pub use selector::Selector;
pub use time::{ClfClock, TimeFormat};

use input::Input;
use report::Report;
use tally::Tally;

/// Lines that are not records are shown up to this many.
const MALFORMED_SHOWN: u64 = 5;

pub(crate) fn run(args: ReplayArgs) -> Result<()> {
    let time = match args.time {
        None => TimeSource::AccessLog(ClfClock::default()),
        Some(selector) => TimeSource::Selected(selector, args.time_format),
    };
    let mut parser = RecordParser { key: args.key, time };
    let mut input = Input::open(args.file.as_deref())?;
    let mut tally = Tally::new(args.policies, args.max_keys)?;
    let malformed = if args.sort {
        let mut records = Vec::new();
        let malformed =
            read(&mut input, &mut parser, |record| records.push((record.time, tally.number(record.key))))?;
        records.sort_by_key(|(time, _)| *time);
        records.into_iter().for_each(|(time, key)| tally.decide(key, time));
        malformed
    } else {
        read(&mut input, &mut parser, |record| {
            let key = tally.number(record.key);
            tally.decide(key, record.time);
        })?
    };
    input.progress.finish_and_clear();

    let Some(period) = tally.period else {
        let found = if malformed == 0 {
            "it is empty".to_owned()
        } else {
            format!("all {malformed} lines are malformed")
        };
        bail!(
            "{}: no record: {found}; expected an access log, or --key and --time to read another",
            input.name
        );
    };
    let report = Report::new(&tally, period, malformed, args.top);
    if args.json {
        for warning in report.warnings() {
            eprintln!("ratecell: {warning}");
        }
        print(serde_json::to_string(&report)?)
    } else {
        print(report)
    }
}

/// Hands over all records; returns how many lines are none.
fn read(input: &mut Input, parser: &mut RecordParser, mut take: impl FnMut(Record<'_>)) -> Result<u64> {
    let name = input.name.clone();
    let progress = input.progress.clone();
    let mut malformed = 0;
    while let Some((number, line)) = input.next_line()? {
        match parser.parse(line) {
            Ok(record) => take(record),
            Err(Malformed(reason)) => {
                malformed += 1;
                if malformed <= MALFORMED_SHOWN {
                    let line = text::printable(line);
                    progress.suspend(|| eprintln!("ratecell: {name}:{number}: {reason}: {line}"));
                }
            }
        }
    }
    if malformed > MALFORMED_SHOWN {
        eprintln!("ratecell: {name}: {malformed} malformed lines, the first {MALFORMED_SHOWN} are above");
    }
    Ok(malformed)
}
