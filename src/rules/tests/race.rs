//! Threads that decide while another one changes the rules.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::{ANN, rule, rules};
use crate::rules::{RulesDecision, RulesLimiter};

/// While rules come and go, over and over, one that stays admits exactly its limit, and each decision is by one file.
#[test]
fn a_change_loses_no_unit_and_mixes_no_files() {
    const LIMIT: u64 = 5_000;
    const CHANGES: u64 = 50;
    // Two rules that have the number of the file in their names and limits. The limit of no rule changes: where one does, a
    // cost that meets the change may be charged twice.
    let file = |number: u64| {
        let many = 1_000_000 + number;
        let loose =
            ["one", "two"].map(|name| rule(&format!("{name}{number}"), &format!("fixed_window {many}/1d")));
        rules(&(loose[0].clone() + &rule("stays", &format!("fixed_window {LIMIT}/1d")) + &loose[1]))
    };
    let limiter = RulesLimiter::builder(file(0)).max_keys(100).build().expect("a limiter");
    let (admitted, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let decide = || {
        let mut decided = 0;
        // Relaxed: nothing is read by it.
        while decided < LIMIT || !is_over.load(Ordering::Relaxed) {
            let decision = limiter.decide_at(&ANN, 0);
            let limits = decision.rules().policies().iter().map(|one| one.policy().capacity());
            let shown = decision.made.iter().map(|made| made.decision.limit());
            assert!(shown.eq(limits), "by parts of two files: {:?}", decision.made);
            // Relaxed: it counts alone.
            admitted.fetch_add(u64::from(decision.is_allowed()), Ordering::Relaxed);
            decided += 1;
        }
    };
    thread::scope(|scope| {
        let deciding = [(); 2].map(|()| scope.spawn(decide));
        let changed: Result<Vec<()>, _> = (1..=CHANGES).map(|number| limiter.change(file(number))).collect();
        // Relaxed: it ends a loop.
        is_over.store(true, Ordering::Relaxed);
        changed.expect("other files");
        for thread in deciding {
            thread.join().expect("a thread that decides");
        }
    });
    // Relaxed: all threads have ended.
    assert_eq!(admitted.load(Ordering::Relaxed), LIMIT);
    assert_eq!(limiter.decide_at(&ANN, 0).rule_name(), Some("stays"));
}

/// Runs `decide` in threads, over and over, while `change` is called with the numbers of so many changes; and how often it
/// answered yes.
fn race(decide: impl Fn() -> bool + Sync, changes: u64, change: impl Fn(u64)) -> u64 {
    const THREADS: usize = 2;
    /// Of each thread, at least.
    const DECISIONS: u64 = 2_000;
    let (yes, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut decided = 0;
                // Relaxed: nothing is read by it.
                while decided < DECISIONS || !is_over.load(Ordering::Relaxed) {
                    // Relaxed: it counts alone.
                    yes.fetch_add(u64::from(decide()), Ordering::Relaxed);
                    decided += 1;
                }
            });
        }
        (1..=changes).for_each(&change);
        // Relaxed: it ends a loop.
        is_over.store(true, Ordering::Relaxed);
    });
    yes.into_inner()
}

/// Asserts that the decision is wholly by the rules that it says: their limits are distinct in all files.
fn is_of_one_file(decision: &RulesDecision) {
    let limits = decision.rules().policies().iter().map(|one| one.policy().capacity());
    let shown = decision.made.iter().map(|made| made.decision.limit());
    assert!(shown.eq(limits), "by parts of two files: {:?}", decision.made);
}

/// At one instant, rules of every kind of words admit together what the greatest limit allows, however often it changes to
/// and fro; and no answer is by parts of two files.
#[test]
fn at_one_instant_changes_give_no_unit() {
    for (kind, key) in [("%/d", "['user']"), ("fixed_window %/1d", "[]"), ("sliding_window %/1d", "['user']")]
    {
        let file = |number: u64| {
            // The first and the last refuse nothing; what is between them has 3,000 or 2,000.
            let limits = [90_000 + number, 2_000 + 1_000 * (number % 2), 80_000 + number];
            let of = |(name, limit): (&str, u64)| {
                rule(name, &kind.replace('%', &limit.to_string())).replace("['user']", key)
            };
            rules(&["one", "between", "other"].into_iter().zip(limits).map(of).collect::<String>())
        };
        let limiter = RulesLimiter::builder(file(0)).max_keys(100).build().expect("a limiter");
        let decide = || {
            let decision = limiter.decide_at(&ANN, 0);
            is_of_one_file(&decision);
            decision.is_allowed()
        };
        let change = |number| limiter.change_at(file(number), 0).expect("another file");
        let admitted = race(decide, 31, change);
        let after = (0..4_000).take_while(|_| limiter.decide_at(&ANN, 0).is_allowed()).count() as u64;
        // A cost that meets a change may be charged, and answered by the next policy once more: over-denied.
        let total = admitted + after;
        assert!((2_000..=3_000).contains(&total), "{kind}: {admitted} and {after} were admitted");
    }
}

/// By the clock, a rule admits no more than the burst and what its rates give while they are in force.
#[test]
fn by_the_clock_changes_give_no_unit() {
    const RATES: [u64; 2] = [2_000, 9_000];
    const BURST: u64 = 500;
    let file = |number: u64| {
        let rate = RATES[number as usize % 2];
        let loose = |name: &str, limit: u64| rule(name, &format!("{}/s burst={limit}", 1_000_000));
        let text = loose("one", 500_000 + number)
            + &rule("between", &format!("{rate}/s burst={}", BURST + number % 2));
        rules(&(text + &loose("other", 700_000 + number)))
    };
    let limiter = RulesLimiter::builder(file(0)).max_keys(100).build().expect("a limiter");
    let begun = limiter.now_ns();
    // The last instants at which each file may have decided, as the changes ended.
    let ends = std::sync::Mutex::new(Vec::new());
    let decide = || {
        let decision = limiter.decide(&ANN);
        is_of_one_file(&decision);
        decision.is_allowed()
    };
    let change = |number| {
        let from = limiter.now_ns();
        limiter.change(file(number)).expect("another file");
        ends.lock().expect("no panic").push((from, limiter.now_ns()));
    };
    let admitted = race(decide, 30, change);
    let end = limiter.now_ns();
    let ends = ends.into_inner().expect("no panic");
    // Each rate from before the change that brought it, to after the one that ended it.
    let from = [begun].into_iter().chain(ends.iter().map(|(from, _)| *from));
    let to = ends.iter().map(|(_, to)| *to).chain([end]);
    let units = (0..).zip(from.zip(to)).map(|(number, (from, to))| {
        // 40 us are added to the instant of a change.
        u128::from(to - from + 40_000) * u128::from(RATES[number % 2])
    });
    let most = u128::from(BURST + 1) + units.sum::<u128>() / 1_000_000_000 + 1;
    assert!(u128::from(admitted) <= most, "{admitted} were admitted, of {most}");
    // But for costs that met a change.
    assert!(admitted >= BURST / 2, "{admitted} were admitted");
}
