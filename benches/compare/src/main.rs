//! ratecell beside its peers and the machine's own floor, in one process.
//!
//! ```text
//! stores ─► contests: cases over workloads ─► measure: in turns ─► results ─► report: tables, figures, plots
//!                      storm: insertions, in processes of their own ──┘
//! ```

mod workload;
mod case;
mod stores;
mod measure;
mod results;
mod contests;
mod storm;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use results::Results;
use storm::Store;

/// Measures ratecell beside its peers and prints the tables of docs/BENCHMARKS.md.
#[derive(Parser, Debug)]
struct Arguments {
    /// Fewer keys and fewer rounds: about a minute.
    #[arg(long)]
    quick: bool,
    /// Only the tables whose title contains this, in either case.
    #[arg(long, value_name = "PATTERN", default_value = "")]
    only: String,
    /// The folder in which BENCHMARKS.md and plots/ are to be brought up to date.
    #[arg(long, value_name = "FOLDER", conflicts_with = "only")]
    docs: Option<PathBuf>,
    /// What benches/instructions.sh printed.
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// What benches/ffi printed.
    #[arg(long, value_name = "FILE")]
    through_c: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Fills a store in this process: what the insert storms start.
    #[command(hide = true)]
    Fill(storm::Filling),
}

/// Which tables are asked for.
pub(crate) struct Only(String);

impl Only {
    pub(crate) fn wants(&self, title: &str) -> bool {
        title.to_lowercase().contains(&self.0)
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Turns of every case, on one thread and on two.
    rounds: usize,
    rounds_of_two: usize,
    keys: &'static [u32],
    /// Keys that a table is built for while other numbers of them are in use; and keys of a kilobyte.
    filled: u32,
    storms: &'static [storm::Extent],
}

const FULL: Extent = Extent {
    rounds: 41,
    rounds_of_two: 15,
    keys: &[1, 1_000, 100_000, 1_000_000, 10_000_000],
    filled: 1_000_000,
    storms: &[
        storm::Extent { stores: Store::ALL, keys: 1_000_000, up_to: 400, rounds: 3 },
        storm::Extent { stores: Store::FEW, keys: 10_000_000, up_to: 100, rounds: 2 },
    ],
};
const QUICK: Extent = Extent {
    rounds: 9,
    rounds_of_two: 5,
    keys: &[1, 1_000, 100_000, 1_000_000],
    filled: 100_000,
    storms: &[storm::Extent { stores: Store::ALL, keys: 100_000, up_to: 400, rounds: 3 }],
};

/// A number with a comma after each three digits.
pub(crate) fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn compare(extent: Extent, only: &Only) -> Result<Results, String> {
    let mut results = Results::default();
    let told = |what: &str| eprintln!("{what} ...");
    told("one limit for everything");
    contests::direct(extent, only, &mut results);
    for keys in extent.keys {
        told(&format!("{} keys", grouped(*keys)));
        contests::keyed(extent, only, *keys, &mut results);
    }
    told("tables as full as that");
    contests::fullness(extent, only, &mut results);
    contests::fills(extent, only, extent.filled, &mut results);
    contests::newcomers(extent, only, extent.filled, &mut results);
    told("each algorithm");
    contests::algorithms(extent, only, &mut results);
    if only.wants(report::STORMS) || only.wants(report::MEMORY) {
        for storms in extent.storms {
            told(&format!("insert storms, {} keys", grouped(storms.keys)));
            storm::storms(*storms, &mut results)?;
        }
        storm::long_keys(extent.filled, &mut results)?;
    }
    Ok(results)
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let extent = if arguments.quick { QUICK } else { FULL };
    let read = |path: &Option<PathBuf>| match path {
        Some(path) => std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display())),
        None => Ok(String::new()),
    };
    let (instructions, through_c) = (read(&arguments.instructions)?, read(&arguments.through_c)?);
    let machine = report::machine();
    let mut results = compare(extent, &Only(arguments.only.to_lowercase()))?;
    results.instructions = report::read_instructions(&instructions);
    let strayed = results.strayed();
    let docs = arguments.docs.as_deref().filter(|_| strayed.is_empty());
    report::all(&results, &machine, &through_c, docs)?;
    if strayed.is_empty() {
        return Ok(());
    }
    Err(format!("decisions of another path than the table's, nothing written:\n{}", strayed.join("\n")))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        Some(Command::Fill(filling)) => filling.run(),
        None => run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([1, 999, 1_000, 12_345_678].map(grouped), ["1", "999", "1,000", "12,345,678"]);
    }
}
