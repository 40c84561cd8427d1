//! What a refused file is told: the line, the rule, the field, what was wrong and what was expected.

use ratecell_rules::Rules;

const HEAD: &str = "ratecell_rules = 1\nattributes = ['user']\n\n";

fn refused(text: &str) -> String {
    Rules::parse(text).expect_err(text).to_string()
}

/// A file with one rule, of which these lines follow its name, from line 6 on.
fn rule(lines: &str) -> String {
    refused(&format!("{HEAD}[[rule]]\nname = 'a'\n{lines}\n"))
}

#[test]
fn each_sentence_names_the_place_what_was_wrong_and_what_was_expected() {
    let key = "key = []\n";
    for (lines, expected) in [
        (
            "key = []\nlimit = '1/s'\nmatch.path = ['/x', '/a//b']",
            "line 8: rule a, match.path: bad_pattern: `/a//b` has an empty segment, `.` or `..`: expected none, also at \
             the end",
        ),
        (
            "key = []\nlimit = '1/s'\nmatch.usr = 'ann'",
            "line 8: rule a, match.usr: unknown_attribute: no attribute `usr`: expected method, path, host, client, \
             header:NAME in small letters, or a name that the file lists in `attributes`",
        ),
        (
            "key = ['path:65']\nlimit = '1/s'",
            "line 6: rule a, key: bad_key: `path:65`: expected path:N, with N from 1 to 64",
        ),
        (
            "key = []\nlimit = '1/s'\nmatch.client = '10.0.0.1/8'",
            "line 8: rule a, match.client: bad_cidr: `10.0.0.1/8` has bits beyond its length: expected the network's first \
             address",
        ),
        ("key = []", "line 4: rule a, limit: missing_field: absent: expected a policy, "),
        (
            "key = []\nlimit = '1/s'\nmdoe = 'shadow'",
            "line 8: rule a, mdoe: unknown_field: no such field: expected name, ",
        ),
        (
            "key = []\nlimit = '1/s'\ncost = 4294967296",
            "line 8: rule a, cost: bad_cost: 4294967296: expected a whole ",
        ),
        (
            "key = []\nlimit = '1/s'\ncost = 1.5",
            "line 8: rule a, cost: wrong_type: this is a fraction: expected a whole ",
        ),
        ("mode = 'deny'", "line 6: rule a, mode: bad_value: `deny`: expected enforce, shadow or skip"),
        (
            "mode = 'skip'\nkey = []",
            "line 7: rule a, key: not_in_skip: a skip limits nothing: expected no other field than name, match and mode",
        ),
        (
            "key = []\nlimit = { by = 'user', of = { pro = '5/x' }, default = '1/s' }",
            "line 7: rule a, limit.of.pro: bad_policy: `5/x`: syntax at column ",
        ),
        (
            "key = []\nlimit = { by = 'user', of = { pro = '5/s' }, default = 'fixed_window 1/s', shared = true }",
            "line 7: rule a, limit: mixed_limit: `5/s` cannot be shared: expected windows, aligned or sliding, in each layer",
        ),
    ] {
        let error = rule(lines);
        assert!(error.starts_with(expected), "{key}{lines}: expected\n{expected}, got\n{error}");
    }
}

#[test]
fn a_file_that_is_no_toml_names_the_line() {
    assert!(refused("ratecell_rules = 1\nrule = [\n").contains(": syntax: "));
    assert!(refused("ratecell_rules = 1\n\nnonsense here\n").starts_with("line 3: syntax: "));
    let error = Rules::parse(b"ratecell_rules = 1\n\xff\n").unwrap_err();
    assert_eq!((error.code(), error.line()), ("syntax", Some(2)));
}

/// Other readers of the file may know TOML 1.0 alone.
#[test]
fn what_toml_1_1_adds_is_refused() {
    let accepted = |limit: &str| {
        let text = format!("{HEAD}[[rule]]\nname = 'a'\nkey = [\n  'user', # one\n]\nlimit = {limit}\n");
        Rules::parse(text).map(|_| ()).map_err(|error| error.to_string())
    };
    let table = "{ by = 'user', of = { \"\\\\e\" = '1/s' }, default = '1/s' }";
    assert_eq!(accepted(table), Ok(()));
    for (limit, line) in [
        ("{ by = 'user', of = {}, default = '1/s', }", 9),
        ("{ by = 'user',\n of = {}, default = '1/s' }", 9),
        ("{ by = 'user', of = { \"\\e\" = '1/s' }, default = '1/s' }", 9),
        ("\"1/s\\x20\"", 9),
    ] {
        let error = accepted(limit).expect_err(limit);
        assert!(
            error.starts_with(&format!("line {line}: syntax: ")) && error.contains("TOML 1.1"),
            "{limit}: {error}"
        );
    }
}

/// Policies that count in one cell are alike in all but limit and `strict`.
#[test]
fn a_shared_cell_has_one_shape() {
    let shared = |one: &str, other: &str| {
        let limit = format!("{{ by = 'user', of = {{ a = '{one}' }}, default = '{other}', shared = true }}");
        let text = format!("{HEAD}[[rule]]\nname = 'a'\nkey = []\nlimit = {limit}\n");
        Rules::parse(text).map(|_| ()).map_err(|error| error.code())
    };
    for (one, other) in [
        ("fixed_window 5/60s", "fixed_window 9/m start=aligned offset=0s"),
        (
            "fixed_window 5/m offset=60000ms & sliding_window 9/h strict=true",
            "fixed_window 5/1m offset=1m & sliding_window 1/h",
        ),
        ("unlimited", "blocked"),
    ] {
        // An offset of a whole window is none.
        let expected = if one.contains("offset=60000ms") { Err("bad_policy") } else { Ok(()) };
        assert_eq!(shared(one, other), expected, "{one}, {other}");
    }
    assert_eq!(shared("fixed_window 5/m offset=1000ms", "fixed_window 9/m offset=1s"), Ok(()));
    assert_eq!(shared("fixed_window 5/m heal=1s", "fixed_window 9/m"), Err("mixed_limit"));
    assert_eq!(shared("fixed_window 5/m", "sliding_window 9/m"), Err("mixed_limit"));
}
