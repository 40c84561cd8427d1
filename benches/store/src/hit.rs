//! A check whose lease is there, beside the same check of a table without a store: one process, one thread.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ratecell::{Limiter, Policy, Request};

use crate::median;

/// The policy of the file `leases100-0`, for which an agent runs. A lease of [`UNITS`] at rest lasts for a minute and more.
const POLICY: &str = "100/s burst=40000000";
const KEYS: [usize; 3] = [1, 1_000, 10_000];
const CHECKS: usize = 20_000;
/// Units of a lease.
const UNITS: u32 = 500_000;
/// As the files of leases have.
const MAX_KEYS: usize = 10_000;
/// More than of the other tables: these are short.
const ROUNDS_FACTOR: usize = 35;
/// Misses that are posted together.
const TOGETHER: usize = 256;
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn table(folder: &Path, rounds: usize) -> Result<()> {
    let leased = Limiter::following().open(folder.join("leases100-0"))?;
    let builder = Limiter::builder(POLICY.parse::<Policy>()?).max_keys(MAX_KEYS);
    let plain = builder.open(folder.join("local100-0"))?;
    let rounds = rounds * ROUNDS_FACTOR;
    println!(
        "\nOne thread, own clock, back to back, all allowed; {rounds} rounds of {CHECKS} checks, in turns; the thread's processor time:\n"
    );
    println!("| keys | no store, ns | again, of it | leased, ns | of it | share allowed |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for keys in KEYS {
        let names: Vec<[u8; 16]> = (0..keys as u128).map(|key| (key + 1).to_le_bytes()).collect();
        for name in &names {
            let _ = plain.check(name);
        }
        let order = order(keys);
        let (mut all, mut allowed) = (Vec::new(), 0);
        for _ in 0..rounds {
            lease(&leased, &names, (CHECKS / keys * 4).max(100) as u64)?;
            // Both are in the cache.
            let _ = names.iter().filter(|name| plain.peek(name).is_allowed()).count();
            // The table without a store twice: what differs between them is no more than chance.
            let [first, lease, second] =
                [&plain, &leased, &plain].map(|limiter| timed(limiter, &names, &order));
            allowed += first.1 + lease.1 + second.1;
            all.push([first.0, lease.0, second.0]);
        }
        let of = |part: &dyn Fn(&[f64; 3]) -> f64| median(all.iter().map(part).collect());
        println!(
            "| {keys} | {:.1} | {:.3} | {:.1} | {:.3} | {:.4} |",
            of(&|round| (round[0] + round[2]) / 2.0),
            of(&|round| round[2] / round[0]),
            of(&|round| round[1]),
            of(&|round| round[1] * 2.0 / (round[0] + round[2])),
            allowed as f64 / (3 * rounds * CHECKS) as f64,
        );
    }
    Ok(())
}

/// Nanoseconds of the processor a check, and how many were allowed.
fn timed(limiter: &Limiter, names: &[[u8; 16]], order: &[usize]) -> (f64, usize) {
    let start = processor_ns();
    let allowed = order.iter().filter(|key| limiter.check(names[**key]).is_allowed()).count();
    ((processor_ns() - start) as f64 / order.len() as f64, allowed)
}

/// What this thread has had of a processor: others take their turns meanwhile.
fn processor_ns() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Has the agent lease units of each key that has fewer than `least`.
fn lease(limiter: &Limiter, names: &[[u8; 16]], least: u64) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    for some in names.chunks(TOGETHER) {
        loop {
            let without: Vec<_> = some.iter().filter(|name| limiter.peek(name).remaining() < least).collect();
            if without.is_empty() {
                break;
            }
            if Instant::now() > end {
                let shared = limiter.shared().context("a file of leases")?;
                bail!(
                    "expected the agent to lease units of {} keys in {PATIENCE:?}: {shared:?}",
                    names.len()
                );
            }
            for name in without {
                // What there is may be less than that: it is used up first.
                let _ = limiter.decide(Request::new(name).cost(UNITS).without_waiting());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// The keys' numbers in no order that a processor could predict: splitmix64.
fn order(keys: usize) -> Vec<usize> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) as usize
    };
    (0..CHECKS).map(|_| next() % keys).collect()
}
