//! Processes that charge and reserve units of one region, settle, release and renew, and change its policy again and again:
//! what a process does, and what must hold when some were killed or stopped.
//!
//! All is asked and changed in one instant. So nothing drains, and a key has no more units than the greatest capacity of any
//! policy, less those that were given back, however often the policies followed each other, and wherever a process died. A
//! process adds units to the count of their key after they were admitted, and takes them off before they are given back: a
//! process that is killed in between leaves a count that is too small.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use ratecell::{Limiter, LimiterBuilder, Policy, Request, Reservation, WhenFull};

use super::counters::Words;
use super::disturb::Disturbed;
use super::random::random;
use super::round::scratch;
use super::worker::{key, launch};

/// The name of a process's task.
pub(crate) const TASK: &str = "instant";
/// The greatest of any policy; the first one of each kind has it.
pub(crate) const CAPACITY: u64 = 40;
/// Policies that follow each other, of every kind of word.
pub(crate) const KINDS: [[&str; 4]; 8] = [
    ["40/s", "3/s burst=20", "7/m burst=40", "leaky_meter 1/h capacity=30"],
    ["leaky_queue 1/s queue=39", "leaky_queue 7/s queue=10", "10/s burst=40", "leaky_queue 3/s queue=39"],
    [
        "token_bucket 40/s capacity=40 mode=interval",
        "token_bucket 3/7s capacity=40 mode=interval",
        "token_bucket 1/1h capacity=20 mode=interval",
        "token_bucket 9/s capacity=30 mode=interval",
    ],
    [
        "token_bucket 40/s capacity=40 mode=interval_first",
        "token_bucket 3/7s capacity=40 mode=interval_first",
        "token_bucket 1/1h capacity=20 mode=interval_first",
        "token_bucket 9/s capacity=30 mode=interval_first",
    ],
    ["fixed_window 40/1d", "fixed_window 20/1d", "fixed_window 33/1d", "fixed_window 1/1d"],
    [
        "sliding_window 40/1d",
        "sliding_window 20/1d",
        "sliding_window 33/1d strict=true",
        "sliding_window 1/1d",
    ],
    [
        "calendar_window 40/day tz=UTC",
        "calendar_window 20/day tz=Europe/Berlin",
        "calendar_window 33/day tz=America/New_York at=06:00",
        "calendar_window 1/day tz=UTC",
    ],
    [
        "in_flight 40 hold=1d & 1000000/s burst=4000000",
        "in_flight 20 hold=1d & 1000/s burst=4000000",
        "in_flight 33 hold=1d & 7/s burst=4000000",
        "in_flight 1 hold=1d & 1000000/s burst=4000000",
    ],
];
/// Every kind, with room for all keys, without, and with a cell that newcomers share; each while its policy changes and while
/// it stays.
pub(crate) const CASES: u64 = 2 * ROOMS * KINDS.len() as u64;
const ROOMS: u64 = 3;
const KEYS: usize = 24;
/// At most as many are held by a process at once.
const HELD: usize = 8;
/// So that a process without a parent ends.
const TURNS: usize = 200_000_000;

/// What is asked: all follows from its number.
#[derive(Clone, Copy, Debug)]
struct Case(u64);

impl Case {
    fn policy(self, number: u64) -> Policy {
        let kind = KINDS[(self.0 / ROOMS) as usize % KINDS.len()];
        kind[number as usize % kind.len()].parse().expect("a policy")
    }

    fn changes(self) -> bool {
        self.0 < CASES / 2
    }

    fn evicts(self) -> bool {
        self.0 % ROOMS == 1
    }

    fn builder(self) -> LimiterBuilder {
        let (max_keys, when_full) = match self.0 % ROOMS {
            0 => (10 * KEYS, WhenFull::Evict),
            1 => (5, WhenFull::Evict),
            _ => (5, WhenFull::Share),
        };
        Limiter::builder(self.policy(0)).max_keys(max_keys).when_full(when_full)
    }
}

/// The end, the changes, and the units of each key.
fn counts(path: &Path) -> Words {
    Words::open(&path.with_extension("counters"), 2 + KEYS)
}

/// What a process does until it is told to end.
pub(crate) fn run(path: &Path, case: u64, seed: u64) {
    let case = Case(case);
    // With the policy in force, whichever that is.
    let limiter = Limiter::following().open(path).expect("the region");
    let counts = counts(path);
    println!("go");
    let mut random = random(seed);
    let mut held: Vec<(usize, Vec<u8>)> = Vec::new();
    for _ in 0..TURNS {
        if counts[0].load(Ordering::Acquire) != 0 {
            break;
        }
        if case.changes() && random().is_multiple_of(100) {
            limiter.change_at(case.policy(random()), 0).expect("it can follow");
            counts[1].fetch_add(1, Ordering::Relaxed);
        } else if held.len() == HELD || (random().is_multiple_of(3) && !held.is_empty()) {
            let (number, bytes) = held.swap_remove(random() as usize % held.len());
            let reservation = Reservation::from_bytes(&bytes).expect("a reservation");
            give_back(&limiter, reservation, &counts[2 + number], &mut random);
        } else {
            let (number, cost) = (random() as usize % KEYS, 1 + (random() % 8) as u32);
            let key = key(number);
            let request = Request::new(&key).cost(cost).at(0);
            let reservation = if random().is_multiple_of(2) {
                let (decision, reservation) = limiter.reserve(request).expect("it can reserve");
                assert_eq!(decision.is_allowed(), reservation.is_some());
                reservation
            } else {
                if limiter.decide(request).is_allowed() {
                    counts[2 + number].fetch_add(cost, Ordering::SeqCst);
                }
                None
            };
            if let Some(reservation) = reservation {
                counts[2 + number].fetch_add(cost, Ordering::SeqCst);
                // As another process would have it.
                held.push((number, reservation.to_bytes()));
            }
        }
    }
}

/// Settles what is held of a key, or releases it, and takes that off its count.
fn give_back(
    limiter: &Limiter,
    mut reservation: Reservation,
    count: &AtomicU32,
    random: &mut impl FnMut() -> u64,
) {
    let cost = reservation.cost();
    if limiter.policy().layers().len() > 1 {
        if random().is_multiple_of(4) {
            let _ = limiter.renew_at(&mut reservation, 0);
        }
        count.fetch_sub(cost, Ordering::SeqCst);
        let _ = limiter.release_at(reservation, 0);
    } else {
        let actual = (random() % u64::from(cost + 1)) as u32;
        count.fetch_sub(cost - actual, Ordering::SeqCst);
        let _ = limiter.settle_at(reservation, actual, 0);
    }
}

/// What the rounds came to.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) rounds: u64,
    pub(crate) disturbed: Disturbed,
    pub(crate) changes: u64,
    pub(crate) evicted: u64,
    /// Units that were not given back.
    pub(crate) kept: u64,
    pub(crate) violations: Vec<String>,
}

/// One round: processes at work, some stopped and killed at random, others started in their place.
pub(crate) fn round(seen: &mut Seen) {
    let number = seen.rounds;
    seen.rounds += 1;
    let (case, mut random) = (Case(number % CASES), random(number));
    let path = scratch(TASK);
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
    seen.changes += u64::from(counts[1].load(Ordering::Relaxed));
    judge(case, &limiter, &counts, seen);
    files.iter().for_each(|file| fs::remove_file(file).expect("removed"));
}

/// What was counted, and what is left under the policy with the greatest capacity, are at most that, and what was forgiven.
fn judge(case: Case, limiter: &Limiter, counts: &Words, seen: &mut Seen) {
    limiter.change_at(case.policy(0), 0).expect("it can follow");
    let mut all = 0;
    for number in 0..KEYS {
        let counted = u64::from(counts[2 + number].load(Ordering::SeqCst));
        seen.kept += counted;
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
