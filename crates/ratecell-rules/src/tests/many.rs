//! As many rules as a file may have. A look at each pair of them would take minutes.

use crate::{RuleLabel, Rules, RulesErrorKind, Scratch};

const MOST: usize = 65_536;

/// A rule's lines by its number.
type Lines = fn(usize) -> String;

/// A file with that many rules, each with these lines for its number.
fn file(count: usize, mut lines: impl FnMut(usize) -> String) -> String {
    let rules = (0..count)
        .map(|number| format!("[[rule]]\nname = 'r{number}'\nkey = []\nlimit = '1/s'\n{}\n", lines(number)));
    format!("ratecell_rules = 1\nattributes = ['user']\n{}", rules.collect::<String>())
}

/// Whatever the rules tell requests apart by, the check looks at few pairs.
#[test]
fn all_rules_are_checked_by_an_index() {
    let kinds: [(&str, Lines); 9] = [
        ("exact paths", |n| format!("group = 'g'\nmatch.path = '/a/{n}'")),
        ("paths with a star", |n| format!("group = 'g'\nmatch.path = '/a/{n}-*/x'")),
        ("path prefixes", |n| format!("group = 'g'\nmatch.path = '/{n}/**'")),
        ("hosts", |n| format!("group = 'g'\nmatch.host = '*.t{n}.test'\nmatch.path = '/api/**'")),
        ("networks", |n| format!("group = 'g'\nmatch.client = '10.{}.{}.0/24'", n >> 8, n & 255)),
        ("negations", |n| format!("group = 'g'\nmatch.user = {{ not = 'u{n}' }}")),
        ("negated networks", |n| {
            format!("group = 'g'\nmatch.client = {{ not = '10.{}.{}.0/24' }}", n >> 8, n & 255)
        }),
        ("groups of two", |n| {
            format!("group = 'g{}'\n{}", n / 2, if n % 2 == 0 { "match.method = 'GET'" } else { "" })
        }),
        ("no group", |_| String::new()),
    ];
    for (kind, lines) in kinds {
        let text = file(MOST, lines);
        let rules = Rules::parse(&text).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(rules.len(), MOST, "{kind}");
    }
}

#[test]
fn the_last_of_all_rules_is_found_unreachable() {
    let last = MOST - 1;
    let text = file(MOST, |n| format!("group = 'g'\nmatch.path = '/a/{}'", if n == last { 77 } else { n }));
    let error = Rules::parse(&text).unwrap_err();
    assert_eq!((error.kind(), error.why()), (RulesErrorKind::Unreachable, Some("r77")));
    assert_eq!(error.rule(), Some(&RuleLabel::Name(format!("r{last}"))));
}

#[test]
fn one_rule_more_is_too_many() {
    let error = Rules::parse(file(MOST + 1, |_| String::new())).unwrap_err();
    assert_eq!((error.kind(), error.field()), (RulesErrorKind::TooMany, Some("rule")));
}

#[test]
fn of_many_paths_the_one_is_found() {
    let rules = Rules::parse(file(10_000, |n| format!("group = 'g'\nmatch.path = '/a/{n}'"))).unwrap();
    let mut scratch = Scratch::default();
    for (path, expected) in
        [("/a/9999", vec![9999]), ("/a/10000", vec![]), ("/a", vec![]), ("/a/5/", vec![5])]
    {
        let claims = rules.evaluate(&[("path", path)], &mut scratch);
        assert_eq!(claims.claims().map(|claim| claim.rule).collect::<Vec<_>>(), expected, "{path}");
    }
}
