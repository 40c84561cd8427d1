//! Many machines on one limit, measured beside a script that decides each request at the store: `benches/store.sh`.
//!
//! `ratecell-bench-store run FOLDER SCRIPT ROUNDS` prints the tables. FOLDER has the server's `socket` and the files of
//! leases, whose agents run; SCRIPT is the text of redis_rate's script. The other commands are processes that it starts.

mod alone;
mod hit;
mod hot;
mod server;
mod ways;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ratecell-bench-store: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["run", folder, script, rounds] => {
            let rounds = rounds.parse().with_context(|| format!("ROUNDS {rounds:?}"))?;
            let folder = Path::new(folder);
            hit::table(folder, rounds)?;
            alone::table(folder, Path::new(script), rounds)?;
            hot::tables(folder, Path::new(script), rounds)
        }
        // What the table of one hot key starts.
        ["work", way, folder, script, limit, machine, seconds] => {
            hot::work(way, Path::new(folder), Path::new(script), limit, machine, seconds)
        }
        _ => bail!("expected run FOLDER SCRIPT ROUNDS"),
    }
}

/// The median; of an even number the greater of the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
