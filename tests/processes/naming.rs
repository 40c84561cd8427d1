//! Processes that are denied again and again, and killed while they name their keys: what each does, and what must hold.
//!
//! A process counts a denial after it was answered. One that is killed in between leaves a count that is too small by one.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use ratecell::{Limiter, Policy, Region};

use super::counters::Counters;
use super::random::random;
use super::round::scratch;
use super::worker::{PROCESSES, spawn};

/// The name of a process's task.
pub(crate) const TASK: &str = "naming";
/// More than a thread has lines, so that they change hands.
const KEYS: usize = 3_000;
/// So that a process without a parent ends.
const TURNS: usize = 200_000_000;

/// A key of any length: it begins with its number, in a text that is alike for all.
fn key(number: usize) -> String {
    let length = [9, 40, 41, 60][number % 4];
    format!("{number:>09}{}", "x".repeat(length - 9))
}

fn number(name: &[u8]) -> usize {
    let digits = std::str::from_utf8(&name[..9]).expect("a key's digits");
    digits.parse().expect("a key's number")
}

fn counters(path: &Path) -> Counters {
    Counters::open(&path.with_extension("counters"), PROCESSES, KEYS)
}

pub(crate) fn run(path: &Path, process: usize, seed: u64) {
    let limiter = Limiter::following().open(path).expect("the region");
    let (counters, mut random) = (counters(path), random(seed));
    println!("go");
    for _ in 0..TURNS {
        let random = random() as usize;
        // Some are asked for more than others.
        let number = if random & 1 == 0 { random / 2 % 16 } else { random / 2 % KEYS };
        if !limiter.check_at(key(number), 1, 0).is_allowed() {
            counters.count(process, number);
        }
    }
}

/// Kills all processes in each round. Returns how many denials were counted, and how many names were read.
pub(crate) fn kill(rounds: u64) -> (u64, usize) {
    let path = scratch("naming");
    for file in [path.clone(), path.with_extension("counters")] {
        let _ = fs::remove_file(file);
    }
    let policy: Policy = "fixed_window 1/1d".parse().expect("a policy");
    let limiter = Limiter::builder(policy).max_keys(2 * KEYS).names(true).open(&path).expect("a region");
    let (counters, mut killed, mut names) = (counters(&path), 0, 0);
    for round in 0..rounds {
        let task = |process| format!("{TASK} {process} {} {}", round * 100 + process as u64, path.display());
        let mut workers: Vec<_> = (0..PROCESSES).map(|process| spawn(&task(process))).collect();
        sleep(Duration::from_micros(500 + random(round)() % 20_000));
        for worker in &mut workers {
            worker.kill().expect("killed");
            worker.wait().expect("its end");
            killed += 1;
        }
        names += check(&path, &counters, killed);
    }
    // A line that a process had claimed when it was killed is found again.
    for _ in 0..32 {
        (0..KEYS).for_each(|number| _ = limiter.check_at(key(number), 1, 0));
    }
    let region = Region::read(&path).expect("the region");
    assert!(region.denied_keys().len() > 200, "{} names", region.denied_keys().len());
    let counted = (0..KEYS).map(|number| counters.of_key(number)).sum();
    for file in [path.clone(), path.with_extension("counters")] {
        fs::remove_file(file).expect("gone");
    }
    (counted, names)
}

/// The total is exact, but for those whom death has kept from counting; and no key has a name or a denial that is another's.
fn check(path: &Path, counters: &Counters, killed: u64) -> usize {
    let region = Region::read(path).expect("the region");
    let counted: u64 = (0..KEYS).map(|number| counters.of_key(number)).sum();
    let denied = region.denied().expect("names");
    assert!(
        (counted..=counted + killed).contains(&denied),
        "{denied} denied, {counted} counted, {killed} killed"
    );
    let keys = region.denied_keys();
    for named in &keys {
        let name = named.name.as_ref().expect("keys have names");
        let number = number(name.as_bytes());
        let key = key(number);
        let kept = if key.len() > 40 { 32 } else { key.len() };
        assert_eq!((name.as_bytes(), name.is_cut()), (&key.as_bytes()[..kept], key.len() > 40));
        let most = counters.of_key(number) + killed;
        assert!(named.denied <= most, "{key}: {} denied, {most} at most", named.denied);
    }
    keys.len()
}
