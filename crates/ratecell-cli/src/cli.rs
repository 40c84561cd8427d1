//! The arguments.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use ratecell::Policy;

use crate::FAILURE;
use crate::replay::{KeySource, Selector, TimeFormat};

/// Rate limits: replay a log through them, try one, check that they decide as published.
///
/// A POLICY is `[algorithm] LIMIT/PERIOD [option=value]... [& layer]...`, such as `10/s burst=20` or
/// `sliding_window 600/1m & fixed_window 10000/1d`.
#[derive(Debug, Parser)]
#[command(name = "ratecell", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Replay(ReplayArgs),
    Vectors(VectorsArgs),
    Check(CheckArgs),
}

/// Replay an access log: what would each policy have denied?
///
/// Each record is decided at its own time, in the order of the file. Time zero is 00:00 UTC on the day
/// before the first record; an earlier record counts as at time zero. Lines that are not records are
/// counted and the first few shown.
///
/// Servers write a record when its request ends, so the times of a log can step back. A record that is
/// earlier than one before it is decided as by a clock that stepped back, and may be denied for that
/// alone. A warning says how many there are; --sort decides them in the order of their times.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The log, in the common or combined format, also with `vhost:port` in front; `-` or nothing for
    /// standard input.
    pub(crate) file: Option<PathBuf>,

    /// What to allow; may be given several times, each policy then decides for itself.
    #[arg(long = "policy", short, value_name = "POLICY", required = true)]
    pub(crate) policies: Vec<Policy>,

    /// Whom to limit: ip, user, method, path (without its query), agent, host (the virtual host), or
    /// field:N or regex:RE for any text.
    ///
    /// Fields are counted from 1 and separated by white space; "quoted" and text in square brackets is one
    /// field. Of a regex the first group counts, or else the whole match.
    #[arg(long, value_name = "KEY", default_value = "ip")]
    pub(crate) key: KeySource,

    /// Where the time is, if not in square brackets as in an access log: field:N or regex:RE.
    #[arg(long, value_name = "WHERE")]
    pub(crate) time: Option<Selector>,

    /// How the time is written: rfc3339, unix, unix_ms, unix_ns, or a strptime pattern such as
    /// `%Y-%m-%d %H:%M:%S`. Without an offset it is UTC.
    #[arg(long, value_name = "FORMAT", default_value = "rfc3339", requires = "time")]
    pub(crate) time_format: TimeFormat,

    /// Decide the records in the order of their times; those of one time, in the order of the file. The
    /// whole log is read first, and takes memory for each record.
    #[arg(long)]
    pub(crate) sort: bool,

    /// Keys that each policy has room for.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) max_keys: usize,

    /// Most denied keys to list for each policy.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,

    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Replay vectors: does the library decide, and the program read logs, exactly as published?
///
/// Reads each FILE, and every .jsonl file in each DIR. Each row counts once, as passed or failed: a decision, a
/// construct row, or a question about access logs. A section counts by its rows; beyond them it counts as one
/// more failure if its policy is not resolved as stated, or if its keys did not find room. A file of a kind that
/// is not known counts as one failure. The last line is `N passed, M failed`; the exit status is 1 if anything
/// failed.
#[derive(Debug, Args)]
pub(crate) struct VectorsArgs {
    /// Files of vectors, and directories that have some.
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
}

/// Decide one request, or several at one instant.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// What to allow.
    #[arg(long, short, value_name = "POLICY")]
    pub(crate) policy: Policy,

    /// Who asks.
    pub(crate) key: String,

    /// Units that each request takes; 0 looks without taking.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) cost: u32,

    /// When, in nanoseconds since time zero; else now, since the Monday before.
    #[arg(long, value_name = "NS")]
    pub(crate) at: Option<u64>,

    /// How many requests.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) times: u32,
}

/// Prints the help that was asked for, or what is wrong with the arguments on one line.
pub(crate) fn explain(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // There is nobody left to tell that the help could not be printed.
        let _ = error.print();
        return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
    }
    let text = error.render().to_string();
    // The first paragraph says what is wrong; the tips and the usage come after it.
    let wrong: Vec<_> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let wrong = wrong.join(" ");
    eprintln!("ratecell: {}", wrong.strip_prefix("error: ").unwrap_or(&wrong));
    ExitCode::from(FAILURE)
}
