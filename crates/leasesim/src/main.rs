//! Simulates machines that share a limit through a store: the agent that ships, on machines, a network and a store that are
//! simulated, with all that may go wrong.

mod random;
mod config;
mod uses;
mod store;
mod machine;
mod world;
mod soak;
mod change;
mod compare;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use config::Fault;

const USAGE: &str = "usage: leasesim soak [N] [--from SEED] [--fault FAULT]
       leasesim change [N] [--from SEED] [--fault FAULT]
       leasesim compare [TEXT]
       leasesim forget";

fn run() -> Result<bool> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words = arguments.iter().map(String::as_str);
    match words.next() {
        Some(command @ ("soak" | "change")) => {
            let (mut number, mut from, mut fault) = (2_000, 0, None);
            while let Some(word) = words.next() {
                let mut value =
                    || words.next().with_context(|| format!("{word} is followed by nothing: {USAGE}"));
                match word {
                    "--from" => from = value()?.parse().context("the seed is no number")?,
                    "--fault" => fault = Some(Fault::parse(value()?)?),
                    _ => number = word.parse().with_context(|| format!("`{word}`: {USAGE}"))?,
                }
            }
            if command == "soak" {
                soak::soak(from, number, fault)
            } else {
                change::change(from, number, fault)
            }
        }
        Some("compare") => compare::compare(words.next().unwrap_or("")),
        Some("forget") => compare::forget(),
        _ => bail!(USAGE),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
