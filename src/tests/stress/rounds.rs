//! Tables without room while time passes: every kind of word, every answer, clocks that agree and clocks that differ.
//! What each key got, against its bound.
//!
//! The threads meet before each round. So what came earlier is known from round to round, though not within one.

use std::sync::Barrier;

use super::bounds::{Admitted, Bound, CAPACITY, KINDS, Round, SKEW, rounds};
use super::random::random;
use super::spread_key;
use crate::table::{Extent, Lookup, Stats, Table, WhenFull};
use crate::tests::kernels::kernel;
use ratecell_core::algorithm::Algorithm;
use ratecell_core::with_kernel;

const BUCKETS: usize = 4;
const KEYS: u64 = 2 * 8 * BUCKETS as u64;
const ROUNDS: usize = 300;
/// Of one thread in one round, at most.
const REQUESTS: u64 = 40;

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
        let mut random = random(thread as u64 + 1);
        let mut units = vec![vec![0; rounds.len()]; KEYS as usize];
        for (number, round) in rounds.iter().enumerate() {
            meeting.wait();
            for _ in 0..1 + random() % REQUESTS {
                let drawn = random();
                let key = round.key(drawn);
                // All of it, every other time.
                let cost = (1 + (drawn >> 16) as u32 % (2 * most)).min(most);
                let now = round.from + (drawn >> 32) % (round.to - round.from + 1);
                let decision = table.check(algorithm, spread_key(key as u64), now, cost, Lookup::NotYet);
                units[key][number] += if decision.is_allowed() { u64::from(cost) } else { 0 };
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

/// How much more than its bound a key got that was admitted `units` in each round.
fn excess(bound: Bound, rounds: &[Round], units: &[u64]) -> u64 {
    let units = units.iter().enumerate().filter(|(_, units)| **units > 0);
    let admitted: Vec<_> = units.map(|(at, &units)| Admitted { first: at, last: at, units }).collect();
    bound.excess(rounds, &admitted, admitted.first().map_or(0, |admitted| admitted.first))
}

/// Asserts that all keys together exceed their bounds by no more than `beyond` says of the stats; it says `None` where
/// the answer was not given.
fn assert_bounds(when_full: WhenFull, most: u32, beyond: impl Fn(Stats) -> Option<u64>) {
    let mut exceeded = Vec::new();
    for (policy, bound) in KINDS {
        for threads in [2, 8] {
            for skew in [0, SKEW] {
                with_kernel!(kernel(policy), algorithm => {
                    let rounds = rounds(ROUNDS, KEYS, skew, random(0));
                    let table = Table::alone(BUCKETS, when_full);
                    let admitted = admitted(&table, &algorithm, threads, &rounds, most);
                    let excess: u64 = admitted.iter().map(|units| excess(bound, &rounds, units)).sum();
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
