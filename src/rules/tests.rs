use std::borrow::Cow;

use ratecell_core::Outcome;
use ratecell_core::fields::Style;

mod changes;
mod holds;
mod mixed;
mod race;
#[cfg(target_os = "linux")]
mod region;

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
fn a_rule_goes_on_where_its_name_and_key_stay() {
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
    // Another name; another key.
    change(&(rule("c", "20/h") + &rule("b", "20/h").replace("'user'", "'tier'")));
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("c", 19)));
    change(&rule("b", "20/h").replace("'user'", "'tier'"));
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("b", 18)));
    change(&rule("b", "20/h"));
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("b", 12)));
}

#[test]
fn equal_policies_share_no_cell() {
    let one = limiter(&rule("a", "10/h")).stats_at(0).bytes;
    let limiter = limiter(&(rule("a", "10/h") + &rule("b", "10/h") + &rule("c", "11/h")));
    assert_eq!(limiter.stats_at(0).bytes, one);
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

#[test]
fn permits_that_nobody_releases_are_refused() {
    let with = |limit: &str| RulesLimiter::builder(rules(&rule("a", limit))).build();
    let error = with("9/s & in_flight 2 hold=1s").expect_err("permits").to_string();
    assert!(error.starts_with("rule a: a decision gives no permit of in_flight"), "{error}");
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

/// Two limiters beside each other admit together what a rule of both allows, and each decides others by its own file.
#[test]
fn limiters_beside_each_other_share_what_stays() {
    let old = RulesLimiter::builder(rules(&(rule("a", "10/h") + &rule("b", "20/h")))).max_keys(100).build();
    let old = old.expect("a limiter");
    let new = old.beside(rules(&(rule("a", "10/h") + &rule("b", "21/h")))).expect("a limiter beside");
    assert_eq!(remaining(&old.decide_at(&ANN, 0)), Some(("a", 9)));
    assert_eq!(remaining(&new.decide_at(&ANN, 0)), Some(("a", 8)));
    assert_eq!(old.epoch(), new.epoch());
    // The table of a policy that only the new file has is the new limiter's alone.
    let b_alone = |limiter: &RulesLimiter| {
        limiter.change(rules(&rule("b", "21/h"))).expect("other rules");
        limiter.decide_at(&ANN, 0).shown.map(|shown| shown.remaining)
    };
    assert_eq!((b_alone(&new), b_alone(&old)), (Some(19), Some(20)));
    drop(old);
    assert_eq!(remaining(&new.decide_at(&ANN, 0)), Some(("b", 18)));
}

/// What one file decided is not taken for what another did.
#[test]
fn each_file_of_the_process_has_a_number_of_its_own() {
    let (one, other) = (limiter(&rule("a", "10/h")), limiter(&rule("a", "10/h")));
    let beside = one.beside(rules(&rule("a", "10/h"))).expect("a limiter beside");
    let number = |limiter: &RulesLimiter| limiter.file.load().generation;
    let mut numbers = [number(&one), number(&other), number(&beside)].to_vec();
    one.change(rules(&rule("a", "10/h"))).expect("the same rules");
    numbers.push(number(&one));
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 4);
}

/// Entries of a log would be one process's alone.
#[test]
#[cfg(target_os = "linux")]
fn tables_for_forked_processes_have_no_log() {
    let with = |limit: &str| RulesLimiter::builder(rules(&rule("a", limit))).max_keys(100).forked().build();
    let error = with("9/s & sliding_log 2/1h").expect_err("a log").to_string();
    assert!(error.starts_with("rule a: a sliding_log keeps its entries in one process"), "{error}");
    let limiter = with("9/h").expect("a limiter");
    assert!(limiter.beside(rules(&rule("a", "sliding_log 2/1h"))).is_err());
    assert_eq!(remaining(&limiter.decide_at(&ANN, 0)), Some(("a", 8)));
}

/// A request that is once large leaves no memory of its size with the thread.
#[test]
fn a_long_key_is_not_kept() {
    let limiter = limiter(&rule("a", "10/h"));
    let long = "x".repeat(1 << 20);
    assert!(limiter.decide_at(&[("user", long.as_str())], 0).is_allowed());
    let bytes = super::scratch::with(|scratch| scratch.bytes());
    assert!(bytes <= 8 * super::scratch::KEPT_BYTES, "{bytes}");
    assert!(limiter.decide_at(&ANN, 0).is_allowed());
    assert_ne!(super::scratch::with(|scratch| scratch.bytes()), 0, "what is small is kept");
}
