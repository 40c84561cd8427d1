//! What sharing by leases costs, beside a limiter that asks the store for each request.

use std::collections::HashMap;

use anyhow::Result;

use crate::config::{Config, Forgets, MS, Pattern, SECOND};
use crate::random::Random;
use crate::uses::{Findings, refused};
use crate::world::{Tally, World};

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Requests that were admitted, as a part of those that one limiter without any delay admits.
    pub(crate) admitted: f64,
    /// Admissions that one limiter refuses.
    pub(crate) beyond: u64,
    /// Operations of the store, a request.
    pub(crate) operations: f64,
    /// The part of requests that waited, and how long on average.
    pub(crate) waited: f64,
    pub(crate) wait_ms: f64,
    /// Of the parts of their requests that the machines were admitted: 1 where all are equal.
    pub(crate) fairness: f64,
}

/// Jain's index.
fn fairness(tally: &Tally) -> f64 {
    let parts = tally.by_machine.iter().filter(|(requests, _)| *requests > 0);
    let parts: Vec<f64> = parts.map(|(requests, admitted)| *admitted as f64 / *requests as f64).collect();
    let (sum, squares): (f64, f64) = (parts.iter().sum(), parts.iter().map(|part| part * part).sum());
    sum * sum / (squares * parts.len() as f64)
}

/// The requests that one limiter admits, if each comes to it later by what `delay` says.
fn central(world: &World, mut delay: impl FnMut() -> u64) -> (u64, u64) {
    let mut by_key: HashMap<u64, Vec<(u64, u32)>> = HashMap::new();
    for (at, h, units) in &world.tally.arrivals {
        by_key.entry(*h).or_default().push((World::begin_ns() + at + delay(), *units));
    }
    let mut totals = (0, 0);
    for uses in by_key.into_values() {
        totals.0 += uses.len() as u64;
        totals.1 += refused(&world.kernels, uses);
    }
    (totals.0 - totals.1, totals.0)
}

pub(crate) fn lease(config: Config) -> Result<(Row, World, Findings)> {
    let mut world = World::new(config)?;
    world.run()?;
    let findings = world.findings()?;
    let (ideal, requests) = central(&world, || 0);
    let tally = &world.tally;
    let row = Row {
        admitted: tally.admitted as f64 / ideal.max(1) as f64,
        beyond: findings.refused.max(findings.refused_later).max(findings.slotless).max(findings.early),
        operations: tally.operations as f64 / requests as f64,
        waited: tally.waited as f64 / requests as f64,
        wait_ms: tally.waited_ns as f64 / tally.waited.max(1) as f64 / MS as f64,
        fairness: fairness(tally),
    };
    Ok((row, world, findings))
}

/// The same requests, each asked for at the store.
fn script(world: &World, rtt: u64) -> Row {
    let mut random = Random::new(7);
    let (mut total, mut number) = (0, 0_u64);
    let mut way = || random.lognormal(rtt as f64 / 2.0, 0.3);
    let (admitted, requests) = central(world, || {
        let there = way();
        total += there + way();
        number += 1;
        there
    });
    let (ideal, _) = central(world, || 0);
    Row {
        admitted: admitted as f64 / ideal.max(1) as f64,
        beyond: 0,
        operations: 1.0,
        waited: 1.0,
        wait_ms: total as f64 / requests.max(1) as f64 / MS as f64,
        fairness: 1.0,
    }
}

pub(crate) fn cases() -> Vec<(&'static str, Config)> {
    let hot = "1000/s burst=1000";
    let large = "10000/s burst=10000";
    let plain = Config::plain;
    vec![
        ("10 machines, 1000/s burst 1000, twice", plain(hot, 10, 2_000.0)),
        ("the same, 0.8 of it", plain(hot, 10, 800.0)),
        ("100 machines, twice", plain(hot, 100, 2_000.0)),
        ("1000 machines, 10,000/s, twice", plain(large, 1_000, 20_000.0)),
        ("1000 machines, 10,000/s, half of it", plain(large, 1_000, 5_000.0)),
        (
            "10 machines, 100,000/s, 1.5 times",
            Config { duration: 4 * SECOND, ..plain("100000/s burst=100000", 10, 150_000.0) },
        ),
        ("10 machines, 100/s burst 10, twice", plain("100/s burst=10", 10, 200.0)),
        ("10 machines uneven, 1000/s, twice", Config { is_uneven: true, ..plain(hot, 10, 2_000.0) }),
        (
            "20 machines, halves by turns of 2 s",
            Config { pattern: Pattern::Halves(2 * SECOND), ..plain(hot, 20, 2_000.0) },
        ),
        (
            "50 machines, each on a tenth of the time",
            Config { pattern: Pattern::Tenth, ..plain(hot, 50, 1_000.0) },
        ),
        (
            "cold: 10/s burst 20, a tenth, 10 machines",
            Config { keys: 100, ..plain("10/s burst=20", 10, 1.0) },
        ),
        ("RTT 10 ms, 10 machines, twice", Config { rtt: 10 * MS, ..plain(hot, 10, 2_000.0) }),
        ("RTT 50 ms, waits to 200 ms", Config { rtt: 50 * MS, wait: 200 * MS, ..plain(hot, 10, 2_000.0) }),
        ("1 % of messages lost each way", Config { loss: 0.01, ..plain(hot, 10, 2_000.0) }),
        ("each machine crashes every 2 s", Config { crashes: 2 * SECOND, ..plain(hot, 10, 2_000.0) }),
        ("window 1000/s, 10 machines, twice", plain("fixed_window 1000/s", 10, 2_000.0)),
        ("sliding window 1000/s, 10 machines, twice", plain("sliding_window 1000/s", 10, 2_000.0)),
        (
            "interval bucket 1000/s, 10 machines, twice",
            plain("token_bucket 1000/1s capacity=1000 mode=interval", 10, 2_000.0),
        ),
        (
            "bucket 100/100ms, 10 machines, twice",
            plain("token_bucket 100/100ms capacity=1000 mode=interval", 10, 2_000.0),
        ),
    ]
}

/// Prints the rows of all cases whose name contains `text`; whether nothing was admitted beyond the policy.
pub(crate) fn compare(text: &str) -> Result<bool> {
    println!(
        "| case | scheme | admitted / ideal | beyond | ops / request | waited | mean wait ms | fairness |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut is_clean = true;
    for (name, config) in cases().into_iter().filter(|(name, _)| name.contains(text)) {
        let rtt = config.rtt;
        let (row, world, _) = lease(config)?;
        is_clean &= row.beyond == 0;
        for (scheme, row) in [("script", script(&world, rtt)), ("lease, take", row)] {
            println!(
                "| {name} | {scheme} | {:.3} | {} | {:.4} | {:.1} % | {:.2} | {:.3} |",
                row.admitted,
                row.beyond,
                row.operations,
                row.waited * 100.0,
                row.wait_ms,
                row.fairness
            );
        }
    }
    Ok(is_clean)
}

/// What is admitted beyond the policy where the store forgets.
pub(crate) fn forgotten(forgets: Forgets, heals: bool, seed: u64) -> Result<Findings> {
    let plain = Config::plain("1000/s burst=1000", 10, 2_000.0);
    let (.., findings) = lease(Config { forgets, heals, seed, duration: 15 * SECOND, ..plain })?;
    Ok(findings)
}

/// Prints what a store that forgets admits beyond the policy; whether it is at most a burst, and less with healing.
pub(crate) fn forget() -> Result<bool> {
    let mut is_fine = true;
    for seed in 1..=5 {
        for (name, forgets) in
            [("the last second", Forgets::LastSecond(10 * SECOND)), ("all", Forgets::All(10 * SECOND))]
        {
            let (without, with) = (forgotten(forgets, false, seed)?, forgotten(forgets, true, seed)?);
            println!(
                "{name}, seed {seed}: of {} uses refused {} without healing; of {} refused {} with it",
                without.uses, without.refused, with.uses, with.refused
            );
            is_fine &= with.refused < without.refused;
        }
    }
    Ok(is_fine)
}
