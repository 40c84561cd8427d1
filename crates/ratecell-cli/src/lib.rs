//! The inside of the `ratecell` program: no stable API.

use std::process::ExitCode;

use clap::Parser;

mod change;
mod check;
mod cli;
mod envoy;
mod export;
mod file;
mod key;
mod log;
mod output;
mod replay;
mod rules;
mod serve;
mod stats;
mod suggest;
mod sync;
mod top;
mod vectors;
mod zone;

use cli::{Cli, Command};

/// The status of a run that could not do what was asked.
const FAILURE: u8 = 2;

/// The program, with the arguments of the process.
#[must_use]
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return cli::explain(&error),
    };
    let done = match cli.command {
        Command::Suggest(args) => suggest::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Replay(args) => replay::run(*args).map(|()| ExitCode::SUCCESS),
        Command::Vectors(args) => vectors::run(&args),
        Command::Check(args) => check::run(args).map(|()| ExitCode::SUCCESS),
        Command::Stats(args) => stats::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Export(args) => export::run(args).map(|()| ExitCode::SUCCESS),
        Command::Top(args) => top::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Key(args) => key::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Rules(command) => rules::run(&command),
        Command::Serve(args) => serve::run(args).map(|()| ExitCode::SUCCESS),
        Command::Envoy(args) => envoy::run(args).map(|()| ExitCode::SUCCESS),
        Command::Sync(args) => sync::run(args).map(|()| ExitCode::SUCCESS),
        Command::Change(args) => change::run(args).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        output::complain(format_args!("{error:#}"));
        ExitCode::from(FAILURE)
    })
}
