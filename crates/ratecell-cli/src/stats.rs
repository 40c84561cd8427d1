//! `ratecell stats`: how full the region in a file is, and what it had to forget.

use anyhow::Result;
use jiff::Timestamp;
use ratecell::Shared;
use serde::Serialize;

use crate::cli::StatsArgs;
use crate::file::{File, word};
use crate::output::{print, table};

/// The fields and their order are the documented ones.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    limits: Limits,
    max_keys: usize,
    when_full: String,
    epoch: Timestamp,
    now_ns: u64,
    slots: usize,
    live: usize,
    live_error: usize,
    bytes: usize,
    evicted: u64,
    forgiven: u64,
    shared: u64,
    denied_full: u64,
    allowed_full: u64,
    exhausted: u64,
    /// `null` where denied keys are not named.
    denied: Option<u64>,
    #[serde(flatten)]
    leases: Option<Leases>,
}

/// Whose keys they are.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Limits {
    Policy(String),
    Rules(Vec<Rule>),
}

/// A limit of a file of rules.
#[derive(Debug, Serialize)]
struct Rule {
    name: String,
    policy: String,
}

/// Of a file of leases alone.
#[derive(Debug, Serialize)]
struct Leases {
    leased: u64,
    used: u64,
    passed: u64,
    given_back: u64,
    misses: u64,
    waits: u64,
    timeouts: u64,
    operations: u64,
    swaps_lost: u64,
    lag_ns: u64,
    healed: u64,
    board_full: u64,
    opened: u64,
    local: u64,
    connected: bool,
}

impl From<Shared> for Leases {
    fn from(shared: Shared) -> Self {
        Self {
            leased: shared.leased,
            used: shared.used,
            passed: shared.passed,
            given_back: shared.given_back,
            misses: shared.misses,
            waits: shared.waits,
            timeouts: shared.timeouts,
            operations: shared.operations,
            swaps_lost: shared.swaps_lost,
            lag_ns: shared.lag_ns,
            healed: shared.healed,
            board_full: shared.board_full,
            opened: shared.opened,
            local: shared.local,
            connected: shared.is_connected,
        }
    }
}

pub(crate) fn run(args: &StatsArgs) -> Result<()> {
    let report = Report::new(&File::read(&args.file)?)?;
    if args.json {
        return print(serde_json::to_string(&report)?);
    }
    let heading = ["what", "count", "meaning"];
    let mut table = table(heading, 1, report.rows());
    if let Some(meaning) = table.column_mut(2) {
        meaning.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    let file = args.file.display();
    match &report.limits {
        Limits::Policy(policy) => print(format_args!("{file}: {policy}\n{table}")),
        Limits::Rules(rules) => {
            let rules = rules.iter().map(|rule| [rule.name.clone(), rule.policy.clone()]).collect();
            let rules = crate::output::table(["rule", "policy"], 2, rules);
            print(format_args!("{file}: the limits of rules\n{rules}\n{table}"))
        }
    }
}

impl Report {
    fn new(file: &File) -> Result<Self> {
        let limits = match file {
            File::Policy(region) => Limits::Policy(region.policy().to_string()),
            File::Rules(region) => Limits::Rules(
                region
                    .limits()
                    .map(|(name, policy)| Rule { name: name.to_owned(), policy: policy.to_string() })
                    .collect(),
            ),
        };
        let now_ns = file.now_ns();
        let stats = file.stats_at(now_ns);
        Ok(Self {
            limits,
            max_keys: file.max_keys(),
            when_full: word(file.when_full()),
            epoch: Timestamp::try_from(file.epoch())?,
            now_ns,
            slots: stats.slots,
            live: stats.live,
            live_error: stats.live_error,
            bytes: stats.bytes,
            evicted: stats.evicted,
            forgiven: stats.forgiven,
            shared: stats.shared,
            denied_full: stats.denied_full,
            allowed_full: stats.allowed_full,
            exhausted: stats.exhausted,
            denied: file.denied(),
            leases: file.shared().map(Leases::from),
        })
    }

    fn rows(&self) -> Vec<[String; 3]> {
        let error = match self.live_error {
            0 => String::new(),
            error => format!(", up to {error} more or fewer"),
        };
        let rows = [
            (
                "keys",
                self.max_keys as u64,
                format!("room for them; a full table answers `{}`", self.when_full),
            ),
            ("live", self.live as u64, format!("keys that hold used units{error}")),
            ("bytes", self.bytes as u64, "memory".to_owned()),
            ("evicted", self.evicted, "live keys that were erased for others".to_owned()),
            ("forgiven", self.forgiven, "units that erased keys still held".to_owned()),
            ("shared", self.shared, "requests on a cell that keys without room share".to_owned()),
            ("denied", self.denied_full, "requests denied for want of room".to_owned()),
            ("allowed", self.allowed_full, "requests allowed uncharged for want of room".to_owned()),
            (
                "exhausted",
                self.exhausted,
                "requests answered as by a full table, as too many came at once".to_owned(),
            ),
        ];
        let denied = self.denied.map(|denied| {
            (
                "refused",
                denied,
                "all requests that were denied, which only a file with names counts".to_owned(),
            )
        });
        let rows = rows.into_iter().chain(denied);
        rows.map(|(what, count, meaning)| [what.to_owned(), count.to_string(), meaning]).collect()
    }
}
