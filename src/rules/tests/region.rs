//! Limits by rules in a file: several limiters in it are one, and what it refuses.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{ANN, remaining, rule, rules};
use crate::error::{BuildError, RegionError, RegionField};
use crate::limiter::{Limiter, Region};
use crate::rules::{Rules, RulesLimiter, RulesLimiterBuilder, RulesRegion};
use crate::table::WhenFull;
use ratecell_core::Policy;

/// A file of a test alone, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // Relaxed: nothing is read by it.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ratecell-by-rules-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn builder(&self, text: &str) -> RulesLimiterBuilder {
        RulesLimiter::builder(rules(text)).max_keys(1_000)
    }

    fn open(&self, text: &str) -> RulesLimiter {
        self.builder(text).open(&self.0).unwrap_or_else(|error| panic!("{error}"))
    }

    fn refusal(&self, builder: RulesLimiterBuilder) -> String {
        let error = builder.open(&self.0).expect_err("refused").to_string();
        error.strip_prefix(&format!("{}: ", self.0.display())).unwrap_or(&error).to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

const TIERS: &str = "[[rule]]\nname = 'tiers'\nkey = ['user']\n\
    limit = { by = 'tier', of = { 'a b;%' = '4/h', pro = 'fixed_window 6/1d' }, default = '3/h' }\n";
const SHARED: &str = "[[rule]]\nname = 'quota'\nkey = ['user']\n\
    limit = { by = 'tier', of = { pro = 'fixed_window 9/1d' }, default = 'fixed_window 5/1d', shared = true }\n";

/// How often it is admitted at an instant.
fn admitted(limiters: &[&RulesLimiter], attributes: &[(&str, &str)], now_ns: u64) -> usize {
    let decide = |number: usize| limiters[number % limiters.len()].decide_at(attributes, now_ns).is_allowed();
    (0..1_000).take_while(|number| decide(*number)).count()
}

#[test]
fn limiters_of_one_file_admit_each_limit_together() {
    for (limit, bound) in [
        ("7/h", 7),
        ("fixed_window 6/1d", 6),
        ("sliding_window 5/1d", 5),
        ("token_bucket 4/1h capacity=8 mode=interval", 8),
        ("token_bucket 4/1h capacity=8 mode=interval_first", 8),
        ("calendar_window 9/day tz=Europe/Berlin", 9),
        ("leaky_queue 1/s queue=3", 4),
        ("100/s & fixed_window 12/1d", 12),
    ] {
        let file = Scratch::new();
        let text = rule("a", limit) + &rule("b", "1000/s");
        let limiters = [file.open(&text), file.open(&text)];
        assert_eq!(admitted(&limiters.each_ref(), &ANN, 0), bound, "{limit}");
        let third = file.open(&text);
        assert!(!third.decide_at(&ANN, 0).is_allowed(), "{limit}");
        let stats = RulesRegion::read(&file.0).expect("a file of rules").stats_at(0);
        assert_eq!((stats.live, stats.live_error), (2 + usize::from(limit.contains('&')), 0), "{limit}");
    }
}

#[test]
fn tiers_are_found_by_their_names() {
    let file = Scratch::new();
    let limiters = [file.open(&(String::from(TIERS) + SHARED)), file.open(&(String::from(SHARED) + TIERS))];
    let limiters = limiters.each_ref();
    assert_eq!(admitted(&limiters, &[("user", "ann"), ("tier", "pro")], 0), 6);
    // Of the quota, which all tiers share, 6 are used.
    assert_eq!(admitted(&limiters, &[("user", "ann"), ("tier", "a b;%")], 0), 0);
    assert_eq!(admitted(&limiters, &[("user", "bob"), ("tier", "a b;%")], 0), 4);
    assert_eq!(admitted(&limiters, &[("user", "bob")], 0), 1);
    let region = RulesRegion::read(&file.0).expect("a file of rules");
    let limits: Vec<_> = region.limits().map(|(name, policy)| format!("{name} {policy}")).collect();
    assert_eq!(
        limits,
        [
            "tiers;limit=a%20b%3B%25 4/h",
            "tiers;limit=pro fixed_window 6/d",
            "tiers 3/h",
            "quota;shared fixed_window 5/d",
            "quota;shared;limit=pro fixed_window 9/d",
        ]
    );
}

#[test]
fn another_limit_is_refused_followed_or_changed() {
    let file = Scratch::new();
    let held = rule("a", "10/h") + &rule("b", "fixed_window 20/1d");
    let asked = rule("b", "fixed_window 21/1d") + &rule("a", "11/h");
    let first = file.open(&held);
    assert_eq!(remaining(&first.decide(&ANN)), Some(("a", 9)));
    let error = file.builder(&asked).open(&file.0).expect_err("others");
    assert!(matches!(&error, BuildError::File { error: RegionError::Differs { field, .. }, .. }
        if *field == RegionField::Policy));
    assert_eq!(
        file.refusal(file.builder(&asked)),
        "the region's policy: `fixed_window 20/d` of rule b; expected `fixed_window 21/d`, or a limiter that follows the \
         region's policies or changes them"
    );
    let follower = file.builder(&asked).follow().open(&file.0).expect("it follows");
    let limits = |limiter: &RulesLimiter| {
        limiter.rules().policies().iter().map(|one| one.policy().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(limits(&follower), ["fixed_window 20/d", "10/h"]);
    assert_eq!(remaining(&follower.decide(&ANN)), Some(("a", 8)));
    let changer = file.builder(&asked).change().open(&file.0).expect("it changes");
    assert_eq!(remaining(&changer.decide(&ANN)), Some(("a", 8)));
    // The others decide by it from the next request on, each with its own rules.
    assert_eq!(remaining(&first.decide(&ANN)), Some(("a", 7)));
    assert_eq!(limits(&first), ["11/h", "fixed_window 21/d"]);
    assert_eq!(limits(&follower), limits(&changer));
    // A text that says the same is the same.
    let alike = file.open(&rule("a", "gcra 11/h burst=11"));
    assert_eq!(remaining(&alike.decide(&ANN)), Some(("a", 6)));
}

#[test]
fn rules_of_other_names_are_added_and_stay() {
    let file = Scratch::new();
    let first = file.open(&rule("a", "10/h"));
    let second = file.open(&rule("b", "fixed_window 5/1d"));
    assert_eq!((admitted(&[&first], &ANN, 0), admitted(&[&second], &ANN, 0)), (10, 5));
    // The first goes on by a rule that this one does not have.
    second.change_at(rules(&rule("c", "3/h")), 0).expect("another rule");
    assert_eq!(admitted(&[&first], &ANN, 0), 0);
    assert_eq!(admitted(&[&second], &ANN, 0), 3);
    let both = file.open(&(rule("b", "fixed_window 5/1d") + &rule("a", "10/h")));
    assert_eq!(admitted(&[&both], &ANN, 0), 0);
    assert_eq!(RulesRegion::read(&file.0).expect("a file of rules").limits().count(), 3);
}

#[test]
fn a_change_is_for_all_and_forgives_nothing() {
    const SECOND: u64 = 1_000_000_000;
    let file = Scratch::new();
    let text = |limit: &str| rule("a", limit) + &rule("other", "fixed_window 1000000/1d");
    let limiters = [file.open(&text("1/s burst=10")), file.open(&text("1/s burst=10"))];
    let [here, there] = limiters.each_ref();
    assert_eq!(admitted(&[here, there], &ANN, 0), 10);
    here.change_at(rules(&text("10/s burst=10")), SECOND).expect("a rate");
    // 9 units are used still, and come back at the new rate.
    assert_eq!(remaining(&there.decide_at(&ANN, SECOND)), Some(("a", 0)));
    assert_eq!(admitted(&[there, here], &ANN, SECOND), 0);
    assert_eq!(admitted(&[there, here], &ANN, 2 * SECOND), 10);
    // More often than there are generations, by one and the other.
    for change in 1..=13_u64 {
        let limit = format!("10/s burst={}", 10 + change);
        limiters[change as usize % 2].change_at(rules(&text(&limit)), 2 * SECOND).expect("a burst");
        assert_eq!(admitted(&[here, there], &ANN, 2 * SECOND), 1, "{change}");
    }
    // Another kind begins anew, for all.
    here.change_at(rules(&text("fixed_window 3/1d")), 4 * SECOND).expect("another kind");
    assert_eq!(admitted(&[there, here], &ANN, 4 * SECOND), 3);
}

/// The limit of a key follows the policies, whoever changes them.
#[test]
fn as_a_limiter_of_one_process_decides() {
    const LIMITS: [[&str; 4]; 5] = [
        ["10/s burst=20", "3/s burst=7", "7/m burst=40", "leaky_meter 1/h capacity=9"],
        ["fixed_window 20/1m", "fixed_window 5/1m", "fixed_window 40/1m", "fixed_window 1/1m"],
        [
            "sliding_window 20/1m",
            "sliding_window 5/1m",
            "sliding_window 30/1m strict=true",
            "sliding_window 9/1m",
        ],
        [
            "token_bucket 9/s capacity=20 mode=interval",
            "token_bucket 2/7s capacity=30 mode=interval",
            "token_bucket 1/m capacity=5 mode=interval",
            "token_bucket 4/s capacity=9 mode=interval",
        ],
        [
            "20/s burst=30 & fixed_window 50/1m",
            "9/s burst=5 & fixed_window 20/1m",
            "1/s & fixed_window 9/1m",
            "40/m & fixed_window 70/1m",
        ],
    ];
    let mut random = 1_u64;
    let mut random = || {
        // Of Marsaglia.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize
    };
    let mut changes = 0;
    for round in 0..40 {
        let mut chosen = [0; 5];
        let text = |chosen: &[usize; 5]| {
            let limit = |kind: usize| rule(&format!("rule{kind}"), LIMITS[kind][chosen[kind]]);
            (0..5).map(|kind| limit(kind) + &format!("match.tier = '{kind}'\n")).collect::<String>()
        };
        let file = Scratch::new();
        let shared = [file.open(&text(&chosen)), file.open(&text(&chosen)), file.open(&text(&chosen))];
        let alone = super::limiter(&text(&chosen));
        let mut now = 0;
        for step in 0..400 {
            now += random() as u64 % 700_000_000;
            let one = &shared[random() % 3];
            if random().is_multiple_of(20) {
                chosen[random() % 5] = random() % 4;
                one.change_at(rules(&text(&chosen)), now).expect("it can follow");
                alone.change_at(rules(&text(&chosen)), now).expect("it can follow");
                changes += 1;
            }
            let (user, tier) = (["ann", "bob", "eve"][random() % 3], (random() % 5).to_string());
            let request = [("user", user), ("tier", tier.as_str())];
            let (decided, expected) = (one.decide_at(&request, now), alone.decide_at(&request, now));
            assert_eq!(*decided, *expected, "round {round}, step {step}, {request:?}: {}", text(&chosen));
        }
    }
    assert!(changes > 200, "{changes} changes");
}

#[test]
fn what_is_held_is_given_back_by_any_of_them() {
    let file = Scratch::new();
    let text = |limit: &str| {
        format!(
            "[[rule]]\nname = 'a'\nkey = ['user']\nlimit = '{limit}'\ncost = {{ from = 'tier', default = 5 }}\n"
        )
    };
    let open = |text: &str| file.builder(text).reserving().open(&file.0).expect("a file");
    let flight = "fixed_window 100/1d & in_flight 10 hold=1h";
    let [here, there] = [open(&text(flight)), open(&text(flight))];
    let held = |limiter: &RulesLimiter| limiter.reserve_at(&ANN, 0).1.expect("allowed");
    let (one, two, three) = (held(&here), held(&there), here.reserve_at(&ANN, 0).1);
    assert_eq!(three, None, "10 are in flight");
    there.settle_at(one.clone(), &[("tier", "2")], 0);
    assert_eq!(there.release_at(one, 0), 5);
    // Also after a change by another, of the first generation and from one to another.
    for number in 0..6 {
        let more = flight.replace("100", &(101 + number).to_string());
        here.change_at(rules(&text(&more)), 0).expect("a limit");
    }
    assert_eq!(there.release_at(two, 0), 5);
    let left = there.reserve_at(&[("user", "ann"), ("tier", "0")], 0).0.shown.map(|shown| shown.remaining);
    assert_eq!(left, Some(10), "in flight");
    let (decision, permit) = there.reserve_at(&[("user", "ann"), ("tier", "10")], 0);
    assert!(decision.is_allowed());
    assert_eq!(here.release_at(permit.expect("allowed"), 0), 10);
    // Of another kind, nothing.
    let late = held(&here);
    here.change_at(rules(&text("sliding_window 100/1d & in_flight 10 hold=1h")), 0).expect("another kind");
    assert_eq!(there.release_at(late, 0), 0);
}

/// Units of a rate come back beside changes of other rules, and stay charged after one of its own.
#[test]
fn what_is_held_outlives_changes_of_others() {
    let text = |rate: &str, more: &str| {
        format!(
            "[[rule]]\nname = 'a'\nkey = ['user']\nlimit = '{rate}'\ncost = {{ from = 'tier', default = 5 }}\n{more}"
        )
    };
    for in_file in [true, false] {
        for (changes, rate, left) in
            [(0, "10/h", 10), (1, "10/h", 10), (3, "10/h", 10), (4, "10/h", 5), (1, "11/h", 6)]
        {
            let file = Scratch::new();
            let other = |number: usize| rule("other", &format!("{}/s", 100 + number));
            let builder = file.builder(&text("10/h", &other(0))).reserving();
            let limiter = if in_file { builder.open(&file.0) } else { builder.build() }.expect("a limiter");
            let held = limiter.reserve_at(&ANN, 0).1.expect("allowed");
            for number in 1..=changes {
                limiter.change_at(rules(&text(rate, &other(number))), 0).expect("limits");
            }
            limiter.settle_at(held, &[("tier", "0")], 0);
            let peek = limiter.reserve_at(&[("user", "ann"), ("tier", "0")], 0).0;
            let shown = peek.shown.map(|shown| shown.remaining);
            assert_eq!(shown, Some(left), "{rate} after {changes} changes, in a file: {in_file}");
        }
    }
}

#[test]
fn what_a_file_cannot_have_is_refused() {
    let file = Scratch::new();
    let text = rule("a", "3/h");
    assert_eq!(
        file.refusal(file.builder(&text).when_full(WhenFull::Share)),
        BuildError::SharedCell.to_string()
    );
    assert_eq!(file.refusal(file.builder(&text).epoch(std::time::UNIX_EPOCH)), BuildError::Epoch.to_string());
    let log = file.refusal(file.builder(&rule("a", "sliding_log 3/h")));
    assert!(log.contains("rule a: a sliding_log keeps its entries in one process"), "{log}");
    let flight = file.refusal(file.builder(&rule("a", "in_flight 3 hold=1s")));
    assert!(flight.contains("rule a: a decision gives no permit"), "{flight}");
    let many: String =
        (0..512).map(|n| rule(&format!("r{n}"), "3/h & 4/h & 5/h & 6/h & 7/h & 8/h & 9/h & 10/h")).collect();
    let many = file.refusal(file.builder(&many));
    assert!(
        many.contains("no room for the layers of rule r511: 0 layers are there; expected at most 4094"),
        "{many}"
    );
    let long = (0..4_094).map(|n| {
        rule(
            &format!("r{n}-{}", "x".repeat(58)),
            "token_bucket 4000000000/s capacity=4000000000 mode=interval heal=1h horizon=1000d",
        )
    });
    let long = file.refusal(file.builder(&long.collect::<String>()));
    assert!(long.contains("bytes of limits by name; expected at most 524224"), "{long}");
    assert!(!file.0.exists());
    let made = file.open(&text);
    for (builder, sentence) in [
        (file.builder(&text).max_keys(2_000), "max_keys: 1000; expected 2000"),
        (file.builder(&text).when_full(WhenFull::Deny), "when_full: evict; expected deny"),
    ] {
        let error = file.refusal(builder);
        assert!(error.contains(sentence), "{error}; expected {sentence}");
    }
    assert!(RulesLimiter::builder(rules(&text)).open(&file.0).is_ok());
    // Who reserves nothing has no limit that counts requests in flight, and allows nothing once its rule has become one.
    let reserving = file.builder(&text).reserving().open(&file.0).expect("a file");
    reserving.change(rules(&rule("a", "in_flight 3 hold=1s"))).expect("another kind");
    let refused = file.refusal(file.builder(&text).follow());
    assert!(refused.starts_with("rule a: a decision gives no permit"), "{refused}");
    assert!(made.decide(&ANN).retry_after().is_none() && !made.decide(&ANN).is_allowed());
    assert!(reserving.reserve(&ANN).0.is_allowed());
}

#[test]
fn a_file_of_one_policy_is_no_file_of_rules() {
    let (of_rules, of_one) = (Scratch::new(), Scratch::new());
    let policy: Policy = "3/h".parse().expect("a policy");
    let limiter = of_rules.open(&rule("a", "3/h"));
    let plain = Limiter::builder(policy.clone()).max_keys(1_000).open(&of_one.0).expect("a file");
    let refused = "the region's policy: `3/h`; expected the limits of rules";
    assert_eq!(of_one.refusal(of_one.builder(&rule("a", "3/h"))), refused);
    assert!(RulesRegion::read(&of_one.0).expect_err("one policy").to_string().ends_with(refused));
    let refused = "the region's policy: the limits of rules; expected one policy";
    for error in [
        Limiter::builder(policy).open(&of_rules.0).expect_err("rules"),
        Limiter::following().open(&of_rules.0).expect_err("rules"),
        Region::read(&of_rules.0).expect_err("rules"),
    ] {
        assert!(error.to_string().ends_with(refused), "{error}");
    }
    assert!(plain.check("ann").is_allowed() && limiter.decide(&ANN).is_allowed());
}

/// Bytes of the numbers that were written by nobody are refused, and allow nobody.
#[test]
fn a_damaged_list_allows_nothing() {
    let file = Scratch::new();
    let text = |burst: u32| rule("a", &format!("1/h burst={burst}"));
    let limiter = file.open(&text(1_000));
    let other = file.open(&text(1_000));
    other.change_at(rules(&text(1_001)), 0).expect("a burst");
    let bytes = fs::read(&file.0).expect("a file");
    let at = bytes.windows(11).rposition(|bytes| bytes == b" a 1/h burs").expect("a list");
    write(&file.0, at + 1, b"b");
    let refused = limiter.decide_at(&ANN, 0);
    assert!(!refused.is_allowed() && refused.retry_after().is_none() && refused.rule_name().is_none());
    let fault = limiter.fault().map(|error| error.to_string()).unwrap_or_default();
    assert!(fault.starts_with("the region's section numbers: no list of change 1; expected one"), "{fault}");
    assert_eq!(other.fault(), None);
    let error = file.refusal(file.builder(&text(1_001)));
    assert_eq!(
        error,
        "the region's section numbers: no list of change 1; expected one that was written as a whole"
    );
    assert!(other.decide_at(&ANN, 0).is_allowed(), "it has read the list before");
    write(&file.0, at + 1, b"a");
    assert_eq!(limiter.fault(), None);
    assert!(limiter.decide_at(&ANN, 0).is_allowed());
}

/// A limit that a change in another process has made one which this limiter cannot have.
#[test]
fn a_limit_that_cannot_be_had_is_a_fault_by_name() {
    let file = Scratch::new();
    let limiter = file.open(&rule("a", "1/h burst=5"));
    let changed = rule("a", "in_flight 2 hold=1m");
    let other = file.builder(&changed).reserving().change().open(&file.0).expect("a change");
    assert!(!limiter.decide_at(&ANN, 0).is_allowed());
    let fault = limiter.fault().map(|error| error.to_string()).unwrap_or_default();
    assert!(fault.contains("rule a") && fault.contains("in_flight"), "{fault}");
    assert_eq!(other.fault(), None);
    limiter.change_at(rules(&rule("a", "1/h burst=5")), 0).expect("the limit of before");
    assert_eq!((limiter.fault(), limiter.decide_at(&ANN, 0).is_allowed()), (None, true));
}

/// The error of a file that stays locked says who has it.
#[test]
fn a_change_that_waits_in_vain_says_for_whom() {
    let file = Scratch::new();
    let limiter = file.open(&rule("a", "5/h"));
    let held = fs::File::open(&file.0).expect("a file");
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    let error = limiter.change_at(rules(&rule("a", "6/h")), 0).expect_err("it is locked").to_string();
    assert!(error.contains("cannot be locked: ") && error.contains(" has kept it locked for "), "{error}");
    drop(held);
    limiter.change_at(rules(&rule("a", "6/h")), 0).expect("a change");
}

fn write(path: &Path, at: usize, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).open(path).expect("a file");
    file.write_all_at(bytes, at as u64).expect("written");
}

#[test]
fn limits_that_share_their_cells_come_and_change() {
    let file = Scratch::new();
    let text = |of: &str, default: u32| {
        format!(
            "[[rule]]\nname = 'quota'\nkey = ['user']\n\
             limit = {{ by = 'tier', of = {{ {of} }}, default = 'fixed_window {default}/1d', shared = true }}\n"
        )
    };
    let first = file.open(&text("pro = 'fixed_window 9/1d'", 5));
    let second = file.open(&text("gold = 'fixed_window 20/1d'", 5));
    let of = |tier: &'static str| [("user", "ann"), ("tier", tier)];
    assert_eq!(admitted(&[&first, &second], &ANN, 0), 5);
    assert_eq!(admitted(&[&first], &of("pro"), 0), 4);
    assert_eq!(admitted(&[&second], &of("gold"), 0), 11);
    let refused = file.refusal(file.builder(&text("pro = 'fixed_window 10/1d'", 5)));
    assert!(refused.contains("`fixed_window 9/d` of rule quota;shared;limit=pro"), "{refused}");
    second
        .change_at(rules(&text("gold = 'fixed_window 23/1d', pro = 'fixed_window 21/1d'", 22)), 0)
        .expect("limits");
    assert_eq!(admitted(&[&first], &of("pro"), 0), 1);
    assert_eq!(admitted(&[&first, &second], &ANN, 0), 1);
    assert_eq!(admitted(&[&second], &of("gold"), 0), 1);
    // Another window is another cell.
    let other = text("gold = 'fixed_window 3/1h', pro = 'fixed_window 4/1h'", 2).replace("/1d", "/1h");
    second.change_at(rules(&other), 0).expect("another window");
    assert_eq!(admitted(&[&first, &second], &of("pro"), 0), 4);
}

#[test]
fn a_file_of_nothing_but_answers_has_no_limits() {
    let file = Scratch::new();
    let text = "[[rule]]\nname = 'a'\nkey = []\nlimit = 'blocked'\nmatch.user = true\n";
    let limiter = file.open(text);
    assert!(!limiter.decide_at(&ANN, 0).is_allowed() && limiter.decide_at(&[("path", "/")], 0).is_allowed());
    let other: Rules = rules(&rule("b", "1/h"));
    let beside = limiter.beside(other).expect("a rule more");
    assert_eq!(admitted(&[&beside], &ANN, 0), 1);
    assert!(!limiter.decide_at(&ANN, 0).is_allowed());
    assert_eq!(RulesRegion::read(&file.0).expect("a file of rules").stats_at(0).live, 1);
}

/// Whatever stands in the table, requests are answered, counted, and carried to other limits.
#[test]
fn noise_in_the_table_harms_no_process() {
    let file = Scratch::new();
    let text = |more: u32| {
        TIERS.to_owned()
            + SHARED
            + &rule("a", &format!("{more}/s & fixed_window {more}/1d"))
            + &rule("b", "token_bucket 4/1h capacity=8 mode=interval_first")
    };
    let limiter = RulesLimiter::builder(rules(&text(5))).max_keys(20).open(&file.0).expect("a file");
    let length = fs::metadata(&file.0).expect("a file").len() as usize;
    let mut random = 1_u64;
    for round in 0..60 {
        // The table of 4 buckets and what belongs to it stand at the end: noise in all of it, or in an eighth.
        let mut bytes = fs::read(&file.0).expect("a file");
        let (_, end) = bytes.split_at_mut(length - 1_536);
        for word in end.as_chunks_mut::<8>().0 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if round % 2 == 0 || (random >> 40).is_multiple_of(8) {
                *word = (random ^ random >> 29).to_le_bytes();
            }
        }
        write(&file.0, length - 1_536, end);
        for user in 0..30 {
            let user = user.to_string();
            for tier in ["pro", "free"] {
                let _ =
                    limiter.decide_at(&[("user", user.as_str()), ("tier", tier)], round as u64 * 1_000_000);
            }
        }
        limiter
            .change_at(rules(&text(5 + round as u32 % 3)), round as u64 * 1_000_000)
            .expect("other limits");
        let _ = limiter.stats_at(round as u64 * 1_000_000);
    }
}
