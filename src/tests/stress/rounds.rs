//! Tables without room while time passes: every kind of word and the log, every answer, clocks that agree and clocks
//! that differ. What each key got, against its bound.
//!
//! The threads meet before each round. So what came earlier is known from round to round, though not within one.

use std::sync::Barrier;

use super::bounds::{Admitted, Bound, CAPACITY, KINDS, Round, SKEW, pace, rounds};
use super::random::random;
use super::spread_key;
use crate::limiter::Limiter;
use crate::table::{Extent, Lookup, Stats, Table, WhenFull};
use crate::tests::kernels::kernel;
use ratecell_core::{Policy, Request, with_kernel};

const BUCKETS: usize = 4;
const KEYS: u64 = 2 * 8 * BUCKETS as u64;
/// A log is no word: its table is one of shards, and a shard has more places than those buckets have.
const LOG: (&str, Bound) = ("sliding_log 6/10us", Bound::WindowsFromFirst);
const LOG_KEYS: u64 = 3 * 64;
const ROUNDS: usize = 300;
/// Of one thread in one round, at most.
const REQUESTS: u64 = 40;

/// One request: key, instant and cost. Whether it was allowed.
type Ask<'t> = &'t (dyn Fn(u64, u64, u32) -> bool + Sync);

/// Units that each of so many keys was admitted in each round.
fn admitted(ask: Ask<'_>, keys: u64, threads: usize, rounds: &[Round], most: u32) -> Vec<Vec<u64>> {
    let meeting = Barrier::new(threads);
    let thread = |thread: usize| {
        let mut random = random(thread as u64 + 1);
        let mut units = vec![vec![0; rounds.len()]; keys as usize];
        for (number, round) in rounds.iter().enumerate() {
            meeting.wait();
            for _ in 0..1 + random() % REQUESTS {
                let drawn = random();
                let key = round.key(drawn);
                // All of it, every other time.
                let cost = (1 + (drawn >> 16) as u32 % (2 * most)).min(most);
                let now = round.from + (drawn >> 32) % (round.to - round.from + 1);
                units[key][number] +=
                    if ask(spread_key(key as u64), now, cost) { u64::from(cost) } else { 0 };
            }
        }
        units
    };
    let of_threads: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|number| scope.spawn(move || thread(number))).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let sum = |key: usize, round: usize| of_threads.iter().map(|units| units[key][round]).sum();
    (0..keys as usize).map(|key| (0..rounds.len()).map(|round| sum(key, round)).collect()).collect()
}

/// How much more than its bound a key got that was admitted `units` in each round. A log has the capacity in any period:
/// its windows have all begun with what is counted.
fn excess(bound: Bound, is_log: bool, rounds: &[Round], units: &[u64]) -> u64 {
    let units = units.iter().enumerate().filter(|(_, units)| **units > 0);
    let admitted: Vec<_> = units.map(|(at, &units)| Admitted { first: at, last: at, units }).collect();
    let first = admitted.first().map_or(0, |admitted| admitted.first);
    bound.excess(rounds, &admitted, if is_log { rounds.len() } else { first })
}

/// The units by which all keys together exceed their bounds, and the stats at the end.
fn excess_of_all(
    (policy, bound): (&str, Bound),
    ask: Ask<'_>,
    keys: u64,
    threads: usize,
    skew: u64,
    most: u32,
    stats: impl Fn(u64) -> Stats,
) -> (u64, Stats) {
    let rounds = rounds(ROUNDS, keys, skew, random(0));
    let admitted = admitted(ask, keys, threads, &rounds, most);
    (
        admitted.iter().map(|units| excess(bound, policy == LOG.0, &rounds, units)).sum(),
        stats(rounds[ROUNDS - 1].to),
    )
}

/// Asserts that all keys together exceed their bounds by no more than `beyond` says of the stats; it says `None` where
/// the answer was not given.
fn assert_bounds(when_full: WhenFull, most: u32, beyond: impl Fn(Stats) -> Option<u64>) {
    let mut exceeded = Vec::new();
    for (policy, bound) in KINDS.into_iter().chain([LOG]) {
        for (threads, skew) in [(2, 0), (2, SKEW), (8, 0), (8, SKEW)] {
            let (excess, stats) = if policy == LOG.0 {
                let parsed: Policy = policy.parse().expect("a policy");
                let limiter = Limiter::builder(parsed).max_keys(1).when_full(when_full);
                let limiter = limiter.build().expect("a limiter");
                let ask =
                    |key, now, cost| limiter.decide(Request::hashed(key).cost(cost).at(now)).is_allowed();
                excess_of_all((policy, bound), &ask, LOG_KEYS, threads, skew, most, |now| {
                    limiter.stats_at(now)
                })
            } else {
                with_kernel!(kernel(policy), algorithm => {
                    let (table, pace): (Table, _) = (Table::alone(BUCKETS, when_full), pace(policy));
                    let ask = |key, now: u64, cost| {
                        table.check(&algorithm, key, now * pace, cost, Lookup::NotYet).is_allowed()
                    };
                    let stats = |now: u64| table.stats(&algorithm, now * pace, Extent::All);
                    excess_of_all((policy, bound), &ask, KEYS, threads, skew, most, stats)
                })
            };
            let what = format!("{policy}, {when_full:?}, {threads} threads, clocks {skew} ns apart");
            println!("{what}: {excess} units beyond, {stats:?}");
            let beyond = beyond(stats).unwrap_or_else(|| panic!("{what}: the table is full"));
            if excess > beyond {
                exceeded.push(format!("{what}: {excess} units beyond, not {beyond}"));
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
