//! One hot key: four processes that ask as often as they can, for more than the limit allows.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ratecell::{Limiter, Policy};

use crate::median;
use crate::server::{self, Done};
use crate::ways::{self, Limit};

const PROCESSES: usize = 4;
const SECONDS: &str = "1.0";
/// Under the first nearly all decisions are denials, under the second none need be.
const LIMITS: [Limit; 2] = [Limit(1_000), Limit(10_000_000)];
const KEY: &str = "hot";
/// Decisions in memory between two looks at the clock.
const BETWEEN_LOOKS: usize = 64;
/// As the files of leases have.
const MAX_KEYS: usize = 10_000;

/// Each with how a process asks, and what it is called.
const WAYS: [(&str, &str); 6] = [
    ("incr", "INCR: no decision"),
    ("rate", "redis_rate's script, each request a round trip"),
    ("rate128", "redis_rate's script, 128 requests a round trip"),
    ("take", "take, each request a round trip: no lease"),
    ("leases", "**leases**: two machines, each a file and an agent"),
    ("local", "no store: two files, so two limits"),
];
const THEIRS: [&str; 2] = ["rate", "rate128"];

/// What the processes of a round did, in a second, and what the server did for it.
struct Round {
    decisions: f64,
    allowed: f64,
    server: Done,
    seconds: f64,
}

impl Round {
    fn each(&self, of_server: f64) -> f64 {
        of_server / (self.decisions * self.seconds)
    }
}

pub(crate) fn tables(folder: &Path, script: &Path, rounds: usize) -> Result<()> {
    for limit in LIMITS {
        let mut all: BTreeMap<&str, Vec<Round>> = BTreeMap::new();
        for _ in 0..rounds {
            for (way, _) in WAYS {
                all.entry(way).or_default().push(round(way, folder, script, limit)?);
            }
        }
        print(limit, rounds, &all);
    }
    Ok(())
}

fn print(limit: Limit, rounds: usize, all: &BTreeMap<&str, Vec<Round>>) {
    println!(
        "\nOne key, limit \"{}\", {PROCESSES} processes; {rounds} rounds of {SECONDS} s each, in turns. Decisions are those allowed and denied:\n",
        limit.text()
    );
    println!(
        "| how | decisions a second | of redis_rate's | of redis_rate's by 128 | allowed a second | share allowed | server's commands a decision | server's processor a decision, µs |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (way, name) in WAYS {
        let of = |part: &dyn Fn(&Round) -> f64| median(all[way].iter().map(part).collect());
        let [alone, together] = THEIRS.map(|theirs| {
            let pairs = all[way].iter().zip(&all[theirs]);
            median(pairs.map(|(ours, theirs)| ours.decisions / theirs.decisions).collect())
        });
        println!(
            "| {name} | {:.0} | {alone:.2} | {together:.2} | {:.0} | {:.5} | {:.7} | {:.4} |",
            of(&|round| round.decisions),
            of(&|round| round.allowed),
            of(&|round| round.allowed / round.decisions),
            of(&|round| round.each(round.server.operations() as f64)),
            of(&|round| round.each(round.server.cpu * 1e6)),
        );
    }
    for way in ["rate", "leases"] {
        let mut commands: BTreeMap<&str, u64> = BTreeMap::new();
        let mut decisions = 0.0;
        for round in &all[way] {
            decisions += round.decisions * round.seconds;
            for (name, calls) in &round.server.commands {
                *commands.entry(name).or_insert(0) += calls;
            }
        }
        let commands: Vec<String> = commands
            .iter()
            .map(|(name, calls)| format!("{name} {:.2}", *calls as f64 * 1e6 / decisions))
            .collect();
        println!(
            "\nINFO commandstats in a million decisions by {way}, what scripts call included: {}",
            commands.join(", ")
        );
    }
}

/// A process that waits for its start.
struct Worker {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Worker {
    fn start(way: &str, folder: &Path, script: &Path, limit: Limit, number: usize) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["work", way])
            .args([folder, script])
            .args([limit.0.to_string(), (number % 2).to_string(), SECONDS.to_owned()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().context("a pipe")?);
        let mut worker = Self { child, lines };
        let ready = worker.line()?;
        if ready != "ready" {
            bail!("{way}: a process said {ready:?}, expected ready");
        }
        Ok(worker)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn round(way: &str, folder: &Path, script: &Path, limit: Limit) -> Result<Round> {
    let mut info = server::connect(folder)?;
    let workers = (0..PROCESSES).map(|number| Worker::start(way, folder, script, limit, number));
    let mut workers = workers.collect::<Result<Vec<_>>>()?;
    let (before, start) = (Done::by(&mut info)?, Instant::now());
    for worker in &mut workers {
        worker.child.stdin.take().context("a pipe")?.write_all(b"go\n")?;
    }
    let mut counts = [0.0; 2];
    for worker in &mut workers {
        let line = worker.line()?;
        let numbers: Vec<f64> = line.split(' ').map_while(|number| number.parse().ok()).collect();
        let [decisions, allowed] = numbers[..] else {
            bail!("{way}: a process said {line:?}, expected two counts")
        };
        counts[0] += decisions;
        counts[1] += allowed;
    }
    let (seconds, server) = (start.elapsed().as_secs_f64(), Done::by(&mut info)?.since(&before));
    Ok(Round { decisions: counts[0] / seconds, allowed: counts[1] / seconds, server, seconds })
}

/// One of the processes.
pub(crate) fn work(
    way: &str,
    folder: &Path,
    script: &Path,
    limit: &str,
    machine: &str,
    seconds: &str,
) -> Result<()> {
    let limit = Limit(limit.parse().context("LIMIT")?);
    let duration = Duration::from_secs_f64(seconds.parse().context("SECONDS")?);
    let keys = |batch| vec![KEY.to_owned(); batch];
    let of_limiter = |limiter: Limiter| -> ways::Ask {
        Box::new(move || Ok((0..BETWEEN_LOOKS).filter(|_| limiter.check(KEY).is_allowed()).count()))
    };
    let file = |kind: &str| folder.join(format!("{kind}{}-{machine}", limit.0));
    let (batch, mut ask) = match way {
        "incr" => (1, ways::incr(folder, &keys(1))?),
        "rate" => (1, ways::redis_rate(folder, script, &keys(1), limit)?),
        "rate128" => (128, ways::redis_rate(folder, script, &keys(128), limit)?),
        "take" => (1, ways::take(folder, &keys(1), limit)?),
        "leases" => (BETWEEN_LOOKS, of_limiter(Limiter::following().open(file("leases"))?)),
        "local" => {
            let builder = Limiter::builder(limit.text().parse::<Policy>()?).max_keys(MAX_KEYS);
            (BETWEEN_LOOKS, of_limiter(builder.open(file("local"))?))
        }
        _ => bail!("{way}: expected a way to ask"),
    };
    println!("ready");
    std::io::stdin().lock().read_line(&mut String::new())?;
    let (start, mut decisions, mut allowed) = (Instant::now(), 0, 0);
    while start.elapsed() < duration {
        allowed += ask()?;
        decisions += batch;
    }
    println!("{decisions} {allowed}");
    Ok(())
}
