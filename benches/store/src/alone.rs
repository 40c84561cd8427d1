//! What one operation costs the server: one connection, one operation a round trip or many.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::median;
use crate::server::{self, Done};
use crate::ways::{self, Ask, Limit};

/// Operations of a round trip.
const BATCHES: [usize; 2] = [1, 128];
const THEIRS: &str = "redis_rate's script";
const ROUND: Duration = Duration::from_millis(250);
/// All are allowed: a key gets this many units a second.
const LIMIT: Limit = Limit(1_000_000);
/// Connections that are asked in turns, each of keys of its own.
const CONNECTIONS: usize = 16;

struct Row {
    name: &'static str,
    batch: usize,
    asks: Vec<Ask>,
    rounds: Vec<Round>,
}

/// Microseconds an operation, of the wall and of the server's processor.
struct Round {
    wall: f64,
    cpu: f64,
}

pub(crate) fn table(folder: &Path, script: &Path, rounds: usize) -> Result<()> {
    let mut rows = Vec::new();
    for batch in BATCHES {
        let mut add = |name, make: &dyn Fn(&[String]) -> Result<Ask>| {
            let keys = |number| (0..batch).map(|key| format!("key:{number}:{key}")).collect::<Vec<_>>();
            let asks = (0..CONNECTIONS).map(|number| make(&keys(number))).collect::<Result<_>>()?;
            rows.push(Row { name, batch, asks, rounds: Vec::new() });
            anyhow::Ok(())
        };
        add("INCR", &|keys| ways::incr(folder, keys))?;
        add(THEIRS, &|keys| ways::redis_rate(folder, script, keys, LIMIT))?;
        add("take", &|keys| ways::take(folder, keys, LIMIT))?;
    }
    let mut info = server::connect(folder)?;
    for _ in 0..rounds {
        for row in &mut rows {
            let before = Done::by(&mut info)?;
            let (start, mut asked) = (Instant::now(), 0);
            while start.elapsed() < ROUND {
                for ask in &mut row.asks {
                    let allowed = ask()?;
                    anyhow::ensure!(
                        allowed == row.batch,
                        "{}: {allowed} of {} were allowed",
                        row.name,
                        row.batch
                    );
                    asked += row.batch;
                }
            }
            let wall = start.elapsed().as_secs_f64() * 1e6 / asked as f64;
            let cpu = Done::by(&mut info)?.since(&before).cpu * 1e6 / asked as f64;
            row.rounds.push(Round { wall, cpu });
        }
    }
    println!(
        "\nOne connection, one unit an operation, all allowed; {rounds} rounds of {} ms each, in turns:\n",
        ROUND.as_millis()
    );
    println!(
        "| operation | a round trip | server's processor, µs | of redis_rate's | wall, µs | of redis_rate's |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for row in &rows {
        let theirs = rows.iter().find(|other| other.name == THEIRS && other.batch == row.batch);
        let theirs = theirs.map_or(&row.rounds, |row| &row.rounds);
        let of = |part: fn(&Round) -> f64| median(row.rounds.iter().map(part).collect());
        let ratio = |part: fn(&Round) -> f64| {
            median(row.rounds.iter().zip(theirs).map(|(ours, theirs)| part(ours) / part(theirs)).collect())
        };
        println!(
            "| {} | {} | {:.2} | {:.2} | {:.2} | {:.2} |",
            row.name,
            row.batch,
            of(|round| round.cpu),
            ratio(|round| round.cpu),
            of(|round| round.wall),
            ratio(|round| round.wall),
        );
    }
    Ok(())
}
