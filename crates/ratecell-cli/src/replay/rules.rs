//! `ratecell replay --rules`: what would a file of rules have done to the requests of a log?

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use ratecell_logs::{ClientText, Record, Selector};
use ratecell_rules::Rules;

use crate::cli::ReplayArgs;
use crate::log::{Assumptions, Counts, Inputs, Written, no_record, read, time_ns};
use crate::output::{complain, print};

mod report;
mod tally;

use report::Report;
use tally::{Pairs, Tally};

pub(super) fn run(path: &Path, args: &ReplayArgs) -> Result<()> {
    let file = path.display();
    let text = fs::read(path).with_context(|| format!("{file}: cannot be read, expected a file of rules"))?;
    let rules = Rules::parse(text).map_err(|error| anyhow!("--rules {file}: {error}"))?;
    let fields = fields(&rules)?;
    let mut inputs = Inputs::open(&args.log, false)?;
    let mut counts = Counts::default();
    let mut tally = Tally::new(rules, args.max_keys, Assumptions::new(&args.log));
    let mut failed = None;
    for input in &mut inputs.files {
        read(input, |record, digits| {
            if !args.log.filters.iter().all(|Written { value, .. }| value.holds(record)) {
                counts.filtered += 1;
                return;
            }
            let time_ns = time_ns(record, args.log.at, &mut counts);
            if let Err(error) = tally.decide(time_ns, digits, pairs(&fields, record)) {
                failed.get_or_insert(error);
            }
        })?;
    }
    tally.finish();
    inputs.progress.finish_and_clear();
    if let Some(error) = failed {
        return Err(error);
    }
    let Some(period) = tally.timeline.period else { bail!("{}", no_record(&inputs.files, counts)) };
    let filters = args.log.filters.iter().map(|filter| filter.text.clone()).collect();
    let report = Report::new(&tally, period, counts, filters, &inputs.files, args.top);
    if args.json {
        report.warnings().for_each(complain);
        print(serde_json::to_string(&report)?)
    } else {
        print(report)
    }
}

/// What the rules look at: the attribute's name, and where a record has it.
fn fields(rules: &Rules) -> Result<Vec<(String, Selector)>> {
    let names = rules.attributes().map(|attribute| attribute.to_string());
    names
        .map(|name| {
            let selector = name.parse().map_err(|error: String| anyhow!("attribute {name}: {error}"))?;
            Ok((name, selector))
        })
        .collect()
}

/// The attributes of a record's request.
fn pairs(fields: &[(String, Selector)], record: &Record<'_>) -> Pairs {
    let value =
        |selector: &Selector| selector.key(record, ClientText::Logged).map(std::borrow::Cow::into_owned);
    fields.iter().filter_map(|(name, selector)| Some((name.clone(), value(selector)?))).collect()
}
