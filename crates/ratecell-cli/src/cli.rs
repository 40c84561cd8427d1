//! The arguments.

use std::error::Error;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

mod envoy;

pub(crate) use envoy::{EnvoyArgs, Fields, RulesImportArgs};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};
use ratecell::{OnFailure, Policy, PolicyError};
use ratecell_study::Wish;

use crate::FAILURE;
use crate::log::LogArgs;
use crate::output::{complain, one_line};

/// Rate limits: suggest one from a log, replay a log through them, try one, check that they decide as published.
///
/// A POLICY is `[algorithm] LIMIT/PERIOD [option=value]... [& layer]...`, such as `10/s burst=20`,
/// `100 per minute` or `sliding_window 600/1m & fixed_window 10000/1d`.
#[derive(Debug, Parser)]
#[command(name = "ratecell", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Suggest(Box<SuggestArgs>),
    Replay(Box<ReplayArgs>),
    Vectors(VectorsArgs),
    Check(CheckArgs),
    Stats(StatsArgs),
    Export(ExportArgs),
    Top(TopArgs),
    Key(KeyArgs),
    #[command(subcommand)]
    Rules(RulesCommand),
    Serve(ServeArgs),
    Envoy(EnvoyArgs),
    Sync(SyncArgs),
    Change(ChangeArgs),
}

/// Suggest a limit for each client, from access logs: the tightest that does what is wished.
///
/// Prints how fast clients are at 1 s, 10 s, 1 min, 1 h and 1 day, and for each of these periods the best `LIMIT/PERIOD`,
/// `sliding_window` and `fixed_window`. Limits are fitted on the first two thirds of the log's time and tried on the
/// rest; the figures of both are shown. Every figure is a count of decisions in an exact replay. Limits have at most two
/// significant digits.
///
/// A client behaves if, at each of these lengths of time, its busiest window holds at most three times as many units as
/// the busiest window of the client at the 99th percentile. The percentile is that of the fitted part; clients of the
/// rest are judged by the same bounds.
///
/// Logs are read as `ratecell replay` does. The requests are kept in temporary files, of 16 bytes for each request, in
/// the folder that TMPDIR names.
#[derive(Debug, Args)]
pub(crate) struct SuggestArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,

    #[command(flatten)]
    pub(crate) wish: WishArgs,

    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a limit is to do.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct WishArgs {
    /// Deny no request of a client that behaves, and as many others as possible: the default.
    #[arg(long)]
    deny_nobody: bool,

    /// Deny at most this share of the requests, such as 0.1%.
    #[arg(long, value_name = "PERCENT", value_parser = Wish::deny_at_most)]
    deny_at_most: Option<Wish>,

    /// Allow all clients together at most this rate, such as 200/s, by a limit for each client that is as loose as
    /// possible. The periods of the rate begin at its multiples.
    #[arg(long, value_name = "RATE", value_parser = Wish::protect)]
    protect: Option<Wish>,
}

impl WishArgs {
    /// The wish.
    pub(crate) fn wish(&self) -> Wish {
        self.deny_at_most.or(self.protect).unwrap_or(Wish::DenyNobody)
    }
}

/// Replay access logs: what would each policy have denied?
///
/// The format is recognised from the first 200 lines of each file. gzip is read as it is. Several files are read
/// oldest first, by the time of their first records.
///
/// Servers write a record when its request ends, so that the stamps of a log step back. Records wait in a window
/// of time, and are decided in the order of their stamps. Those that share a stamp are spread evenly over what its
/// digits leave open: over the second, where it has none. The report says what was assumed, and how many answers
/// differ if every record is decided at its stamp in the order of the file.
///
/// Time zero is 00:00 UTC on the day before the first record; an earlier record counts as at time zero.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// What to allow; may be given several times, each policy then decides for itself.
    #[arg(long = "policy", short, value_name = "POLICY", required_unless_present = "rules", value_parser = without_caller)]
    pub(crate) policies: Vec<Policy>,

    /// What to allow by a file of rules, in TOML, in place of policies, a key and a cost.
    ///
    /// The attributes of a request are the record's fields: method, path, host, client, header:NAME, and others by their
    /// names, such as user, status or agent. The report says for each rule how many requests it applied to, how many of
    /// them were allowed, how many it denied, and how many it would have denied as a shadow.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policies", "key", "cost"])]
    pub(crate) rules: Option<PathBuf>,

    /// Keys that each policy has room for; of rules, all of them together.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) max_keys: usize,

    /// Most denied keys to list for each policy or rule.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,

    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a page to pass on, too: what each policy did over time, to which clients, in pictures and tables. It needs no
    /// network, no script and no other file. The requests are kept in temporary files meanwhile, as for suggest.
    #[arg(long, value_name = "FILE.html", conflicts_with = "rules")]
    pub(crate) report: Option<PathBuf>,
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
    #[arg(long, short, value_name = "POLICY", value_parser = without_caller)]
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

/// Show how full a file of shared limits is, and what it had to forget.
///
/// The file is only read: no decision changes, and programs that use it go on meanwhile.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// The file that limiters open, such as /run/ratecell/api.
    pub(crate) file: PathBuf,

    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Export how full files of shared limits are, and what they had to forget, to Prometheus.
///
/// Serves /metrics, as Prometheus text or OpenMetrics, until SIGINT or SIGTERM. The files are only read: no decision
/// changes, and programs that use them go on meanwhile. Each is opened anew for every scrape. One that cannot be read later
/// has `ratecell_up` 0 until it can. docs/OPERATIONS.md lists the metrics.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The files that limiters open, such as /run/ratecell/api.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The address and the port to listen on; port 0 takes any that is free. There is no password: whoever can connect can
    /// read the metrics.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9898", value_parser = address)]
    pub(crate) listen: SocketAddr,
}

/// Watch a file of shared limits: what is admitted, what is forgotten, and which keys use most.
///
/// The screen is drawn twice a second until `q` is pressed; `?` says what the other keys do. Standard output that is no
/// terminal gets one sample, of half a second, as text.
///
/// The file is only read: no decision changes, and programs that use it go on meanwhile. Of a file for more than 163,840
/// keys a part is looked at, and the figures have their error beside them. Denials and the names of denied keys are shown
/// where the file was made with names; otherwise denials by the policy leave no trace in it.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// The file that limiters open, such as /run/ratecell/api.
    pub(crate) file: PathBuf,

    /// Print one sample and end, also on a terminal.
    #[arg(long)]
    pub(crate) once: bool,

    /// Print one sample as a JSON object and end.
    #[arg(long)]
    pub(crate) json: bool,

    /// Keys in a sample that is printed; a screen has as many as there is room for.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) keys: usize,
}

/// Show what one key of a file of shared limits may do now.
///
/// Nothing is charged, and the file is only read, except with --forget. The key of a file that many machines share is asked
/// for at its agent, which takes the right to write the file.
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// The file that limiters open, such as /run/ratecell/api.
    pub(crate) file: PathBuf,

    /// The key, as programs give it.
    pub(crate) key: String,

    /// Forget what the key has used: it is then as one never seen.
    #[arg(long)]
    pub(crate) forget: bool,
}

/// Look at files of rules, which say what limits apply to which requests, and import them.
#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    Check(RulesCheckArgs),
    Import(RulesImportArgs),
}

/// Check a file of rules, and print what each rule says.
///
/// A file with a fault is refused as a whole: one line on standard error has the file, the line, the rule, the field,
/// what was wrong and what was expected. The exit status is then 1.
#[derive(Debug, Args)]
pub(crate) struct RulesCheckArgs {
    /// The file, in TOML.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Serve limits to programs in any language, by the Redis protocol.
///
/// A client of Redis checks a limit in one round trip: CL.THROTTLE with a policy of its own, as the module redis-cell has
/// it, RATECELL.CHECK with the name of a policy, or RATECELL.DECIDE with the attributes that rules ask for.
/// docs/SERVERS.md lists the commands. Prints one line when clients can connect, and warnings on standard error. Runs until
/// SIGINT or SIGTERM; the exit status is then 0.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// A policy under a name, such as 'api=100/s burst=200'; may be given several times.
    #[arg(long = "policy", short, value_name = "NAME=POLICY", value_parser = named)]
    pub(crate) policies: Vec<(String, Policy)>,

    /// A file of rules for RATECELL.DECIDE, in TOML. It is read again at SIGHUP; one with a fault then changes nothing.
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,

    /// The folder of the files that keep the limits, such as /run/ratecell: NAME for each policy, and cl.throttle. Without it
    /// limits are kept in memory, as those of rules always are.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) files: Option<PathBuf>,

    /// Keys that each policy has room for, unless it has a file already.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) max_keys: usize,

    /// The address and the port to listen on; port 0 takes any that is free. One that other machines reach needs a password
    /// [default: 127.0.0.1:6380, unless there is --unix].
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,

    /// The path of a socket to listen on.
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,

    /// The file whose first line is the password that clients must give.
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,

    /// Listen without a password on an address that other machines reach, too.
    #[arg(long)]
    pub(crate) insecure: bool,

    /// Threads, each with an event loop of its own [default: as many as processors].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Connections at a time.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) max_connections: usize,
}

/// Be the agent of this machine: it shares one limit with other machines through a store, Redis or Valkey.
///
/// Makes FILE, or opens it, and fills it with leases from the store. Programs on this machine that open FILE are
/// limited by them. Prints one line when FILE is ready, and warnings on standard error. Runs until SIGINT or SIGTERM;
/// the leases then stay in FILE, and the exit status is 0. All machines with the same store and name share one limit.
#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// The file of this machine, such as /run/ratecell/api. It belongs on a file system in memory.
    pub(crate) file: PathBuf,

    /// The address: redis://[user:password@]host[:port][/database], redis+cluster://h1:7001,h2:7002 or
    /// unix:/run/redis.sock.
    pub(crate) store: String,

    /// The name of the limit in the store.
    #[arg(long)]
    pub(crate) name: String,

    /// What to allow on all machines together. May be left out where the store has the name already; its policy is
    /// the one in force.
    #[arg(long, short, value_name = "POLICY")]
    pub(crate) policy: Option<Policy>,

    /// The number of this policy. If it is greater than that of the store's, the policy is changed for all machines;
    /// otherwise the store's is in force, and a warning says so where it is another [default: 0].
    #[arg(long, value_name = "N", requires = "policy")]
    pub(crate) policy_version: Option<u64>,

    /// Keys that a new FILE has room for [default: 100000].
    #[arg(long, value_name = "N")]
    pub(crate) max_keys: Option<usize>,

    /// With local:N the agent decides misses while the store does not answer, by the policy divided by N, the number of
    /// machines. Without it each program that opens FILE denies or allows them, as its own on_failure says.
    #[arg(long, value_name = "local:N", value_parser = on_failure)]
    pub(crate) on_failure: Option<OnFailure>,
}

/// Change the policy that machines share through a store, while they are running.
///
/// What each key has used stays used, in units. Returns when the store has the policy; the machines follow within a
/// second, and one of them carries the keys that nobody asks for.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// The address, as for sync.
    pub(crate) store: String,

    /// The name of the limit in the store, which has it already.
    #[arg(long)]
    pub(crate) name: String,

    /// What to allow on all machines together. Rates, bursts and limits may be others; algorithms and windows may not.
    #[arg(long, short, value_name = "POLICY")]
    pub(crate) policy: Policy,
}

/// A policy that asks no request for its zone.
fn without_caller(text: &str) -> Result<Policy, String> {
    let policy: Policy = text.parse().map_err(|error: PolicyError| error.to_string())?;
    if policy.asks_for_zone() {
        return Err(
            "tz=caller asks each request for its zone, and none names one here: expected a zone".to_owned()
        );
    }
    Ok(policy)
}

/// A policy under a name.
fn named(text: &str) -> Result<(String, Policy), String> {
    let (name, policy) = text.split_once('=').unwrap_or_default();
    // `10/s burst=5` has its first `=` behind a space.
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err("expected NAME=POLICY, such as 'api=100/s burst=200'".to_owned());
    }
    Ok((name.to_owned(), without_caller(policy)?))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "expected an IP address and a port, such as 127.0.0.1:9898 or [::1]:9898".to_owned())
}

fn on_failure(text: &str) -> Result<OnFailure, String> {
    let local = || text.strip_prefix("local:")?.parse().ok().filter(|machines| *machines > 0);
    local().map(|machines| OnFailure::Local { machines }).ok_or_else(|| {
        let expected = "expected local:N with the number of machines, from 1";
        match text {
            "closed" | "open" => {
                format!("{expected}; {text} is a setting of each program that opens the file")
            }
            _ => expected.to_owned(),
        }
    })
}

/// Prints the help that was asked for, or what is wrong with the arguments on one line.
pub(crate) fn explain(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // There is nobody left to tell that the help could not be printed.
        let _ = error.print();
        return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
    }
    complain(wrong(error));
    ExitCode::from(FAILURE)
}

/// What is wrong, without the tips and the usage.
fn wrong(error: &clap::Error) -> String {
    let of = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    if let (ErrorKind::ValueValidation, Some(reason)) = (error.kind(), error.source()) {
        let (value, argument) = (of(ContextKind::InvalidValue), of(ContextKind::InvalidArg));
        return format!("invalid value '{value}' for '{argument}': {reason}");
    }
    // An argument that is repeated in the message can have a blank line of its own.
    let mut escaped = clap::Error::new(error.kind()).with_cmd(&Cli::command());
    for (kind, value) in error.context() {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(one_line(text)),
            other => other.clone(),
        };
        escaped.insert(kind, value);
    }
    // The first paragraph says what is wrong; the tips and the usage come after it.
    let text = escaped.render().to_string();
    let wrong: Vec<_> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let wrong = wrong.join(" ");
    wrong.strip_prefix("error: ").unwrap_or(&wrong).to_owned()
}
