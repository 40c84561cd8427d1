//! Real threads, counted exactly: what was admitted against the bound, and against the definition.
//!
//! Every admission tells the word before it and after it. On one key these form a chain, which is the
//! order in which the admissions took effect; replayed in that order, each must be admitted again. So a
//! stress test is a linearizability check, at no cost in the code under test.

use std::collections::HashMap;
use std::sync::Barrier;

use super::kernels::{FIFTY_EACH, kernel};
use crate::limiter::Limiter;
use crate::table::{Extent, Stats, Table, WhenFull};
use ratecell_core::Policy;
use ratecell_core::algorithm::Algorithm;
use ratecell_core::{Request, with_kernel};

mod bounds;
mod random;
mod rounds;

use random::random;

const THREADS: [usize; 3] = [2, 8, 16];
const CAPACITY: u64 = 50;
/// Any instant: no test here lets it pass unless it says so.
const NOW: u64 = 5_000_000_000;

/// One request that was allowed.
#[derive(Clone, Copy, Debug)]
struct Admission {
    key: u64,
    now: u64,
    words: Option<(u64, u64)>,
}

/// Runs `requests` for each thread at once, and returns what was allowed.
fn race<A: Algorithm + Sync>(
    table: &Table,
    algorithm: &A,
    threads: usize,
    requests: impl Fn(usize) -> Vec<(u64, u64)> + Sync,
) -> Vec<Admission> {
    let start = Barrier::new(threads);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let (start, requests) = (&start, &requests);
                scope.spawn(move || {
                    let requests = requests(thread);
                    start.wait();
                    let ask = |(key, now)| {
                        let verdict = table.charge(algorithm, key, now, &Request::default());
                        let decision = table.report(algorithm, &verdict, now, &Request::default());
                        decision.is_allowed().then(|| Admission { key, now, words: verdict.words() })
                    };
                    requests.into_iter().filter_map(ask).collect::<Vec<_>>()
                })
            })
            .collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    })
}

/// Units beyond the capacity, of all keys, where all instants are equal.
fn excess(admissions: &[Admission]) -> u64 {
    let mut admitted = HashMap::new();
    for admission in admissions {
        *admitted.entry(admission.key).or_insert(0u64) += 1;
    }
    admitted.values().map(|units| units.saturating_sub(CAPACITY)).sum()
}

fn report(what: &str, threads: usize, admissions: &[Admission], stats: Stats) {
    let Stats { evicted, forgiven, shared, denied_full, allowed_full, exhausted, .. } = stats;
    println!(
        "{what}, {threads} threads: admitted {}, beyond the bound {}, forgiven {forgiven} of {evicted} evicted, \
         shared {shared}, denied full {denied_full}, allowed full {allowed_full}, exhausted {exhausted}",
        admissions.len(),
        excess(admissions),
    );
}

#[test]
fn one_key_admits_exactly_its_capacity() {
    for policy in FIFTY_EACH {
        for threads in THREADS {
            with_kernel!(kernel(policy), algorithm => one_key(policy, &algorithm, threads));
        }
    }
}

fn one_key<A: Algorithm + Sync>(policy: &str, algorithm: &A, threads: usize) {
    const KEY: u64 = 0x5eed << 40 | 7;
    for _ in 0..20 {
        let table = Table::alone(17, WhenFull::Evict);
        let admissions = race(&table, algorithm, threads, |_| vec![(KEY, NOW); 500]);
        assert_eq!(admissions.len() as u64, CAPACITY, "{policy} with {threads} threads");
        let mut words: Vec<_> = admissions.iter().filter_map(|admission| admission.words).collect();
        words.sort_unstable();
        assert_eq!(words.len(), admissions.len());
        let mut word = 0;
        for (before, after) in words {
            let step = algorithm.step(word, NOW, 1);
            assert!(step.decision.is_allowed());
            assert_eq!(
                (before, Some(after)),
                (word, step.charged),
                "the admissions of {policy} are one chain"
            );
            word = after;
        }
        assert_eq!(table.stats(algorithm, NOW, Extent::All).live, 1);
    }
}

/// Four keys for each slot, each asked for more than it has.
fn too_many_keys(table: &Table, thread: usize) -> Vec<(u64, u64)> {
    let keys = 4 * table.slots() as u64;
    let mut random = random(thread as u64);
    (0..100_000).map(|_| (spread_key(random() % keys), NOW)).collect()
}

fn spread_key(key: u64) -> u64 {
    crate::table::spread(key)
}

fn overfull(when_full: WhenFull, within: impl Fn(u64, Stats) -> bool) {
    for policy in ["50/s", "sliding_window 50/s"] {
        for threads in THREADS {
            with_kernel!(kernel(policy), algorithm => {
                let table = Table::alone(50, when_full);
                let admissions = race(&table, &algorithm, threads, |thread| too_many_keys(&table, thread));
                let stats = table.stats(&algorithm, NOW, Extent::All);
                report(&format!("{policy}, {when_full:?}"), threads, &admissions, stats);
                assert!(within(excess(&admissions), stats), "{policy}, {when_full:?}, {threads} threads");
                let held = table.held(&algorithm, NOW);
                let admitted = admissions.len() as u64;
                assert!(admitted <= held + stats.forgiven + stats.allowed_full);
                for key in 0..4 * table.slots() as u64 {
                    assert!(table.members(spread_key(key)) <= 1);
                }
            });
        }
    }
}

#[test]
fn a_full_table_that_evicts_exceeds_by_no_more_than_it_forgives() {
    overfull(WhenFull::Evict, |excess, stats| stats.evicted > 0 && excess <= stats.forgiven);
}

#[test]
fn a_full_table_that_shares_never_exceeds() {
    overfull(WhenFull::Share, |excess, stats| stats.shared > 0 && excess == 0 && stats.forgiven == 0);
}

#[test]
fn a_full_table_that_denies_never_exceeds() {
    overfull(WhenFull::Deny, |excess, stats| stats.denied_full > 0 && excess == 0 && stats.forgiven == 0);
}

#[test]
fn a_full_table_that_allows_exceeds_by_no_more_than_it_counts() {
    overfull(WhenFull::Allow, |excess, stats| stats.allowed_full > 0 && excess <= stats.allowed_full);
}

/// Time passes at a different pace in each thread and steps back, and cells are reclaimed all along:
/// the admissions of each key, in order of their instants, must all pass one cell.
#[test]
fn reclaiming_under_many_clocks_never_exceeds() {
    let policy = "1000/s burst=3";
    for when_full in [WhenFull::Deny, WhenFull::Share] {
        for threads in THREADS {
            with_kernel!(kernel(policy), algorithm => {
                let table = Table::alone(17, when_full);
                let keys = 4 * table.slots() as u64;
                let requests = |thread| {
                    let mut random = random(thread as u64);
                    let request = |at: u64| {
                        let jitter = random() % 2_000_000;
                        (spread_key(random() % keys), NOW + at * 20_000 + jitter)
                    };
                    (0..50_000).map(request).collect()
                };
                let mut admissions = race(&table, &algorithm, threads, requests);
                admissions.sort_unstable_by_key(|admission| admission.now);
                let mut words = HashMap::new();
                for admission in &admissions {
                    let word = words.entry(admission.key).or_insert(0);
                    let step = algorithm.step(*word, admission.now, 1);
                    assert!(step.decision.is_allowed(), "{admission:?} exceeds {policy}");
                    *word = step.charged.unwrap_or(*word);
                }
                assert_eq!(table.stats(&algorithm, NOW, Extent::All).forgiven, 0);
                assert!(words.len() > table.slots(), "the test reclaims");
            });
        }
    }
}

/// All layers or none, from many threads: exactly what the tightest layer allows.
#[test]
fn layers_admit_exactly_the_tightest() {
    for policy in ["50/s & sliding_window 30/s & 40/s", "sliding_log 50/s & 30/s", "30/s & sliding_log 50/s"]
    {
        for threads in THREADS {
            let parsed: Policy = policy.parse().expect("a policy");
            let limiter = Limiter::builder(parsed).max_keys(10).build().expect("a limiter");
            let allowed = || (0..200).filter(|_| limiter.check_at("key", 1, NOW).is_allowed()).count();
            let raced: usize = std::thread::scope(|scope| {
                let running: Vec<_> = (0..threads).map(|_| scope.spawn(allowed)).collect();
                running.into_iter().map(|thread| thread.join().expect("no panic")).sum()
            });
            assert_eq!(raced + allowed(), 30, "{policy}, {threads} threads");
        }
    }
}
