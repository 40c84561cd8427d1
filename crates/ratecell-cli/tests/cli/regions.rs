//! `ratecell stats` and `ratecell key`: a region in a file, beside a limiter that uses it.

use ratecell::{Limiter, Policy};
use serde_json::{Value, json};

use crate::support::{Files, arg, ratecell};

const POLICY: &str = "5/1d";

/// A file with a region of which one key has used three units.
fn region(files: &Files) -> (std::path::PathBuf, Limiter) {
    let path = files.path("region");
    let limiter = Limiter::builder(POLICY.parse::<Policy>().unwrap()).max_keys(600).open(&path).unwrap();
    assert!(limiter.check_n("user:42", 3).is_allowed());
    (path, limiter)
}

#[test]
fn stats_are_those_of_the_limiter() {
    let files = Files::new(&[]);
    let (path, limiter) = region(&files);
    let json: Value =
        serde_json::from_str(&ratecell(&["stats", arg(&path), "--json"]).quiet_success()).unwrap();
    let stats = limiter.stats();
    assert_eq!((&json["policy"], &json["max_keys"], &json["live"]), (&json!("5/d"), &json!(600), &json!(1)));
    assert_eq!((&json["slots"], &json["bytes"]), (&json!(stats.slots), &json!(stats.bytes)));
    let text = ratecell(&["stats", arg(&path)]).quiet_success();
    assert!(text.starts_with(&format!("{}: 5/d\n", path.display())), "{text}");
    assert!(text.contains("keys that hold used units"), "{text}");
}

#[test]
fn stats_of_rules_name_their_limits() {
    let files = Files::new(&[]);
    let path = files.path("limits");
    let rules = "ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = []\nlimit = '5/1d'\n[[rule]]\nname = 'login'\n\
        key = ['client']\nlimit = { by = 'header:tier', of = { pro = 'fixed_window 9/1m' }, default = '2/m' }\n";
    let rules: ratecell::rules::Rules = rules.parse().unwrap();
    let limiter = ratecell::rules::RulesLimiter::builder(rules).max_keys(600).open(&path).unwrap();
    assert!(limiter.decide(&[("client", "203.0.113.7")]).is_allowed());
    let json: Value =
        serde_json::from_str(&ratecell(&["stats", arg(&path), "--json"]).quiet_success()).unwrap();
    let limit = |name: &str, policy: &str| json!({ "name": name, "policy": policy });
    let limits = [limit("site", "5/d"), limit("login;limit=pro", "fixed_window 9/m"), limit("login", "2/m")];
    assert_eq!((&json["rules"], &json["max_keys"], &json["live"]), (&json!(limits), &json!(600), &json!(2)));
    assert_eq!(json["policy"], Value::Null);
    let text = ratecell(&["stats", arg(&path)]).quiet_success();
    assert!(text.starts_with(&format!("{}: the limits of rules\n", path.display())), "{text}");
    for row in ["login;limit=pro", "fixed_window 9/m", "keys that hold used units"] {
        assert!(text.contains(row), "{text}");
    }
    let refused = ratecell(&["key", arg(&path), "203.0.113.7"]).error();
    assert!(refused.contains("the region's policy: the limits of rules; expected one policy"), "{refused}");
}

/// Of a file whose limits cannot be read it is said what that means.
#[test]
fn stats_of_limits_that_cannot_be_read() {
    let files = Files::new(&[]);
    let path = files.path("limits");
    let rules = "ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = []\nlimit = '5/1d'\n";
    let rules: ratecell::rules::Rules = rules.parse().unwrap();
    drop(ratecell::rules::RulesLimiter::builder(rules).max_keys(600).open(&path).unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(9).rposition(|bytes| bytes == b" site 5/d").unwrap();
    bytes[at + 1] = b'x';
    std::fs::write(&path, bytes).unwrap();
    let refused = ratecell(&["stats", arg(&path)]).error();
    for part in ["each process denies every request", "section numbers: no list of change 0"] {
        assert!(refused.contains(part), "{refused}");
    }
}

#[test]
fn a_key_is_shown_and_forgotten() {
    let files = Files::new(&[]);
    let (path, limiter) = region(&files);
    let key = |options: &[&str]| ratecell(&[&["key", arg(&path)], options].concat()).quiet_success();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let shown = key(&["user:42"]);
    assert!(shown.starts_with("5/d of user:42\n"), "{shown}");
    let row = words(shown.lines().last().unwrap());
    assert_eq!(row[..5], ["a", "peek", "allowed", "5", "2"]);
    assert_eq!(limiter.peek("user:42").remaining(), 2);

    assert!(key(&["user:43"]).starts_with("5/d of user:43: never seen, or all that it used has drained\n"));
    assert_eq!(key(&["user:42", "--forget"]), "user:42 is forgotten: 5/d has it as a key never seen\n");
    assert_eq!(limiter.peek("user:42").remaining(), 5);
    let again = key(&["user:42", "--forget"]);
    assert_eq!(again, "user:42 was not seen, or all that it used has drained: nothing to forget\n");
}

/// Whoever may read the file may look at it, without the right to write: what it shows stays as it is, also the word of a
/// policy that is not in force any more.
#[test]
fn a_file_that_is_only_read_is_shown() {
    use std::os::unix::fs::PermissionsExt;
    let files = Files::new(&[]);
    let (path, limiter) = region(&files);
    limiter.change("9/1d".parse::<Policy>().unwrap()).unwrap();
    drop(limiter);
    let before = std::fs::read(&path).unwrap();
    let permissions = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    permissions(0o400);
    let shown = ratecell(&["key", arg(&path), "user:42"]).quiet_success();
    let row: Vec<_> = shown.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(
        (shown.lines().next(), &row[..5]),
        (Some("9/d of user:42"), &["a", "peek", "allowed", "9", "6"][..])
    );
    ratecell(&["stats", arg(&path)]).quiet_success();
    assert!(before == std::fs::read(&path).unwrap(), "nothing is written");
    permissions(0o600);
}

#[test]
fn denials_are_counted_where_they_are_named() {
    let files = Files::new(&[]);
    let (path, limiter) = region(&files);
    let json = |path| -> Value {
        serde_json::from_str(&ratecell(&["stats", arg(path), "--json"]).quiet_success()).unwrap()
    };
    assert_eq!(json(&path)["denied"], Value::Null);
    assert!(!ratecell(&["stats", arg(&path)]).quiet_success().contains("refused"));
    drop(limiter);
    let path = files.path("named");
    let limiter = Limiter::builder(POLICY.parse::<Policy>().unwrap()).names(true).open(&path).unwrap();
    while limiter.check("user:42").is_allowed() {}
    assert_eq!(json(&path)["denied"], json!(1));
    let text = ratecell(&["stats", arg(&path)]).quiet_success();
    let row = text.lines().last().unwrap_or_default().split_whitespace();
    assert_eq!(row.take(2).collect::<Vec<_>>(), ["refused", "1"], "{text}");
}

#[test]
fn what_is_no_region_is_refused() {
    let files = Files::new(&[("text", b"not a region"), ("zeros", &[0; 65_536])]);
    let (path, _limiter) = region(&files);
    let mut other = std::fs::read(&path).unwrap();
    other[8] ^= 0xFF;
    std::fs::write(files.path("other"), other).unwrap();
    for name in ["text", "zeros", "other", "missing"] {
        let path = files.path(name);
        for args in [
            &["stats", arg(&path)][..],
            &["key", arg(&path), "user:42"],
            &["key", arg(&path), "user:42", "--forget"],
        ] {
            let error = ratecell(args).error();
            assert!(error.starts_with(&format!("ratecell: {}", path.display())), "{error}");
        }
        assert_eq!(path.exists(), name != "missing");
    }
}
