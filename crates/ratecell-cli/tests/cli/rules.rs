//! `ratecell rules check`.

use crate::support::{Files, Run, ratecell};

/// What the program says of a file with this text, which it calls FILE.
fn check(text: &str) -> (Option<i32>, String, String) {
    let files = Files::new(&[("rules.toml", text.as_bytes())]);
    let path = files.path("rules.toml");
    let path = path.to_str().unwrap();
    let Run { status, stdout, stderr } = ratecell(&["rules", "check", path]);
    (status, stdout, stderr.replace(path, "FILE"))
}

#[test]
fn each_rule_is_a_line() {
    let text = "ratecell_rules = 1
attributes = ['tier', 'bytes']
[[rule]]
name = 'health'
match.path = '/health'
mode = 'skip'
[[rule]]
name = 'api'
group = 'endpoint'
match.path = '/api/**'
match.method = 'GET'
key = ['client', 'path:2']
limit = { by = 'tier', of = { pro = '600/minute', staff = 'unlimited' }, default = 'fixed_window 60/m' }
cost = { from = 'bytes', unit = 1000, default = 1 }
[[rule]]
name = 'all'
key = []
limit = '1000 per second'
";
    let (code, out, err) = check(text);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let lines: Vec<_> =
        out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines[0], "rule mode group match key limit cost");
    assert_eq!(lines[2], "health skip path");
    assert_eq!(
        lines[3],
        "api enforce endpoint path, method client, path:2 by tier: pro 600/m, staff unlimited, otherwise fixed_window 60/m \
         bytes/1000, at most 4294967295, otherwise 1"
    );
    assert_eq!(lines[4], "all enforce [] 1000/s 1");
    assert_eq!(lines[5], "3 rules, 3 policies");
}

#[test]
fn a_fault_names_file_line_rule_and_field() {
    let (code, out, err) =
        check("ratecell_rules = 1\n[[rule]]\nname = 'api'\nkey = ['usr']\nlimit = '10/s'\n");
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(
        err.starts_with("FILE:4: rule api, key: unknown_attribute: no attribute `usr`: expected "),
        "{err}"
    );

    let (code, _, err) = check("ratecell_rules = 1\nrule = \n");
    assert_eq!(code, Some(1));
    assert!(err.starts_with("FILE:2: syntax: "), "{err}");
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let line = ratecell(&["rules", "check", "no/such/file"]).error();
    assert!(line.starts_with("ratecell: no/such/file: cannot be read, expected a file of rules"), "{line}");
}
