//! Processes that reserve, settle, release and renew on one region: what a process does, and what must hold when some
//! were killed or stopped.
//!
//! A process adds units to the count of their key after they were admitted, and takes them off before they are given back:
//! whoever is killed in between leaves a count that is too small.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use ratecell::{Limiter, LimiterBuilder, Policy, Request, Reservation, WhenFull};

use super::counters::Words;
use super::disturb::Disturbed;
use super::random::random;
use super::round::scratch;
use super::worker::{key, launch};

/// The name of a process's task.
pub(crate) const TASK: &str = "holding";
/// Of each key, in the one instant at which all is asked.
const CAPACITY: u64 = 40;
/// One policy of each kind whose charges can be given back in part; the last is given back by a release.
const KINDS: [&str; 8] = [
    "40/s",
    "token_bucket 40/s capacity=40 mode=interval",
    "token_bucket 40/s capacity=40 mode=interval_first",
    "fixed_window 40/1d",
    "sliding_window 40/1d",
    "leaky_queue 1/s queue=39",
    "calendar_window 40/day tz=UTC",
    "in_flight 40 hold=1d & 1000000/s burst=4000000",
];
/// Every kind, with room for all keys and without.
pub(crate) const CASES: u64 = 2 * KINDS.len() as u64;
const KEYS: usize = 24;
/// At most as many are held by a process at once.
const HELD: usize = 8;
/// So that a process without a parent ends.
const TURNS: usize = 200_000_000;

/// What is asked: all follows from its number.
#[derive(Clone, Copy, Debug)]
struct Case(u64);

impl Case {
    fn evicts(self) -> bool {
        !self.0.is_multiple_of(2)
    }

    fn builder(self) -> LimiterBuilder {
        let policy: Policy = KINDS[(self.0 / 2) as usize % KINDS.len()].parse().expect("a policy");
        let max_keys = if self.evicts() { 5 } else { 10 * KEYS };
        Limiter::builder(policy).max_keys(max_keys).when_full(WhenFull::Evict)
    }
}

/// The end, and the units of each key.
fn counts(path: &Path) -> Words {
    Words::open(&path.with_extension("counters"), 1 + KEYS)
}

/// What a process does until it is told to end.
pub(crate) fn run(path: &Path, case: u64, seed: u64) {
    let limiter = Case(case).builder().open(path).expect("the region");
    let counts = counts(path);
    println!("go");
    let mut random = random(seed);
    let mut held: Vec<(usize, Vec<u8>)> = Vec::new();
    for _ in 0..TURNS {
        if counts[0].load(Ordering::Acquire) != 0 {
            break;
        }
        if held.len() < HELD && !random().is_multiple_of(3) {
            let (number, cost) = (random() as usize % KEYS, 1 + (random() % 8) as u32);
            let key = key(number);
            let request = Request::new(&key).cost(cost).at(0);
            let (decision, reservation) = limiter.reserve(request).expect("it can reserve");
            if decision.is_allowed() {
                counts[1 + number].fetch_add(cost, Ordering::SeqCst);
                let reservation = reservation.expect("it was allowed");
                // As another process would have it.
                held.push((number, reservation.to_bytes()));
            }
        } else if !held.is_empty() {
            let place = random() as usize % held.len();
            let (number, bytes) = held.swap_remove(place);
            let mut reservation = Reservation::from_bytes(&bytes).expect("a reservation");
            let cost = reservation.cost();
            if limiter.policy().layers().len() > 1 {
                if random().is_multiple_of(4) {
                    let _ = limiter.renew_at(&mut reservation, 0);
                }
                counts[1 + number].fetch_sub(cost, Ordering::SeqCst);
                let _ = limiter.release_at(reservation, 0);
            } else {
                let actual = (random() % u64::from(cost + 1)) as u32;
                counts[1 + number].fetch_sub(cost - actual, Ordering::SeqCst);
                let _ = limiter.settle_at(reservation, actual, 0);
            }
        }
    }
}

/// What the rounds came to.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) rounds: u64,
    pub(crate) disturbed: Disturbed,
    pub(crate) evicted: u64,
    pub(crate) violations: Vec<String>,
}

/// One round: processes at work, some stopped and killed at random, others started in their place.
pub(crate) fn round(seen: &mut Seen) {
    let number = seen.rounds;
    seen.rounds += 1;
    let (case, mut random) = (Case(number % CASES), random(number));
    let path = scratch("holding");
    let files = [path.clone(), path.with_extension("counters")];
    files.iter().for_each(|file| drop(fs::remove_file(file)));
    let limiter = case.builder().open(&path).expect("a region");
    let counts = counts(&path);
    let mut started = 0;
    let start = || {
        started += 1;
        launch(&format!("{TASK} {} {} {}", case.0, number * 1_000 + started, path.display()))
    };
    seen.disturbed.run(start, &counts[0], &mut random);
    judge(case, &limiter, &counts, seen);
    files.iter().for_each(|file| fs::remove_file(file).expect("removed"));
}

/// What was counted, and what is left, are at most what each key has, and what was forgiven.
fn judge(case: Case, limiter: &Limiter, counts: &Words, seen: &mut Seen) {
    let mut all = 0;
    for number in 0..KEYS {
        let counted = u64::from(counts[1 + number].load(Ordering::SeqCst));
        let left =
            (0..=CAPACITY).take_while(|_| limiter.check_at(key(number), 1, 0).is_allowed()).count() as u64;
        if !case.evicts() && counted + left > CAPACITY {
            seen.violations
                .push(format!("{case:?}: key {number}: {counted} net units, and {left} were left"));
        }
        all += counted + left;
    }
    let stats = limiter.stats_at(0);
    seen.evicted += stats.evicted;
    let most = CAPACITY * KEYS as u64 + stats.forgiven;
    if all > most {
        seen.violations.push(format!("{case:?}: {all} net units of all keys, at most {most}"));
    }
}
