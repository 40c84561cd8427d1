//! `ratecell replay --rules`.

use serde_json::{Value, json};

use crate::support::{Files, arg, ratecell, ratecell_with};

const RULES: &str = "ratecell_rules = 1
attributes = ['agent']
[[rule]]
name = 'health'
match.path = '/health'
match.agent = 'probe/*'
mode = 'skip'
[[rule]]
name = 'login'
match.path = '/login'
match.method = 'POST'
key = ['client']
limit = 'fixed_window 2/1h'
[[rule]]
name = 'all'
key = []
limit = 'fixed_window 5/1h'
[[rule]]
name = 'trial'
key = ['client']
limit = 'fixed_window 1/1h'
mode = 'shadow'
";

/// The client, the request and the agent of each second.
const REQUESTS: [(&str, &str, &str); 8] = [
    ("10.0.0.1", "POST /login?next=/a", "browser"),
    ("10.0.0.1", "POST //login", "browser"),
    ("10.0.0.1", "POST /login", "browser"), // the third of 2
    ("10.0.0.2", "GET /", "browser"),
    ("10.0.0.2", "GET /", "browser"),
    ("2001:db8::1", "GET /login", "browser"),
    ("2001:db8::2", "GET /x", "browser"), // the sixth of 5
    ("10.0.0.3", "GET /health", "probe/1"),
];

fn log() -> Vec<u8> {
    let lines = REQUESTS.iter().enumerate().map(|(second, (client, request, agent))| {
        format!(
            "{client} - - [17/May/2015:10:00:{second:02} +0000] \"{request} HTTP/1.1\" 200 5 \"-\" \"{agent}\"\n"
        )
    });
    lines.collect::<String>().into_bytes()
}

fn replay(args: &[&str]) -> String {
    let files = Files::new(&[("rules.toml", RULES.as_bytes())]);
    let path = files.path("rules.toml");
    let args = [&["replay", "--rules", arg(&path)], args].concat();
    ratecell_with(&args, &log()).quiet_success()
}

#[test]
fn each_rule_has_its_counts() {
    let report: Value = serde_json::from_str(&replay(&["--json"])).unwrap();
    assert_eq!([&report["records"], &report["allowed"], &report["denied"]], [8, 6, 2]);
    let rule = |name: &str, mode: &str, counts: [u64; 4], top: &[(&str, u64)]| {
        let [matched, allowed, denied, shadow_denied] = counts;
        let top: Vec<_> = top.iter().map(|(key, denied)| json!({ "key": key, "denied": denied })).collect();
        json!({
            "rule": name, "mode": mode, "matched": matched, "allowed": allowed, "denied": denied,
            "shadow_denied": shadow_denied, "keys_denied": top.len(), "top_denied": top,
        })
    };
    let trial = [
        ("trial;client=10.0.0.1", 2),
        ("trial;client=10.0.0.2", 1),
        ("trial;client=2001:db8::/64", 1), // two addresses of one network
    ];
    assert_eq!(
        report["rules"],
        json!([
            rule("health", "skip", [1, 1, 0, 0], &[]),
            rule("login", "enforce", [3, 2, 1, 0], &[("login;client=10.0.0.1", 1)]),
            rule("all", "enforce", [7, 5, 1, 0], &[("all", 1)]),
            rule("trial", "shadow", [7, 5, 0, 4], &trial),
        ])
    );
    assert_eq!(report["options"], "--order time --spread even");
}

#[test]
fn the_table_shows_the_same_counts() {
    let text = replay(&["--top", "1"]);
    let lines: Vec<_> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "records 8",
        "denied 2 (25.00 %)",
        "rule mode matched allowed denied denied % shadow denied keys denied",
        "login enforce 3 2 1 33.33 0 1",
        "trial shadow 7 5 0 0.00 4 3",
        "most denied by trial",
        "trial;client=10.0.0.1 2",
    ] {
        assert!(lines.iter().any(|written| written == line), "no line {line} in\n{text}");
    }
    assert!(!text.contains("trial;client=10.0.0.2"), "{text}");
}

#[test]
fn filters_come_first() {
    let report: Value = serde_json::from_str(&replay(&["--json", "--where", "path=/login"])).unwrap();
    assert_eq!([&report["records"], &report["filtered"], &report["denied"]], [3, 5, 0]);
}

#[test]
fn what_is_wrong_is_named() {
    let files =
        Files::new(&[("rules.toml", b"ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = []\nlimit = '0/s'\n")]);
    let path = files.path("rules.toml");
    let line = ratecell_with(&["replay", "--rules", arg(&path)], &log()).error();
    assert!(line.contains("rules.toml: line 5: rule a, limit: bad_policy: "), "{line}");
    let line = ratecell(&["replay", "--rules", "no/such/file"]).error();
    assert!(line.contains("no/such/file: cannot be read, expected a file of rules"), "{line}");
    let line = ratecell(&["replay", "--rules", arg(&path), "--policy", "1/s"]).error();
    assert!(line.contains("cannot be used with"), "{line}");
}
