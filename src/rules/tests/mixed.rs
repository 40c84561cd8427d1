//! One table for all rules of a file, whatever their kinds.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use proptest::prelude::*;
use ratecell_core::{Outcome, Policy};

use super::{ANN, limiter, remaining, rule, rules};
use crate::error::BuildError;
use crate::limiter::Limiter;
use crate::rules::RulesLimiter;
use crate::table::WhenFull;

/// Policies that may follow each other.
const KINDS: [[&str; 3]; 6] = [
    ["10/s burst=4", "25/s burst=7", "3/s burst=9"],
    ["fixed_window 4/1s", "fixed_window 2/1s", "fixed_window 9/1s"],
    ["sliding_window 5/1s", "sliding_window 3/1s strict=true", "sliding_window 8/1s"],
    ["fixed_window 3/2s start=first", "fixed_window 6/2s start=first", "fixed_window 2/2s start=first"],
    [
        "token_bucket 4/1s capacity=5 mode=interval",
        "token_bucket 2/1s capacity=9 mode=interval",
        "token_bucket 9/2s capacity=9 mode=interval",
    ],
    ["leaky_queue 10/s queue=4", "leaky_queue 30/s queue=9", "leaky_queue 4/s queue=2"],
];

/// A rule for the requests of its own tier.
fn own(kind: usize, limit: &str) -> String {
    rule(&format!("r{kind}"), limit) + &format!("match.tier = '{kind}'\n")
}

fn made(text: &str, max_keys: usize, when_full: WhenFull) -> RulesLimiter {
    let builder = RulesLimiter::builder(rules(text)).max_keys(max_keys).when_full(when_full);
    builder.build().expect("a limiter")
}

#[derive(Clone, Debug)]
enum Step {
    Ask {
        kind: usize,
        user: usize,
        later_ms: u64,
    },
    /// What comes of each rule: it stays, gets another limit, goes, or comes.
    Change([u8; KINDS.len()]),
}

fn step() -> impl Strategy<Value = Step> {
    let later_ms = prop_oneof![8 => 0_u64..150, 1 => 0_u64..4_000];
    prop_oneof![
        30 => (0..KINDS.len(), 0_usize..8, later_ms)
            .prop_map(|(kind, user, later_ms)| Step::Ask { kind, user, later_ms }),
        2 => prop::array::uniform6(any::<u8>()).prop_map(Step::Change),
    ]
}

/// A limiter by rules beside a limiter for each of them, which has room for all keys.
struct Twins {
    by_rules: RulesLimiter,
    limits: [Option<usize>; KINDS.len()],
    alone: [Option<Limiter>; KINDS.len()],
    now: u64,
    /// Units that were admitted, and would not have been with room for all keys.
    beyond: u64,
}

fn policy(kind: usize, which: usize) -> Policy {
    KINDS[kind][which].parse().expect("a policy")
}

fn alone(kind: usize, which: usize) -> Limiter {
    Limiter::builder(policy(kind, which)).max_keys(1_000).build().expect("a limiter")
}

impl Twins {
    fn text(limits: &[Option<usize>; KINDS.len()]) -> String {
        let all = (0..).zip(limits).filter_map(|(kind, which)| Some(own(kind, KINDS[kind][(*which)?])));
        // A file has a rule.
        all.collect::<String>() + &rule("none", "1/s") + "match.tier = 'none'\n"
    }

    fn new(max_keys: usize, when_full: WhenFull) -> Self {
        let limits = [Some(0); KINDS.len()];
        let by_rules = made(&Self::text(&limits), max_keys, when_full);
        let alone = core::array::from_fn(|kind| Some(alone(kind, 0)));
        Self { by_rules, limits, alone, now: 0, beyond: 0 }
    }

    /// Whether the request was allowed, and whether it would be with room for all.
    fn ask(&mut self, kind: usize, user: usize, later_ms: u64) -> Option<(bool, bool)> {
        self.now += later_ms * 1_000_000;
        let alone = self.alone[kind].as_ref()?;
        let (name, tier) = (format!("u{user}"), kind.to_string());
        let decided = self.by_rules.decide_at(&[("user", name.as_str()), ("tier", tier.as_str())], self.now);
        let is_allowed = decided.is_allowed();
        let would_be = alone.check_at(&name, 0, self.now).remaining() > 0;
        if is_allowed {
            let charged = alone.check_at(&name, 1, self.now).is_allowed();
            self.beyond += u64::from(!charged);
        }
        Some((is_allowed, would_be))
    }

    fn change(&mut self, choices: [u8; KINDS.len()]) {
        for (kind, choice) in choices.into_iter().enumerate() {
            let which = usize::from(choice) / 8 % 3;
            match (self.limits[kind], choice % 8) {
                (None, 0..4) => {
                    self.limits[kind] = Some(which);
                    self.alone[kind] = Some(alone(kind, which));
                }
                (Some(_), 0) => (self.limits[kind], self.alone[kind]) = (None, None),
                (Some(_), 1..4) => {
                    self.limits[kind] = Some(which);
                    let alone = self.alone[kind].as_ref().expect("it is there");
                    alone.change_at(policy(kind, which), self.now).expect("of its kind");
                }
                _ => {}
            }
        }
        self.by_rules.change_at(rules(&Self::text(&self.limits)), self.now).expect("another file");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

    /// In a full table no key of any rule gets more than its limit, but for what was counted as forgiven.
    #[test]
    fn no_key_gets_more_in_the_table_of_all_rules(
        steps in prop::collection::vec(step(), 1..400),
        max_keys in prop_oneof![Just(5_usize), Just(12), Just(1_000)],
        evicts: bool,
    ) {
        let mut twins = Twins::new(max_keys, if evicts { WhenFull::Evict } else { WhenFull::Deny });
        for step in steps {
            match step {
                Step::Ask { kind, user, later_ms } => {
                    let asked = twins.ask(kind, user, later_ms);
                    let is_roomy = max_keys == 1_000;
                    prop_assert!(asked.is_none_or(|(is_allowed, would_be)| !is_roomy || is_allowed == would_be));
                }
                Step::Change(choices) => twins.change(choices),
            }
            let forgiven = twins.by_rules.stats_at(twins.now).forgiven;
            prop_assert!(twins.beyond <= forgiven, "{} units beyond, {forgiven} forgiven", twins.beyond);
            prop_assert!(evicts || forgiven == 0);
        }
    }
}

/// Threads ask for keys of every kind, more than the table has room for, while limits change and rules come and go. At one
/// instant no key is admitted beyond the greatest limit of its rule.
#[test]
fn at_one_instant_no_key_gets_more_in_a_full_table() {
    const LIMITS: [[&str; 2]; 4] = [
        ["7/d", "4/d"],
        ["fixed_window 7/1d", "fixed_window 4/1d"],
        ["sliding_window 7/1d", "sliding_window 4/1d"],
        ["token_bucket 7/1d capacity=7 mode=interval", "token_bucket 4/1d capacity=4 mode=interval"],
    ];
    const MOST: u64 = 7;
    const USERS: usize = 16;
    let file = |number: usize| {
        let all = (0..).zip(LIMITS).map(|(kind, limits)| own(kind, limits[(number + kind) % 2]));
        // And some that come and go, of every kind.
        let guest =
            own(LIMITS.len(), KINDS[number % KINDS.len()][0]).replace("'r4'", &format!("'g{}'", number % 9));
        all.collect::<String>() + &guest
    };
    let limiter = made(&file(0), 15, WhenFull::Deny);
    let admitted: Vec<AtomicU64> = (0..LIMITS.len() * USERS).map(|_| AtomicU64::new(0)).collect();
    let is_over = AtomicBool::new(false);
    let work = |seed: usize| {
        let mut turn = seed;
        // Relaxed: it ends a loop.
        while turn < 20_000 || !is_over.load(Ordering::Relaxed) {
            turn += 1;
            let (kind, user) = (turn * 7 % 5, turn / 3 % USERS);
            let (tier, name) = (kind.to_string(), format!("u{user}"));
            let decided = limiter.decide_at(&[("user", name.as_str()), ("tier", tier.as_str())], 0);
            if let Some(count) = admitted.get(kind * USERS + user).filter(|_| decided.is_allowed()) {
                // Relaxed: it counts alone.
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        let working = [0, 1].map(|seed| scope.spawn(move || work(seed)));
        for number in 1..=60 {
            limiter.change_at(rules(&file(number)), 0).expect("another file");
        }
        // Relaxed: it ends a loop.
        is_over.store(true, Ordering::Relaxed);
        working.into_iter().for_each(|thread| thread.join().expect("a thread that asks"));
    });
    let counts: Vec<u64> = admitted.into_iter().map(AtomicU64::into_inner).collect();
    assert!(counts.iter().all(|count| *count <= MOST), "{counts:?}");
    let stats = limiter.stats_at(0);
    assert!(
        counts.iter().any(|count| *count >= 4) && stats.denied_full > 0 && stats.forgiven == 0,
        "{stats:?}"
    );
}

#[test]
fn newcomers_share_no_cell() {
    let builder = RulesLimiter::builder(rules(&rule("a", "1/s"))).when_full(WhenFull::Share);
    assert_eq!(builder.build().expect_err("a cell is of one policy"), BuildError::SharedCell);
}

/// A table for each 4,094 layers.
#[test]
fn very_many_rules_have_more_tables() {
    const MANY: usize = 4_100;
    let file = |limit: &str| {
        (0..MANY).fold(String::new(), |mut text, number| {
            let rule = rule(&format!("r{number}"), limit);
            writeln!(text, "{rule}match.tier = 't{number}'").expect("a string");
            text
        })
    };
    let one = limiter(&rule("a", "10/m")).stats_at(0).bytes;
    let limiter = limiter(&file("10/m"));
    assert_eq!(limiter.stats_at(0).bytes, 2 * one);
    let left = |number: usize| {
        let tier = format!("t{number}");
        limiter.decide_at(&[("user", "ann"), ("tier", tier.as_str())], 0).shown.map(|shown| shown.remaining)
    };
    let some = [0, 1, MANY / 2, MANY - 2, MANY - 1];
    assert_eq!(some.map(left), [Some(9); 5]);
    limiter.change_at(rules(&file("20/m")), 0).expect("other limits");
    assert_eq!(some.map(left), [Some(18); 5]);
    assert_eq!(limiter.stats_at(0).bytes, 2 * one);
}

/// The numbers of rules that have gone are given to others.
#[test]
fn rules_that_come_and_go_need_no_other_table() {
    let limiter = limiter(&rule("stays", "1000/m"));
    let one = limiter.stats_at(0).bytes;
    for turn in 0..30 {
        let many = (0..200).map(|number| rule(&format!("r{turn}.{number}"), "1/m") + "match.tier = 'x'\n");
        let text = rule("stays", "1000/m") + &many.collect::<String>();
        limiter.change_at(rules(&text), 0).expect("other rules");
        assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("stays", 999 - turn)));
    }
    assert_eq!(limiter.stats_at(0).bytes, one);
}

/// A limiter whose rule a change has taken away answers no one, and does not wait for what will not come.
#[test]
fn a_rule_that_went_away_answers_no_one() {
    let text = rule("a", "in_flight 2 hold=1h") + &rule("b", "10/m");
    let limiter = RulesLimiter::builder(rules(&text)).max_keys(100).reserving().build().expect("a limiter");
    let held = limiter.reserve_at(&ANN, 0).1.expect("it is allowed").claims.swap_remove(0).reservation;
    let before = limiter.file.load_full();
    limiter.change_at(rules(&rule("b", "20/m")), 0).expect("another file");
    let gone = before.limiter(0).expect("the limiter of a");
    assert_eq!(gone.release_at(held.clone(), 0).given_back(), 0);
    assert_eq!(gone.settle_at(held, 0, 0).outcome(), Outcome::Never);
    assert!(!gone.check_at("x", 1, 0).is_allowed());
    assert_eq!(limiter.reserve_at(&ANN, 0).0.made[0].decision.remaining(), 18);
}

/// Logs are no words: each rule with one has its own.
#[test]
fn logs_stand_beside_the_table() {
    let one = limiter(&rule("a", "10/m")).stats_at(0).bytes;
    let limiter = limiter(&(rule("a", "10/m") + &rule("b", "sliding_log 3/1m & 20/m")));
    for left in [2, 1, 0] {
        assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("b", left)));
    }
    assert_eq!(limiter.decide_at(&ANN, 0).rule_name(), Some("b"));
    limiter
        .change_at(rules(&(rule("a", "9/m") + &rule("b", "sliding_log 4/1m & 20/m"))), 0)
        .expect("other limits");
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("b", 0)));
    assert!(limiter.stats_at(0).bytes > one);
}

/// Processes that were forked off know the numbers of the rules that there were: others get another table.
#[test]
#[cfg(target_os = "linux")]
fn a_table_of_forked_processes_gets_no_other_rule() {
    let file = |b: &str| rules(&(rule("a", "10/h") + &rule("b", b)));
    let old = RulesLimiter::builder(file("20/h")).max_keys(100).forked().build().expect("a limiter");
    let one = old.stats_at(0).bytes;
    let new = old.beside(file("21/h")).expect("a limiter beside");
    assert_eq!((old.stats_at(0).bytes, new.stats_at(0).bytes), (one, 2 * one));
    assert_eq!(remaining(&old.decide_at(&ANN, 0)), Some(("a", 9)));
    assert_eq!(remaining(&new.decide_at(&ANN, 0)), Some(("a", 8)));
}
