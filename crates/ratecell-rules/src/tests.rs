//! The index against a look at each rule, on random files and requests.

use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::cover::{unreachable, unreachable_by_pairs};
use crate::file;
use crate::index::Index;
use crate::rules::Rules;
use crate::{Claim, Scratch};

mod many;

const PATTERNS: [(&str, &[&str]); 7] = [
    ("method", &["GET", "POST", "P*"]),
    ("host", &["a.test", "*.test", "b.*", "a*st", "*"]),
    ("user", &["ann", "a*", "*n", "", "b*b", "a*n"]),
    ("tier", &["free", "pro", "p*"]),
    ("client", &["10.0.0.0/8", "10.1.0.0/16", "203.0.113.7", "2001:db8::/32", "::1", "0.0.0.0/0"]),
    (
        "path",
        &[
            "/",
            "/**",
            "/a",
            "/a/**",
            "/a/*",
            "/*/b",
            "/*",
            "/a/b/**",
            "/api/*/export",
            "/ad*/**",
            "/*n",
            "/*.css",
            "/a*n",
            "/*/*/c",
            "/A/**",
        ],
    ),
    ("header:x", &["1", "*"]),
];

const VALUES: [(&str, &[&str]); 7] = [
    ("method", &["GET", "POST", "PUT", "get"]),
    ("host", &["a.test", "A.test:80", "b.a", "x", ""]),
    ("user", &["ann", "an", "a", "", "bb", "b", "*"]),
    ("tier", &["free", "pro", "p"]),
    ("client", &["10.1.2.3", "10.0.0.0/7", "203.0.113.7", "2001:db8::5", "::1", "unix", "::ffff:10.1.2.3"]),
    (
        "path",
        &[
            "/",
            "/a",
            "/a/",
            "/a/b",
            "/a/b/c",
            "/x/b",
            "/api/v1/export",
            "/admin/x",
            "/an",
            "/x.css",
            "/A/B",
            "/a%2Fb",
            "/x/../a",
            "/a;x/b",
            "/%61/b",
            "/a\\b",
            "",
        ],
    ),
    ("header:x", &["1", " 1 ", "2"]),
];

fn condition(patterns: &'static [&'static str]) -> impl Strategy<Value = String> {
    let list = subsequence(patterns, 1..=patterns.len().min(3)).prop_map(|texts| format!("{texts:?}"));
    prop_oneof![
        1 => Just("true".to_owned()),
        1 => Just("false".to_owned()),
        6 => list.clone(),
        2 => list.prop_map(|list| format!("{{ not = {list} }}")),
    ]
}

fn rule(number: usize) -> impl Strategy<Value = String> {
    let attributes = subsequence((0..PATTERNS.len()).collect::<Vec<_>>(), 0..=3);
    let conditions = attributes.prop_flat_map(|attributes| {
        attributes
            .into_iter()
            .map(|at| {
                let (name, patterns) = PATTERNS[at];
                condition(patterns).prop_map(move |condition| format!("match.{name:?} = {condition}\n"))
            })
            .collect::<Vec<_>>()
    });
    let mode = select(vec!["enforce", "enforce", "shadow", "skip"]);
    let group = option::weighted(0.7, select(vec!["g", "h"]));
    let key = select(vec![
        "[]",
        "['client']",
        "['user|client']",
        "['path', 'host']",
        "['path:1']",
        "['client/16/32']",
    ]);
    let limit = select(vec![
        "'5/s'",
        "'unlimited'",
        "{ by = 'path:1', of = { a = '1/s' }, default = 'blocked' }",
        "{ by = 'path:1', of = { a = 'sliding_window 1/s' }, default = 'sliding_window 2/s', shared = true }",
    ]);
    let cost = select(vec!["1", "0", "{ by = 'path', of = { '/a' = 7 }, default = 2 }"]);
    (conditions, mode, group, key, limit, cost).prop_map(
        move |(conditions, mode, group, key, limit, cost)| {
            let mut text = format!("[[rule]]\nname = 'r{number}'\nmode = '{mode}'\n{}", conditions.concat());
            if mode != "skip" {
                text += &format!("key = {key}\nlimit = {limit}\ncost = {cost}\n");
                text += &group.map(|group| format!("group = '{group}'\n")).unwrap_or_default();
            }
            text
        },
    )
}

fn a_file(rules: RangeInclusive<usize>) -> impl Strategy<Value = String> {
    let rules = rules.prop_flat_map(|count| (0..count).map(rule).collect::<Vec<_>>());
    let case = select(vec!["exact", "ignore"]);
    let unclear = select(vec!["both", "both", "both", "refuse"]);
    (rules, case, unclear).prop_map(|(rules, case, unclear)| {
        format!(
            "ratecell_rules = 1\nattributes = ['user', 'tier']\npath_case = '{case}'\nunclear_path = '{unclear}'\n{}",
            rules.concat()
        )
    })
}

type Request = Vec<(&'static str, &'static str)>;

fn request() -> impl Strategy<Value = Request> {
    let values =
        VALUES.map(|(name, values)| option::weighted(0.8, select(values)).prop_map(move |v| (name, v)));
    values.to_vec().prop_map(|all| all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

/// What an evaluation says.
type Said = (Option<usize>, bool, Vec<(usize, Option<usize>, Vec<u8>, u32)>);

fn said(rules: &Rules, request: &Request, scratch: &mut Scratch) -> Said {
    let evaluation = rules.evaluate(request, scratch);
    let claim = |claim: Claim<'_>| (claim.rule, claim.policy, claim.key.to_owned(), claim.cost);
    (evaluation.skip(), evaluation.is_unclear_path(), evaluation.claims().map(claim).collect())
}

proptest! {
    /// The same memory serves all requests and both files.
    #[test]
    fn the_index_finds_what_a_look_at_each_rule_finds(text in a_file(1..=12), requests in vec(request(), 1..20)) {
        let rules = Rules::of(file::read(text.as_bytes()).unwrap());
        let mut naive = Rules::of(file::read(text.as_bytes()).unwrap());
        naive.index = Index::of_all(0..naive.rules.len() as u32);
        naive.anchors.fill(None);
        let mut scratch = Scratch::default();
        for request in &requests {
            let expected = said(&naive, request, &mut Scratch::default());
            prop_assert_eq!(said(&rules, request, &mut scratch), expected, "{:?} of\n{}", request, text);
        }
    }

    #[test]
    fn the_first_unreachable_rule_is_that_of_all_pairs(text in a_file(2..=12)) {
        let model = file::read(text.as_bytes()).unwrap();
        let expected = unreachable_by_pairs(&model.rules, model.refuse_unclear);
        prop_assert_eq!(unreachable(&model.rules, model.refuse_unclear), expected, "{}", text);
    }

    /// A rule that another covers and ends applies to no request.
    #[test]
    fn an_unreachable_rule_has_no_claim(text in a_file(2..=8), requests in vec(request(), 1..40)) {
        let rules = Rules::of(file::read(text.as_bytes()).unwrap());
        let Some((number, _)) = unreachable(&rules.rules, rules.refuse_unclear) else { return Ok(()) };
        let mut scratch = Scratch::default();
        for request in &requests {
            let (skip, _, claims) = said(&rules, request, &mut scratch);
            let applies = skip == Some(number) || claims.iter().any(|(rule, ..)| *rule == number);
            prop_assert!(!applies, "rule {} for {:?} of\n{}", number, request, text);
        }
    }
}
