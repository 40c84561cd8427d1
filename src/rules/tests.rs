use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use ratecell_core::Outcome;
use ratecell_core::fields::Style;

use super::{Attribute, Attributes, Rules, RulesDecision, RulesLimiter};

fn rules(text: &str) -> Rules {
    Rules::parse(format!("ratecell_rules = 1\nattributes = ['user', 'tier']\n{text}")).expect(text)
}

fn limiter(text: &str) -> RulesLimiter {
    RulesLimiter::builder(rules(text)).max_keys(1_000).build().expect("a limiter")
}

fn rule(name: &str, limit: &str) -> String {
    format!("[[rule]]\nname = '{name}'\nkey = ['user']\nlimit = '{limit}'\n")
}

const ANN: [(&str, &str); 1] = [("user", "ann")];

fn remaining(decision: &RulesDecision) -> Option<(&str, u64)> {
    Some((decision.shown_name()?, decision.shown?.remaining))
}

#[test]
fn a_rule_goes_on_where_its_name_key_and_policy_stay() {
    let limiter = limiter(&(rule("a", "10/h") + &rule("b", "20/h")));
    for left in (5..10).rev() {
        assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("a", left)));
    }
    let change = |text: &str| limiter.change(rules(text)).expect("other rules");
    // Another place, a condition and a cost: the cell is the same, and so is that of a rule which rests for a while.
    change(&(rule("b", "20/h") + &rule("a", "10/h") + "cost = 2\nmatch.user = true\n"));
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("a", 3)));
    change(&rule("b", "20/h"));
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("b", 13)));
    // Another name, in a table of the same policy; another policy.
    change(&(rule("c", "20/h") + &rule("b", "21/h")));
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("c", 19)));
    assert_eq!(limiter.rules().len(), 2);
}

#[test]
fn equal_policies_share_a_table_and_no_cell() {
    let one = limiter(&rule("a", "10/h")).stats_at(0).bytes;
    let limiter = limiter(&(rule("a", "10/h") + &rule("b", "10/h") + &rule("c", "11/h")));
    assert_eq!(limiter.stats_at(0).bytes, 2 * one);
    let decision = limiter.decide_at(&ANN, 0);
    let fields = decision.fields(Style::Draft11, 0);
    let values: Vec<_> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(
        values,
        [
            r#"RateLimit-Policy: "a";q=10;w=3600, "b";q=10;w=3600, "c";q=11;w=3600"#,
            r#"RateLimit: "a";r=9;t=360, "b";r=9;t=360, "c";r=10;t=328"#
        ]
    );
}

#[test]
fn what_is_blocked_charges_nothing() {
    let text =
        rule("a", "10/h") + "[[rule]]\nname = 'no'\nmatch.tier = 'banned'\nkey = []\nlimit = 'blocked'\n";
    let limiter = limiter(&text);
    let banned = [("user", "ann"), ("tier", "banned")];
    let refused = limiter.decide_at(&banned, 0);
    assert_eq!(
        (refused.outcome, refused.rule_name(), refused.retry_after()),
        (Outcome::Never, Some("no"), None)
    );
    assert_eq!(refused.fields(Style::Draft11, 0).to_string().lines().count(), 2);
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("a", 9)));
}

#[test]
fn an_unclear_path_is_never_allowed_where_the_file_refuses_it() {
    let limiter = limiter("unclear_path = 'refuse'\n[[rule]]\nname = 'a'\nkey = []\nlimit = '1/h'\n");
    let refused = limiter.decide_at(&[("path", "/%61/../b")], 0);
    assert!(refused.is_unclear_path() && !refused.is_allowed());
    assert_eq!((refused.rule_name(), refused.fields(Style::Draft11, 0).to_string()), (None, String::new()));
    assert!(limiter.decide_at(&[("path", "/b")], 0).is_allowed());
}

/// Attributes that decide another request when they are asked.
struct Nested<'l>(&'l RulesLimiter);

impl Attributes for Nested<'_> {
    fn value(&self, attribute: Attribute<'_>) -> Option<Cow<'_, [u8]>> {
        let inner = self.0.decide_at(&[("user", "inner")], 0);
        assert_eq!(remaining(&inner), Some(("a", 9)));
        (attribute == Attribute::Own("user")).then_some(Cow::Borrowed(b"outer"))
    }
}

#[test]
fn a_decision_within_a_decision() {
    let limiter = limiter(&rule("a", "10/h"));
    assert_eq!(remaining(&limiter.decide_at(&Nested(&limiter), 0)), Some(("a", 9)));
    assert_eq!(remaining(&limiter.decide_at(&[("user", "outer")], 0)), Some(("a", 8)));
}

#[test]
fn a_limiter_and_its_decisions_go_to_other_threads() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    let limiter = limiter(&rule("a", "10/h"));
    is_shared(&limiter);
    is_shared(&limiter.decide_at(&ANN, 0));
}

/// While the file is changed, over and over, a rule that stays admits exactly its limit, and each decision is by one file.
#[test]
fn a_change_loses_no_unit_and_mixes_no_files() {
    const LIMIT: u64 = 5_000;
    const CHANGES: u64 = 50;
    // Two rules that have the number of the file in their limits.
    let file = |number: u64| {
        let many = 1_000_000 + number;
        let loose = ["one", "two"].map(|name| rule(name, &format!("fixed_window {many}/1d")));
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

#[test]
fn permits_that_nobody_releases_are_refused() {
    let with = |limit: &str| RulesLimiter::builder(rules(&rule("a", limit))).build();
    let error = with("9/s & in_flight 2 hold=1s").expect_err("permits").to_string();
    assert!(error.starts_with("rule a: a decision by rules gives no permit"), "{error}");
    let limiter = with("9/s").expect("a limiter");
    assert!(limiter.change(rules(&rule("a", "in_flight 2 hold=1s"))).is_err());
    assert!(limiter.decide_at(&ANN, 0).is_allowed());
}

/// A quota by a calendar that a plan raises; and the names of tiers count for nothing.
#[test]
fn shared_tiers_go_on_where_their_policies_stay() {
    let file = |tiers: &str| {
        let limit =
            format!("limit = {{ by = 'tier', of = {{ {tiers} }}, default = 'blocked', shared = true }}\n");
        rules(&format!("[[rule]]\nname = 'a'\nkey = ['user']\n{limit}"))
    };
    let (free, pro) = ("'calendar_window 10/month tz=UTC'", "'calendar_window 100/month tz=UTC'");
    let limiter = RulesLimiter::builder(file(&format!("free = {free}, pro = {pro}"))).max_keys(100).build();
    let limiter = limiter.expect("a limiter");
    let of = |tier| [("user", "ann"), ("tier", tier)];
    assert_eq!(remaining(&limiter.decide_at(&of("free"), 0)), Some(("a", 9)));
    assert_eq!(remaining(&limiter.decide_at(&of("pro"), 0)), Some(("a", 98)));
    limiter.change(file(&format!("gold = {pro}, wood = {free}, zinc = {free}"))).expect("other names");
    assert_eq!(remaining(&limiter.decide_at(&of("zinc"), 0)), Some(("a", 7)));
    assert_eq!(remaining(&limiter.decide_at(&of("gold"), 0)), Some(("a", 96)));
}
