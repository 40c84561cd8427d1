//! Processes that decide by one file of rules over one region, of every kind of word at once, and change its limits again and
//! again: what a process does, and what must hold when some were killed or stopped.
//!
//! All is asked and changed in one instant, as in [`instant`](super::instant). Where no limit changes, each request costs a
//! unit: then a key has no fewer units than its limit, but for one of each process that was killed after it had charged it.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use ratecell::rules::{Rules, RulesLimiter, RulesLimiterBuilder};

use super::counters::Words;
use super::disturb::Disturbed;
use super::instant::{CAPACITY, KINDS};
use super::random::random;
use super::round::scratch;
use super::worker::launch;

/// The name of a process's task.
pub(crate) const TASK: &str = "ruled";
/// The kinds of limits: all but the last, which counts requests in flight.
const RULES: usize = KINDS.len() - 1;
/// Limits that stay and limits that change, each with room for all keys and without.
pub(crate) const CASES: u64 = 4;
/// So that a process without a parent ends.
const TURNS: usize = 200_000_000;

/// What is asked: all follows from its number.
#[derive(Clone, Copy, Debug)]
struct Case(u64);

impl Case {
    fn changes(self) -> bool {
        self.0 % 2 == 1
    }

    fn evicts(self) -> bool {
        self.0 / 2 % 2 == 1
    }

    fn users(self) -> usize {
        if self.changes() { 4 } else { 200 }
    }

    fn keys(self) -> usize {
        RULES * self.users()
    }

    fn builder(self) -> RulesLimiterBuilder {
        let max_keys = if self.evicts() { self.keys() / 4 } else { 10 * self.keys() };
        RulesLimiter::builder(rules(|_| 0)).max_keys(max_keys)
    }

    fn counts(self, path: &Path) -> Words {
        Words::open(&path.with_extension("counters"), 2 + self.keys())
    }
}

/// A rule of each kind, with the limit of that number.
fn rules(mut number: impl FnMut(usize) -> u64) -> Rules {
    let mut text = String::from("ratecell_rules = 1\nattributes = ['kind', 'user', 'cost']\n");
    for (kind, limits) in KINDS.iter().enumerate().take(RULES) {
        let limit = limits[number(kind) as usize % limits.len()];
        text += &format!(
            "[[rule]]\nname = 'rule{kind}'\nmatch.kind = '{kind}'\nkey = ['user']\nlimit = '{limit}'\n\
             cost = {{ from = 'cost', default = 1 }}\n"
        );
    }
    Rules::parse(text).expect("rules")
}

fn is_allowed(limiter: &RulesLimiter, kind: usize, user: usize, cost: u32) -> bool {
    let [kind, user, cost] = [kind.to_string(), user.to_string(), cost.to_string()];
    limiter.decide_at(&[("kind", kind), ("user", user), ("cost", cost)], 0).is_allowed()
}

/// What a process does until it is told to end.
pub(crate) fn run(path: &Path, case: u64, seed: u64) {
    let case = Case(case);
    // With the limits in force, whichever they are.
    let limiter = RulesLimiter::builder(rules(|_| 0)).follow().open(path).expect("the region");
    let counts = case.counts(path);
    println!("go");
    let mut random = random(seed);
    for _ in 0..TURNS {
        if counts[0].load(Ordering::Acquire) != 0 {
            break;
        }
        if case.changes() && random().is_multiple_of(200) {
            limiter.change_at(rules(|_| random()), 0).expect("they can follow");
            counts[1].fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let (kind, user) = (random() as usize % RULES, random() as usize % case.users());
        let cost = if case.changes() { 1 + (random() % 8) as u32 } else { 1 };
        if is_allowed(&limiter, kind, user, cost) {
            counts[2 + kind * case.users() + user].fetch_add(cost, Ordering::SeqCst);
        }
    }
}

/// What the rounds came to.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) rounds: u64,
    pub(crate) disturbed: Disturbed,
    pub(crate) changes: u64,
    pub(crate) evicted: u64,
    pub(crate) admitted: u64,
    /// Units that killed processes charged and did not count, where no limit changes.
    pub(crate) lost: u64,
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
    let counts = case.counts(&path);
    let mut started = 0;
    let start = || {
        started += 1;
        launch(&format!("{TASK} {} {} {}", case.0, number * 1_000 + started, path.display()))
    };
    let kills = seen.disturbed.kills;
    seen.disturbed.run(start, &counts[0], &mut random);
    seen.changes += u64::from(counts[1].load(Ordering::Relaxed));
    judge(case, &limiter, &counts, seen.disturbed.kills - kills, seen);
    files.iter().for_each(|file| fs::remove_file(file).expect("removed"));
}

/// What was counted, and what is left under the limits with the greatest capacities, are that, and what was forgiven.
fn judge(case: Case, limiter: &RulesLimiter, counts: &Words, kills: u64, seen: &mut Seen) {
    limiter.change_at(rules(|_| 0), 0).expect("they can follow");
    let mut all = 0;
    for kind in 0..RULES {
        for user in 0..case.users() {
            let counted = u64::from(counts[2 + kind * case.users() + user].load(Ordering::SeqCst));
            seen.admitted += counted;
            let left = (0..=CAPACITY).take_while(|_| is_allowed(limiter, kind, user, 1)).count() as u64;
            if !case.evicts() && counted + left > CAPACITY {
                seen.violations
                    .push(format!("{case:?}: {kind}, {user}: {counted} units, and {left} were left"));
            }
            all += counted + left;
        }
    }
    let stats = limiter.stats_at(0);
    seen.evicted += stats.evicted;
    let limits = CAPACITY * case.keys() as u64;
    if all > limits + stats.forgiven {
        seen.violations
            .push(format!("{case:?}: {all} units of all keys, at most {limits} and {}", stats.forgiven));
    }
    if !case.evicts() && !case.changes() {
        let lost = limits.saturating_sub(all);
        seen.lost += lost;
        if lost > kills {
            seen.violations.push(format!("{case:?}: {lost} units were lost to {kills} killed processes"));
        }
    }
}
