//! The `ratecell` program: replays access logs through policies, decides single requests and checks
//! the library against the decision vectors.

use std::process::ExitCode;

use clap::Parser;

mod cli;
mod check;
mod output;
mod replay;
mod vectors;

use cli::{Cli, Command};

/// The status of a run that could not do what was asked.
const FAILURE: u8 = 2;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return cli::explain(&error),
    };
    let done = match cli.command {
        Command::Replay(args) => replay::run(args).map(|()| ExitCode::SUCCESS),
        Command::Vectors(args) => vectors::run(&args),
        Command::Check(args) => check::run(args).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("ratecell: {error:#}");
        ExitCode::from(FAILURE)
    })
}
