//! A program of a machine that shares a limit: asks for one hot key, and for 50 cold ones in bursts, more often than the
//! limit allows, and notes each admission: `machine FILE SECONDS LOG`. `machine FILE` prints the machine's counters.
//!
//! A line of the log is the instant of the answer by CLOCK_MONOTONIC, which all processes of this computer share, the
//! key, the region's time before and after the request, and the decision's `reset_after`, all in nanoseconds; or
//! `unanswered` in its place, of a denial because nobody answered. Each line is written at once, so that a process that is
//! killed has noted all but one of its admissions a thread.

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ratecell::{Limiter, Outcome, Request};

/// Between two requests for the hot key, and between two bursts of the cold ones.
const HOT_PAUSE: Duration = Duration::from_micros(700);
const TURN: Duration = Duration::from_millis(100);
const COLD_KEYS: u64 = 50;
/// Requests for a cold key, one after another.
const BURST: usize = 120;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("machine: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let file = args.next().context("expected FILE [SECONDS LOG]")?;
    let limiter = Limiter::following().open(&file)?;
    let Some(seconds) = args.next() else {
        let shared = limiter.shared().context("expected a file of leases")?;
        println!("{} {} {}", shared.operations, shared.lag_ns, shared.healed);
        return Ok(());
    };
    let end = Instant::now() + Duration::from_secs_f64(seconds.parse().context("SECONDS")?);
    let log = File::create(args.next().context("expected LOG")?)?;
    let (hot, cold) = scope(|threads| {
        let cold = threads.spawn(|| cold(&limiter, &log, end));
        (hot(&limiter, &log, end), cold.join())
    });
    let (mut asked, mut waits) = hot?;
    let (cold_asked, cold_waits) = cold.map_err(|_| anyhow::anyhow!("a thread panicked"))??;
    asked += cold_asked;
    waits.extend(cold_waits);
    println!("asked {asked}");
    for wait in waits {
        println!("wait {}", wait.as_nanos());
    }
    Ok(())
}

/// The requests, and how long each waited that no lease answered.
type Asked = (u64, Vec<Duration>);

fn hot(limiter: &Limiter, log: &File, end: Instant) -> Result<Asked> {
    let (mut asked, mut waits) = (0, Vec::new());
    while Instant::now() < end {
        asked += 1;
        waits.extend(ask(limiter, log, "hot")?);
        sleep(HOT_PAUSE);
    }
    Ok((asked, waits))
}

/// All machines ask for the same key at about the same time.
fn cold(limiter: &Limiter, log: &File, end: Instant) -> Result<Asked> {
    let (mut asked, mut waits) = (0, Vec::new());
    while Instant::now() < end {
        let key = format!("cold{}", monotonic_ns() / TURN.as_nanos() as u64 % COLD_KEYS);
        for _ in 0..BURST {
            asked += 1;
            waits.extend(ask(limiter, log, &key)?);
        }
        sleep(TURN);
    }
    Ok((asked, waits))
}

/// The wait, if it was a miss.
fn ask(limiter: &Limiter, mut log: &File, key: &str) -> Result<Option<Duration>> {
    let started = Instant::now();
    let before = limiter.now_ns();
    let mut decision = limiter.decide(Request::new(key).without_waiting());
    let is_miss = decision.outcome() == Outcome::Asked;
    if is_miss {
        decision = limiter.check(key);
    }
    let wait = is_miss.then(|| started.elapsed());
    let (now, after) = (monotonic_ns(), limiter.now_ns());
    let lasts = if decision.is_allowed() {
        Some(decision.reset_after_ns().to_string())
    } else {
        decision.is_unanswered().then(|| "unanswered".to_owned())
    };
    if let Some(lasts) = lasts {
        log.write_all(format!("{now} {key} {before} {after} {lasts}\n").as_bytes()).context("the log")?;
    }
    Ok(wait)
}

#[cfg(target_os = "linux")]
fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The clocks of other systems are not compared by the scripts that run this.
#[cfg(not(target_os = "linux"))]
fn monotonic_ns() -> u64 {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}
