//! Processes on one region: what they allow together is exact, also when some are killed or stopped at any
//! instruction.
//!
//! `RATECELL_ROUNDS` and `RATECELL_SECONDS` make the runs longer.
#![cfg(target_os = "linux")]

#[path = "../../src/tests/stress/bounds.rs"]
mod bounds;
mod counters;
mod disturb;
mod instant;
mod moving;
mod naming;
#[path = "../../src/tests/stress/random.rs"]
mod random;
mod round;
#[cfg(feature = "rules")]
mod ruled;
mod traffic;
mod worker;

use std::env;
use std::time::{Duration, Instant};

use ratecell::{Limiter, Policy};
use round::{Round, scratch};
use traffic::{CASES, Case};
use worker::Work;

fn setting(name: &str, default: usize) -> usize {
    env::var(name)
        .map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name}={value}: a number")))
}

/// What the processes run; as a test it does nothing.
#[test]
fn worker() {
    worker::run();
}

/// Keys that are hit again and again: what the dead have charged is theirs, and no more.
#[test]
fn killed_while_they_hit() {
    kill_in("killed_while_they_hit", Work::HITS);
}

/// Keys that are new: none passes twice.
#[test]
fn killed_while_they_insert() {
    kill_in("killed_while_they_insert", Work::INSERTS);
}

/// Keys that drive each other out: no more pass than are counted as forgiven.
#[test]
fn killed_while_they_evict() {
    kill_in("killed_while_they_evict", Work::EVICTIONS);
}

fn kill_in(name: &str, work: Work) {
    let rounds = setting("RATECELL_ROUNDS", 20);
    let (mut kills, mut lost) = (0, 0);
    for seed in 0..rounds as u64 {
        let mut round = Round::start(name, work, seed);
        kills += round.kill();
        lost += round.settle();
    }
    println!("{name}: {rounds} rounds, {kills} processes killed, {lost} of their charges uncounted");
}

#[test]
fn stopped_while_they_hit() {
    stop_in("stopped_while_they_hit", Work::HITS);
}

#[test]
fn stopped_while_they_insert() {
    stop_in("stopped_while_they_insert", Work::INSERTS);
}

#[test]
fn stopped_while_they_evict() {
    stop_in("stopped_while_they_evict", Work::EVICTIONS);
}

/// All are stopped at once; newcomers are served; they go on and end, and nothing is lost.
fn stop_in(name: &str, work: Work) {
    let rounds = setting("RATECELL_ROUNDS", 20);
    for seed in 0..rounds as u64 {
        let mut round = Round::start(name, work, seed);
        round.stop();
        round.serve();
        round.go_on();
        assert_eq!(round.settle(), 0, "{name}: nobody died");
    }
    println!("{name}: {rounds} rounds");
}

/// Denials that were killed: all are counted but those, and no key has another's name.
#[test]
fn killed_while_they_name() {
    let rounds = setting("RATECELL_ROUNDS", 20);
    let (denied, names) = naming::kill(rounds as u64);
    println!("killed_while_they_name: {rounds} rounds, {denied} denials, {names} names");
    assert!(denied > 1_000 && names > 100);
}

/// Kills and stops at random while time passes, for every kind of word and every answer of a full table, and for so
/// many seconds if that is longer: no key gets more than its bound and what is counted, and no process waits for ever.
#[test]
fn killed_and_stopped_while_time_passes() {
    let started = Instant::now();
    let enough = Duration::from_secs(setting("RATECELL_SECONDS", 0) as u64);
    let mut seen = moving::Seen::default();
    while seen.rounds < CASES || started.elapsed() < enough {
        moving::run("moving", Case(seen.rounds), &mut seen);
    }
    let moving::Seen { rounds, admissions, beyond, kills, stops, violations, hangs, .. } = &seen;
    println!(
        "{} s of kills and stops on {} processes: {CASES} kinds x answers, {rounds} rounds, {admissions} units admitted, \
         {beyond} of them beyond a bound and counted, {kills} kills, {stops} stops, violations {}, hangs {hangs}",
        started.elapsed().as_secs(),
        worker::PROCESSES,
        violations.len(),
    );
    assert!(violations.is_empty() && *hangs == 0, "{violations:#?}, {hangs} hangs");
    for answers in [seen.evicted, seen.shared, seen.denied_full, seen.allowed_full, *kills, *stops] {
        assert!(answers > 0, "the tables were full, and processes disturbed: {seen:?}");
    }
}

/// Kills and stops at random while units are charged, reserved, settled, released and renewed, and the policy is changed again
/// and again, for every kind of word: no key has more than the greatest capacity of what was not given back.
#[test]
fn killed_and_stopped_while_they_hold_and_change() {
    let started = Instant::now();
    let enough = Duration::from_secs(setting("RATECELL_SECONDS", 0) as u64);
    let mut seen = instant::Seen::default();
    while seen.rounds < instant::CASES || started.elapsed() < enough {
        instant::round(&mut seen);
    }
    let instant::Seen { rounds, disturbed, changes, evicted, kept, violations } = &seen;
    let disturb::Disturbed { kills, stops, hangs } = disturbed;
    println!(
        "{} s of reservations and changes: {rounds} rounds, {changes} changes, {kept} units kept, {evicted} evictions, {kills} kills, \
         {stops} stops, violations {}, hangs {hangs}",
        started.elapsed().as_secs(),
        violations.len()
    );
    assert!(violations.is_empty() && *hangs == 0, "{violations:#?}, {hangs} hangs");
    assert!(*kills > 0 && *stops > 0 && *evicted > 0 && *changes > 1_000 && *kept > 0, "{seen:?}");
}

/// Kills and stops at random while processes decide by the rules of one file, of every kind of word in one table, whose limits
/// stay or are changed again and again: no key has more than its limit, and where they stay no key has less.
#[cfg(feature = "rules")]
#[test]
fn killed_and_stopped_while_they_decide_by_rules() {
    let started = Instant::now();
    let enough = Duration::from_secs(setting("RATECELL_SECONDS", 0) as u64);
    let mut seen = ruled::Seen::default();
    while seen.rounds < 6 * ruled::CASES || started.elapsed() < enough {
        ruled::round(&mut seen);
    }
    let ruled::Seen { rounds, disturbed, changes, evicted, admitted, lost, violations } = &seen;
    let disturb::Disturbed { kills, stops, hangs } = disturbed;
    println!(
        "{} s of decisions by rules: {rounds} rounds, {changes} changes, {admitted} units admitted, {lost} uncounted, {evicted} \
         evictions, {kills} kills, {stops} stops, violations {}, hangs {hangs}",
        started.elapsed().as_secs(),
        violations.len()
    );
    assert!(violations.is_empty() && *hangs == 0, "{violations:#?}, {hangs} hangs");
    assert!(*kills > 0 && *stops > 0 && *evicted > 0 && *changes > 100 && *admitted > 0, "{seen:?}");
}

/// A saturated key gets its burst and its rate to the unit, by the clock that all processes share.
#[test]
fn one_key_gets_its_rate_exactly() {
    const RATE: u64 = 1_000_000;
    const BURST: u64 = 1_000_000;
    let seconds = setting("RATECELL_SECONDS", 2);
    let path = scratch("one_key");
    let policy: Policy = format!("{RATE}/s burst={BURST}").parse().expect("a policy");
    let limiter = Limiter::builder(policy).max_keys(100).open(&path).expect("a region");
    // From here on the key is a second ahead, so that it is never idle while the processes start.
    let first = limiter.now_ns();
    assert!(limiter.check_at("key", BURST as u32, first).is_allowed());
    let workers = worker::clocked(&path, seconds);
    let mut admitted: u64 = BURST + workers.into_iter().map(worker::admitted).sum::<u64>();
    // The last instant is one at which nothing more passes.
    let last = loop {
        let now = limiter.now_ns();
        if limiter.check_at("key", 1, now).is_allowed() { admitted += 1 } else { break now }
    };
    let bound = BURST + (last - first) / (1_000_000_000 / RATE);
    println!(
        "one key, 4 processes, {seconds} s: admitted {admitted}, admitted - bound = {}",
        admitted as i64 - bound as i64
    );
    assert_eq!(admitted, bound);
    std::fs::remove_file(path).expect("removed");
}
