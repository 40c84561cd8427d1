//! Rules whose limits change: what has been used stays used.

use std::fmt::Write;

use ratecell_core::{Decision, Policy, Request};

use super::{ANN, limiter, remaining, rule, rules};
use crate::error::BuildError;
use crate::limiter::{Claim, Limiter};
use crate::rules::{Mode, RulesLimiter};

const SECOND: u64 = 1_000_000_000;

/// How many requests of a user are allowed at that instant, one after the other, of at most 1,000.
fn admitted(limiter: &RulesLimiter, user: &str, now_ns: u64) -> usize {
    (0..1_000).take_while(|_| limiter.decide_at(&[("user", user)], now_ns).is_allowed()).count()
}

/// What Ann has left in this tier after a request.
fn left(limiter: &RulesLimiter, tier: &str, now_ns: u64) -> Option<u64> {
    limiter.decide_at(&[("user", "ann"), ("tier", tier)], now_ns).shown.map(|shown| shown.remaining)
}

fn change(limiter: &RulesLimiter, text: &str, now_ns: u64) {
    limiter.change_at(rules(text), now_ns).expect(text);
}

#[test]
fn a_raised_limit_lets_go_on_and_a_lowered_one_forgives_nothing() {
    let limiter = limiter(&rule("a", "10/m"));
    assert_eq!(admitted(&limiter, "ann", 0), 10);
    change(&limiter, &rule("a", "20/m"), 0);
    assert_eq!(admitted(&limiter, "ann", 0), 10);
    change(&limiter, &rule("a", "5/m"), 0);
    assert_eq!(admitted(&limiter, "ann", 0), 0);
    // 20 units at 5 a minute: 16 of them have come back after 192 s.
    assert_eq!(admitted(&limiter, "ann", 192 * SECOND), 1);
    assert_eq!(admitted(&limiter, "bob", 192 * SECOND), 5);
}

#[test]
fn forth_and_back_gives_no_unit() {
    for limits in [["10/m", "20/m"], ["fixed_window 10/1d", "fixed_window 20/1d"]] {
        let limiter = limiter(&rule("a", limits[0]));
        let mut total = 0;
        for turn in 1..=30 {
            total += admitted(&limiter, "ann", 0);
            change(&limiter, &rule("a", limits[turn % 2]), 0);
        }
        assert_eq!(total, 20, "{limits:?}");
        assert_eq!(admitted(&limiter, "bob", 0), 10);
    }
}

/// A policy that stays while others change leaves its words as they are: a key at rest is not said to have been used until
/// the change.
#[test]
fn of_equal_policies_one_changes() {
    let file = |a: &str| rule("a", a) + "match.tier = 'a'\n" + &rule("b", "10/m") + "match.tier = 'b'\n";
    let limiter = limiter(&file("10/m"));
    let ask = |tier, at: u64| left(&limiter, tier, at * SECOND);
    assert_eq!((ask("a", 0), ask("b", 0)), (Some(9), Some(9)));
    for (turn, at) in (100..106).enumerate() {
        change(&limiter, &file(["20/m", "10/m"][turn % 2]), at * SECOND);
    }
    assert_eq!(ask("b", 1), Some(8));
    change(&limiter, &file("20/m"), 106 * SECOND);
    assert_eq!(ask("b", 1), Some(7));
    assert_eq!(ask("a", 106), Some(19));
    // Nor one that was used at an instant before the last change of its own policy.
    let bob =
        |b| limiter.decide_at(&[("user", "bob"), ("tier", b)], SECOND).shown.map(|shown| shown.remaining);
    change(&limiter, &file("20/m").replace("'10/m'", "'30/m'"), 200 * SECOND);
    assert_eq!(bob("b"), Some(29));
    change(&limiter, &file("10/s").replace("'10/m'", "'30/m'"), 201 * SECOND);
    assert_eq!(bob("b"), Some(28));
}

/// Each decision is the one of a limiter whose policy changes by itself, for every kind of words: also of keys that
/// are seen after many changes, and of rules that come while others have changed.
#[test]
fn a_rule_decides_as_a_limiter_that_changes() {
    const KINDS: [[&str; 3]; 7] = [
        ["10/m", "25/m burst=7", "3/m burst=40"],
        ["leaky_queue 10/m queue=9", "leaky_meter 6/m capacity=11", "token_bucket 20/m capacity=5"],
        [
            "token_bucket 10/1m capacity=10 mode=interval",
            "token_bucket 7/2m capacity=20 mode=interval",
            "token_bucket 30/1m capacity=30 mode=interval",
        ],
        ["fixed_window 10/1h", "fixed_window 4/1h", "fixed_window 100000/1h"],
        ["sliding_window 10/1h", "sliding_window 4/1h strict=true", "sliding_window 100000/1h"],
        ["sliding_log 10/1h", "sliding_log 4/1h", "sliding_log 20/1h"],
        ["10/m & fixed_window 15/1h", "20/m & fixed_window 15/1h", "5/m burst=9 & fixed_window 12/1h"],
    ];
    for kind in KINDS {
        let policy = |turn: usize| kind[turn % 3].parse::<Policy>().expect("a policy");
        let file = |turn: usize| rule("early", kind[turn % 3]) + &rule("late", kind[(turn + 1) % 3]);
        let one = |turn: usize| Limiter::builder(policy(turn)).max_keys(1_000).build().expect("a limiter");
        let by_rules = limiter(&rule("early", kind[0]));
        let twins = [one(0), one(4)];
        for turn in 0..12_u64 {
            let now = turn * 7 * SECOND;
            let number = turn as usize;
            if number == 3 {
                change(&by_rules, &file(number), now);
                twins[0].change_at(policy(number), now).expect("of its kind");
            } else if number > 0 {
                let text = if number < 3 { rule("early", kind[number % 3]) } else { file(number) };
                change(&by_rules, &text, now);
                twins[0].change_at(policy(number), now).expect("of its kind");
                if number > 3 {
                    twins[1].change_at(policy(number + 1), now).expect("of its kind");
                }
            }
            // One that is seen each time, one that rests for four changes, and a new one.
            for user in ["often".to_owned(), format!("seldom{}", turn % 5), format!("new{turn}")] {
                for cost in [2, 1, 0] {
                    let decided = by_rules.decide_at(&[("user", user.as_str())], now);
                    let own: Vec<Decision> = decided.made.iter().map(|made| made.decision).collect();
                    let twins = &twins[..own.len()];
                    let claims: Vec<_> = twins
                        .iter()
                        .map(|limiter| Claim { limiter, request: Request::new(&user).at(now) })
                        .collect();
                    let mut expected = vec![Decision::default(); twins.len()];
                    let _ = Limiter::decide_all(&claims, &mut expected);
                    assert_eq!(own, expected, "{kind:?}, change {turn}, {user}, {cost}");
                }
            }
        }
    }
}

#[test]
fn each_tier_changes_by_itself() {
    let file = |pro: &str| {
        format!(
            "[[rule]]\nname = 'a'\nkey = ['user']\n\
             limit = {{ by = 'tier', of = {{ free = '10/m', pro = '{pro}' }}, default = '10/m' }}\n"
        )
    };
    let limiter = limiter(&file("10/m"));
    let ask = |tier| left(&limiter, tier, 0);
    assert_eq!((ask("free"), ask("pro"), ask("other")), (Some(9), Some(9), Some(9)));
    change(&limiter, &file("30/m"), 0);
    assert_eq!((ask("free"), ask("pro"), ask("other")), (Some(8), Some(28), Some(8)));
    // A limit without tiers has other keys.
    change(&limiter, &rule("a", "10/m"), 0);
    assert_eq!(ask("free"), Some(9));
}

#[test]
fn shared_tiers_change_together() {
    let kinds = ["fixed_window %/1d", "sliding_window %/1d", "calendar_window %/month tz=UTC"];
    for kind in kinds {
        let file = |tiers: &[(&str, u32)], other: &str| {
            let mut of = String::new();
            for (tier, limit) in tiers {
                let limit = kind.replace('%', &limit.to_string());
                let comma = if of.is_empty() { "" } else { ", " };
                write!(of, "{comma}{tier} = '{limit}'").expect("a string");
            }
            let limit =
                format!("limit = {{ by = 'tier', of = {{ {of} }}, default = 'blocked', shared = true }}\n");
            format!("[[rule]]\nname = 'a'\nkey = ['user']\n{limit}") + &rule("b", other) + "mode = 'shadow'\n"
        };
        let limiter = limiter(&file(&[("free", 10), ("pro", 20)], "10/m"));
        let ask = |tier| left(&limiter, tier, 0);
        assert_eq!((ask("free"), ask("pro")), (Some(9), Some(18)));
        // Far above what the first words needed; and one that was not there.
        change(&limiter, &file(&[("free", 4), ("pro", 20), ("gold", 1_000_000)], "10/m"), 0);
        assert_eq!((ask("free"), ask("gold")), (Some(1), Some(999_996)));
        // Together with a change of another rule's limit, and then several of that alone.
        for turn in 0..6 {
            change(&limiter, &file(&[("free", 6), ("gold", 7)], ["20/m", "10/m"][turn % 2]), 0);
        }
        assert_eq!((ask("free"), ask("gold")), (Some(1), Some(1)), "{kind}");
        assert!(!limiter.decide_at(&[("user", "ann"), ("tier", "pro")], 0).is_allowed());
    }
}

#[test]
fn a_shared_rule_comes_with_a_change() {
    let shared = |name: &str| {
        let of = "free = 'fixed_window 10/1d', pro = 'fixed_window 20/1d'";
        let limit =
            format!("limit = {{ by = 'tier', of = {{ {of} }}, default = 'blocked', shared = true }}\n");
        format!("[[rule]]\nname = '{name}'\nkey = ['user']\n{limit}mode = 'shadow'\n")
    };
    let limiter = limiter(&rule("a", "10/m"));
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("a", 9)));
    for (turn, (limit, left)) in [("20/m", 18), ("30/m", 27), ("20/m", 16)].into_iter().enumerate() {
        change(&limiter, &(rule("a", limit) + &shared(&format!("shared{turn}"))), 0);
        let decided = limiter.decide_at(&[("user", "ann"), ("tier", "pro")], 0);
        assert_eq!(remaining(&decided), Some(("a", left)));
        assert_eq!(decided.shadow.len(), 1);
    }
}

#[test]
fn a_change_that_is_refused_leaves_all_as_it_was() {
    let file = |a: &str, b: &str| rule("a", a) + &rule("b", b);
    let limiter = limiter(&file("10/m", "10/m"));
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("a", 9)));
    let refused = limiter.change_at(rules(&file("20/m", "20/m horizon=1h")), u64::MAX);
    let error = refused.expect_err("an instant that no policy can decide at");
    assert!(error.to_string().starts_with("rule a: a change at 18446744073709551615ns: "), "{error}");
    let refused = limiter.change_at(rules(&file("20/m", "in_flight 2 hold=1s")), 0);
    assert!(matches!(refused, Err(BuildError::Rule { rule, .. }) if rule == "b"));
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("a", 8)));
    let limits = limiter.rules().policies().iter().map(|one| one.text().to_owned()).collect::<Vec<_>>();
    assert_eq!(limits, ["10/m", "10/m"]);
    change(&limiter, &file("20/m", "30/m"), 0);
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("a", 17)));
}

#[test]
fn another_kind_begins_anew() {
    for (before, after) in [
        ("10/m", "fixed_window 10/1m"),
        ("fixed_window 10/1h", "fixed_window 10/2h"),
        ("10/m", "10/m & fixed_window 20/1h"),
        ("sliding_log 10/1h", "sliding_log 10/2h"),
        // The units of the first, at the rate of the second, have no room in a word.
        ("4000000000/s", "1/w burst=10"),
    ] {
        let file = |b: &str| rule("a", "10/m") + "mode = 'shadow'\n" + &rule("b", b);
        let limiter = limiter(&file(before));
        let first = remaining(&limiter.decide_at(&ANN, 0)).expect("b enforces").1;
        change(&limiter, &file(after), 0);
        let of_others = rules(&rule("b", after)).policies()[0].policy().capacity();
        assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("b", of_others - 1)), "{before}, {after}");
        assert_ne!(first, of_others, "{before}");
    }
}

#[test]
fn a_trial_goes_on_as_a_rule() {
    let limiter = limiter(&(rule("a", "10/m") + "mode = 'shadow'\n"));
    let decided = limiter.decide_at(&ANN, 0);
    assert_eq!(decided.shadow.len(), 1);
    assert_eq!(limiter.rules().rule(0).mode(), Mode::Shadow);
    change(&limiter, &rule("a", "20/m"), 0);
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("a", 18)));
}

/// Where another limiter has the same tables, its limits stay.
#[test]
fn beside_another_limiter_a_limit_begins_anew() {
    let one = limiter(&rule("a", "10/m"));
    assert_eq!(admitted(&one, "ann", 0), 10);
    let other = one.beside(rules(&(rule("a", "10/m") + "match.user = true\n"))).expect("a limiter beside");
    assert_eq!(admitted(&other, "ann", 0), 0);
    change(&other, &rule("a", "20/m"), 0);
    assert_eq!(admitted(&other, "ann", 0), 20);
    assert_eq!(admitted(&one, "ann", 0), 0);
    drop(one);
    change(&other, &rule("a", "25/m"), 0);
    assert_eq!(admitted(&other, "ann", 0), 5);
}

/// A file with very many rules has one table, in which each of them changes by itself.
#[test]
fn many_rules_have_one_table() {
    const MANY: usize = 400;
    let file = |limit: &dyn Fn(usize) -> &'static str| {
        (0..MANY).fold(String::new(), |mut text, number| {
            let rule = rule(&format!("r{number}"), limit(number));
            writeln!(text, "{rule}match.tier = 't{number}'").expect("a string");
            text
        })
    };
    let one = limiter(&rule("a", "10/m")).stats_at(0).bytes;
    let limiter = limiter(&file(&|_| "10/m"));
    assert_eq!(limiter.stats_at(0).bytes, one);
    let ask = |number: usize| left(&limiter, &format!("t{number}"), 0);
    assert!((0..MANY).all(|number| ask(number) == Some(9)));
    change(&limiter, &file(&|_| "20/m"), 0);
    assert!((0..MANY).all(|number| ask(number) == Some(18)));
    change(&limiter, &file(&|number| if number == MANY - 1 { "30/m" } else { "20/m" }), 0);
    assert!((0..MANY - 1).all(|number| ask(number) == Some(17)));
    assert_eq!(ask(MANY - 1), Some(27));
    assert_eq!(limiter.stats_at(0).bytes, one);
}
