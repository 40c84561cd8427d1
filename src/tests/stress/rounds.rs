//! Tables without room while time passes: every kind of word, every answer, clocks that agree and clocks that differ.
//! What each key got, against its bound.
//!
//! The threads meet before each round. So what came earlier is known from round to round, though not within one.

use std::sync::Barrier;

use proptest::prelude::RngCore;

use super::{random, spread_key};
use crate::table::{Extent, Lookup, Stats, Table, WhenFull};
use crate::tests::kernels::kernel;
use ratecell_core::algorithm::Algorithm;
use ratecell_core::with_kernel;

const PERIOD: u64 = 10_000;
const CAPACITY: u64 = 6;
const BUCKETS: usize = 4;
const KEYS: u64 = 2 * 8 * BUCKETS as u64;
const ROUNDS: usize = 300;
/// Of one thread in one round, at most.
const REQUESTS: u64 = 40;
/// How far clocks differ, where they do.
const SKEW: u64 = 3_000;

/// The most that a key may get between two instants.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// So many units a period, evenly.
    Rate(u64),
    /// So many units at each multiple of the period.
    Refills(u64),
    /// So many units at each period after some request.
    RefillsFromFirst(u64),
    /// The capacity in each period, which begins so many nanoseconds after its multiple.
    Windows(u64),
    WindowsFromFirst,
    /// The capacity in each window, where the one before counts by the part of it that is less than a period ago.
    Sliding {
        rounded_up: bool,
    },
}

const KINDS: [(&str, Bound); 9] = [
    ("4/10us burst=6", Bound::Rate(4)),
    ("leaky_queue 4/10us queue=4 burst=2", Bound::Rate(4)),
    ("token_bucket 4/10us capacity=6 mode=interval", Bound::Refills(4)),
    ("token_bucket 4/10us capacity=6 mode=interval_first", Bound::RefillsFromFirst(4)),
    ("fixed_window 6/10us", Bound::Windows(0)),
    ("fixed_window 6/10us offset=3us", Bound::Windows(3_000)),
    ("fixed_window 6/10us start=first", Bound::WindowsFromFirst),
    ("sliding_window 6/10us", Bound::Sliding { rounded_up: false }),
    ("sliding_window 6/10us strict=true", Bound::Sliding { rounded_up: true }),
];

fn window(instant: u64, offset: u64) -> u64 {
    (instant + PERIOD - offset) / PERIOD
}

impl Bound {
    /// The most between the two instants; `begun` says whether a window may have begun before the first of them.
    fn most(self, least: u64, greatest: u64, begun: bool) -> u64 {
        let span = greatest - least;
        match self {
            Self::Rate(rate) => CAPACITY + span * rate / PERIOD,
            Self::Refills(refill) => CAPACITY + refill * (window(greatest, 0) - window(least, 0)),
            Self::RefillsFromFirst(refill) => CAPACITY + refill * (span / PERIOD + u64::from(begun)),
            Self::Windows(offset) => CAPACITY * (window(greatest, offset) - window(least, offset) + 1),
            Self::WindowsFromFirst => CAPACITY * (span / PERIOD + 1 + u64::from(begun)),
            Self::Sliding { .. } => CAPACITY * (window(greatest, 0) - window(least, 0) + 1),
        }
    }

    /// How much more than its bound a key got that was admitted `units` in each round, between any two of them.
    fn excess(self, rounds: &[Round], units: &[u64]) -> u64 {
        let first = units.iter().position(|units| *units > 0).unwrap_or(0);
        let from = |from: usize| {
            let (mut sum, mut least, mut greatest, mut beyond) = (0, u64::MAX, 0, 0);
            for (round, units) in rounds.iter().zip(units).skip(from) {
                sum += units;
                (least, greatest) = (least.min(round.from), greatest.max(round.to));
                beyond = beyond.max(sum.saturating_sub(self.most(least, greatest, from > first)));
            }
            beyond
        };
        let weighted = match self {
            Self::Sliding { rounded_up } => weighted_excess(rounds, units, rounded_up),
            _ => 0,
        };
        (first..rounds.len()).map(from).max().unwrap_or(0).max(weighted)
    }
}

/// How much a sliding window's estimate exceeded the capacity, of the rounds of which the window is certain: none but
/// it has been shown by any clock since the round began, nor a later one before.
fn weighted_excess(rounds: &[Round], units: &[u64], rounded_up: bool) -> u64 {
    let (mut at, mut previous, mut current, mut latest, mut beyond) = (0, 0, 0, 0, 0);
    for (round, &units) in rounds.iter().zip(units) {
        latest = latest.max(round.to);
        let now = window(round.from, 0);
        if now != window(latest, 0) {
            continue;
        }
        (previous, current) = match now - at {
            0 => (previous, current),
            1 => (current, 0),
            _ => (0, 0),
        };
        (at, current) = (now, current + units);
        if units > 0 {
            let weight = previous * (PERIOD - round.to % PERIOD);
            let weight = if rounded_up { weight.div_ceil(PERIOD) } else { weight / PERIOD };
            beyond = beyond.max((weight + current).saturating_sub(CAPACITY));
        }
    }
    beyond
}

/// The instants of one round, and the keys that are asked for in it: the others drain.
#[derive(Clone, Copy, Debug)]
struct Round {
    from: u64,
    to: u64,
    first_key: u64,
    keys: u64,
    requests: u64,
}

fn rounds(skew: u64) -> Vec<Round> {
    let mut random = random(0);
    let mut from = 5 * PERIOD;
    let round = |_| {
        let step = random.next_u64();
        // To the next window, for a part of a period, and at times until all is fresh.
        from = match step % 16 {
            0..4 => (from / PERIOD + 1) * PERIOD,
            15 => from + 3 * PERIOD,
            _ => from + (step >> 8) % (PERIOD / 3),
        };
        let kind = random.next_u64();
        Round {
            from,
            to: from + skew,
            first_key: kind % KEYS,
            keys: 1 + (kind >> 16) % KEYS,
            requests: 1 + (kind >> 32) % REQUESTS,
        }
    };
    (0..ROUNDS).map(round).collect()
}

/// Units that each key was admitted in each round.
fn admitted<A: Algorithm + Sync>(
    table: &Table,
    algorithm: &A,
    threads: usize,
    rounds: &[Round],
    most: u32,
) -> Vec<Vec<u64>> {
    let meeting = Barrier::new(threads);
    let thread = |thread: usize| {
        let mut random = random(thread + 1);
        let mut units = vec![vec![0; rounds.len()]; KEYS as usize];
        for (number, round) in rounds.iter().enumerate() {
            meeting.wait();
            for _ in 0..round.requests {
                let drawn = random.next_u64();
                let key = (round.first_key + drawn % round.keys) % KEYS;
                // All of it, every other time.
                let cost = (1 + (drawn >> 16) as u32 % (2 * most)).min(most);
                let now = round.from + (drawn >> 32) % (round.to - round.from + 1);
                let decision = table.check(algorithm, spread_key(key), now, cost, Lookup::NotYet);
                units[key as usize][number] += if decision.is_allowed() { u64::from(cost) } else { 0 };
            }
        }
        units
    };
    let of_threads: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|number| scope.spawn(move || thread(number))).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let sum = |key: usize, round: usize| of_threads.iter().map(|units| units[key][round]).sum();
    (0..KEYS as usize).map(|key| (0..rounds.len()).map(|round| sum(key, round)).collect()).collect()
}

/// Asserts that all keys together exceed their bounds by no more than `beyond` says of the stats; it says `None` where
/// the answer was not given.
fn assert_bounds(when_full: WhenFull, most: u32, beyond: impl Fn(Stats) -> Option<u64>) {
    let mut exceeded = Vec::new();
    for (policy, bound) in KINDS {
        for threads in [2, 8] {
            for skew in [0, SKEW] {
                with_kernel!(kernel(policy), algorithm => {
                    let rounds = rounds(skew);
                    let table = Table::alone(BUCKETS, when_full);
                    let admitted = admitted(&table, &algorithm, threads, &rounds, most);
                    let excess: u64 = admitted.iter().map(|units| bound.excess(&rounds, units)).sum();
                    let stats = table.stats(&algorithm, rounds[ROUNDS - 1].to, Extent::All);
                    let what = format!("{policy}, {when_full:?}, {threads} threads, clocks {skew} ns apart");
                    println!("{what}: {excess} units beyond, {stats:?}");
                    let beyond = beyond(stats).expect("the table is full");
                    if excess > beyond {
                        exceeded.push(format!("{what}: {excess} units beyond, not {beyond}"));
                    }
                });
            }
        }
    }
    assert!(exceeded.is_empty(), "{exceeded:#?}");
}

#[test]
fn where_it_evicts_keys_exceed_by_no_more_than_it_forgives() {
    assert_bounds(WhenFull::Evict, CAPACITY as u32, |stats| (stats.evicted > 0).then_some(stats.forgiven));
}

#[test]
fn where_it_shares_no_key_exceeds() {
    assert_bounds(WhenFull::Share, CAPACITY as u32, |stats| (stats.shared > 0).then_some(stats.forgiven));
}

#[test]
fn where_it_denies_no_key_exceeds() {
    assert_bounds(WhenFull::Deny, CAPACITY as u32, |stats| (stats.denied_full > 0).then_some(stats.forgiven));
}

/// Of one unit each, for it is requests that are counted.
#[test]
fn where_it_allows_keys_exceed_by_no_more_than_it_counts() {
    assert_bounds(WhenFull::Allow, 1, |stats| (stats.allowed_full > 0).then_some(stats.allowed_full));
}
