//! What rules say of a descriptor is what the tree says of it.

use proptest::prelude::*;
use ratecell_rules::{Mode, Rules, Scratch};

use super::*;
use crate::config::Config;

fn imported(text: &str) -> Result<String, ImportError> {
    let mut import = Import::new();
    import.add(text)?;
    Ok(import.finish())
}

fn rules(text: &str) -> Rules {
    let rules = imported(text).expect(text);
    Rules::parse(&rules).unwrap_or_else(|error| panic!("{error}\n{text}\n{rules}"))
}

/// The limit of the tree for a descriptor: its line, and the values that name its count. As the README of
/// envoyproxy/ratelimit says it: at each level the key with its value, otherwise the first wildcard, otherwise the key alone;
/// never a second way.
fn looked_up(level: &[Descriptor], entries: &[(&str, &str)]) -> Option<(usize, bool, Vec<String>)> {
    let (&(key, value), rest) = entries.split_first()?;
    let of_key = || level.iter().filter(|one| one.key == key);
    let exact = of_key().find(|one| one.value == Pattern::Exact(value.to_owned()));
    let wildcard =
        || of_key().find(|one| matches!(&one.value, Pattern::Prefix(prefix) if value.starts_with(&**prefix)));
    let node = exact.or_else(wildcard).or_else(|| of_key().find(|one| one.value == Pattern::Any))?;
    let counted = !matches!(node.value, Pattern::Exact(_)) && !node.is_shared;
    if rest.is_empty() {
        let limit = node.limit.as_ref().filter(|limit| limit.rate != Rate::Unlimited)?;
        let counted = counted.then(|| value.to_owned()).into_iter().collect();
        return Some((limit.line, node.is_shadow, counted));
    }
    let (line, is_shadow, mut values) = looked_up(&node.children, rest)?;
    if counted {
        values.insert(0, value.to_owned());
    }
    Some((line, is_shadow, values))
}

/// The same by rules, whose comments have the lines.
fn evaluated(text: &str, rules: &Rules, entries: &[(&str, &str)]) -> Option<(usize, bool, Vec<String>)> {
    let keys: Vec<_> = entries.iter().map(|(key, _)| *key).collect();
    let mut given =
        vec![(DOMAIN.to_owned(), "d".to_owned()), (ENTRIES.to_owned(), names::entries(keys.iter().copied()))];
    let named = names::attributes(&keys).into_iter().map(Cow::into_owned);
    given.extend(named.zip(entries.iter().map(|(_, value)| (*value).to_owned())));
    let mut scratch = Scratch::default();
    let evaluation = rules.evaluate(&given, &mut scratch);
    let mut claims = evaluation.claims();
    let claim = claims.next()?;
    assert_eq!(claims.next(), None, "{entries:?}\n{text}");
    let lines: Vec<usize> = text
        .lines()
        .filter_map(|line| line.strip_prefix("[[rule]]")?.trim().strip_prefix("# line ")?.parse().ok())
        .collect();
    let key = String::from_utf8(claim.key.to_vec()).expect("ASCII");
    let values =
        key.split(';').skip(1).map(|part| part.split_once('=').expect("a value").1.to_owned()).collect();
    Some((lines[claim.rule], claim.mode == Mode::Shadow, values))
}

#[derive(Clone, Debug)]
struct Tree(Vec<(usize, usize, u8, Tree)>);

const KEYS: [&str; 3] = ["a", "b", "PATH"];
const VALUES: [&str; 7] = ["", "x", "xy", "xyz", "x*", "xy*", "*"];

fn trees() -> impl Strategy<Value = Tree> {
    let node = |below: BoxedStrategy<Tree>| {
        prop::collection::vec((0..KEYS.len(), 0..VALUES.len(), 0..6u8, below), 0..6).prop_map(Tree)
    };
    let leaf = Just(Tree(Vec::new())).boxed();
    node(node(node(leaf).boxed()).boxed())
}

fn write(tree: &Tree, indent: usize, text: &mut String) {
    let pad = " ".repeat(indent);
    let mut seen = HashSet::new();
    for (key, value, kind, below) in &tree.0 {
        if !seen.insert((key, value)) {
            continue;
        }
        let _ = writeln!(text, "{pad}- key: {}\n{pad}  value: \"{}\"", KEYS[*key], VALUES[*value]);
        let limit = "{ unit: hour, requests_per_unit: 5 }";
        let _ = match kind {
            0 => Ok(()),
            1 => writeln!(text, "{pad}  rate_limit: {{ unlimited: true }}"),
            2 => writeln!(text, "{pad}  shadow_mode: true\n{pad}  rate_limit: {limit}"),
            3 if VALUES[*value].ends_with('*') => {
                writeln!(text, "{pad}  share_threshold: true\n{pad}  rate_limit: {limit}")
            }
            _ => writeln!(text, "{pad}  rate_limit: {limit}"),
        };
        if !below.0.is_empty() {
            let _ = writeln!(text, "{pad}  descriptors:");
            write(below, indent + 4, text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn rules_say_what_the_tree_says(
        tree in trees(),
        requests in prop::collection::vec(
            prop::collection::vec((0..KEYS.len(), prop::sample::select(vec!["", "x", "xy", "xyz", "xyzw", "w"])), 1..4),
            40,
        ),
    ) {
        let mut text = "domain: d\ndescriptors:\n".to_owned();
        write(&tree, 2, &mut text);
        let config: Config = config::read(&yaml::read(&text).expect("YAML")).expect("a configuration");
        let written = imported(&text).expect("rules");
        let rules = Rules::parse(&written).unwrap_or_else(|error| panic!("{error}\n{text}\n{written}"));
        for request in requests {
            let entries: Vec<_> = request.iter().map(|(key, value)| (KEYS[*key], *value)).collect();
            let expected = looked_up(&config.descriptors, &entries);
            prop_assert_eq!(evaluated(&written, &rules, &entries), expected, "{:?}\n{}\n{}", entries, text, written);
        }
    }
}

#[test]
fn a_file_is_written_so_that_people_can_read_it() {
    let text = "
domain: edge
descriptors:
  - key: PATH
    value: /login
    descriptors:
      - key: remote_address
        rate_limit: { unit: minute, requests_per_unit: 5 }
  - key: plan
    value: trial*
    shadow_mode: true
    rate_limit:
      unit: week
      requests_per_unit: 1000
  - key: plan
    rate_limit:
      unlimited: true
";
    let expected = r#"ratecell_rules = 1
attributes = ["domain", "entries", "entry.1", "hits_addend", "plan", "remote_address"]

[[rule]]                               # line 8
name = "edge.path_-login.remote_address-11cf4503"
group = "edge"
match.domain = "edge"
match.entries = "PATH/remote_address"
match."entry.1" = "/login"
key = ["remote_address"]
limit = "fixed_window 5/1m"
cost = { from = "hits_addend", default = 1 }

[[rule]]                               # line 13
name = "edge.plan_trial--98a768b8"
group = "edge"
match.domain = "edge"
match.entries = "plan"
match.plan = "trial*"
key = ["plan"]
limit = "fixed_window 1000/1w offset=3d"
cost = { from = "hits_addend", default = 1 }
mode = "shadow"

[[rule]]                               # line 9
name = "edge.plan_trial-.else-7c9754f7"
group = "edge"
match.domain = "edge"
match.entries = "plan"
match.plan = "trial*"
key = []
limit = "unlimited"

[[rule]]                               # line 17
name = "edge.plan"
group = "edge"
match.domain = "edge"
match.entries = "plan"
key = ["plan"]
limit = "unlimited"
"#;
    assert_eq!(imported(text).expect("rules"), expected);
    assert_eq!(rules(text).len(), 4);
}

#[test]
fn every_unit_is_a_window() {
    for (unit, limit) in [
        ("second", "fixed_window 7/1s"),
        ("MINUTE", "fixed_window 7/1m"),
        ("hour", "fixed_window 7/1h"),
        ("day", "fixed_window 7/1d"),
        ("week", "fixed_window 7/1w offset=3d"),
        ("Month", "fixed_window 7/30d"),
        ("year", "fixed_window 7/365d"),
    ] {
        let text = |requests: u32| {
            format!(
                "domain: d\ndescriptors:\n- key: k\n  rate_limit: {{unit: {unit}, requests_per_unit: {requests}}}\n"
            )
        };
        assert!(imported(&text(7)).expect("rules").contains(&format!("limit = \"{limit}\"")), "{unit}");
        assert!(imported(&text(0)).expect("rules").contains("limit = \"blocked\""), "{unit}");
        rules(&text(u32::MAX));
    }
}

#[test]
fn a_fault_is_an_error_with_its_line() {
    let with = |limit: &str| format!("domain: d\ndescriptors:\n- key: k\n  rate_limit:\n    {limit}\n");
    for (text, line, expected) in [
        ("", 1, "expected"),
        ("descriptors: []", 1, "no `domain`"),
        ("domain: ''", 1, "no `domain`"),
        ("domain: d\ndomain: e", 2, "twice"),
        ("domain: d\n---\ndomain: e", 2, "a second document"),
        ("domain: d\ndescriptors: 7", 2, "expected a list"),
        ("domain: d\ndescriptors:\n- 7", 3, "expected a mapping"),
        ("domain: d\ndescriptors:\n- value: x", 3, "without `key`"),
        ("domain: d\ndescriptors:\n- key: x*", 3, "expected a whole one"),
        ("domain: d\ndescriptors:\n- key: x\n  value: a*b*", 4, "one `*` at most"),
        ("domain: d\ndescriptors:\n- key: x\n- key: y\n- key: x", 5, "as on line 3"),
        ("domain: d\ndescriptors:\n- key: x\n  ratelimit: {}", 4, "unknown field `ratelimit`"),
        ("domain: d\ndescriptors:\n- key: x\n  quota_mode: true", 4, "quota_mode"),
        ("domain: d\ndescriptors:\n- key: x\n  shadow_mode: maybe", 4, "expected true or false"),
        ("domain: d\ndescriptors:\n- key: x\n  value: y\n  share_threshold: true", 5, "ends in `*`"),
        ("domain: [d", 2, "no YAML"),
        ("domain: &a [*a]", 1, "an alias"),
        (&with("unit: fortnight"), 5, "\"fortnight\": expected second, minute"),
        (&with("requests_per_unit: 5"), 5, "without `unit`"),
        (&with("{unit: hour, requests_per_unit: -1}"), 5, "from 0 to 4294967295"),
        (&with("{unit: hour, requests_per_unit: 4294967296}"), 5, "from 0 to 4294967295"),
        (&with("{unit: hour, requests_per_unit: 010}"), 5, "without a 0 before it"),
        (&with("{unit: hour, unlimited: true}"), 5, "expected none"),
        (&with("{unit: hour, replaces: [{name: ''}]}"), 5, "without a name"),
        (&with("{unit: hour, name: n, replaces: [{name: n}]}"), 5, "its own limit"),
    ] {
        let error = imported(text).expect_err(text);
        assert_eq!(error.line, line, "{text}\n{error}");
        assert!(error.message.contains(expected), "{text}\n{error}");
    }
    let deep = "[".repeat(200);
    assert!(imported(&deep).expect_err("too deep").message.contains("deeper"));
    // An alias of aliases is small in the file, and would be large in the rules.
    let mut bomb = "domain: d\ndescriptors:\n- &a0 {key: k, rate_limit: {unit: hour}}\n".to_owned();
    for level in 1..40 {
        let _ = writeln!(
            bomb,
            "- &a{level} {{key: k{level}, descriptors: [*a{}, {{key: z, descriptors: [*a{}]}}]}}",
            level - 1,
            level - 1
        );
    }
    assert!(imported(&bomb).expect_err("too many").message.contains("more than"));
}

#[test]
fn replaces_is_said_by_the_group_or_not_at_all() {
    let beside = "
domain: d
descriptors:
- key: user
  rate_limit: {name: general, unit: minute, requests_per_unit: 5}
- key: user
  value: ann
  rate_limit: {unit: minute, requests_per_unit: 50, replaces: [{name: general}, {name: nobody}]}
";
    let written = imported(beside).expect("rules");
    assert!(
        written.contains("\n# Line 8 is left out: no limit of the domain is called \"nobody\".\n"),
        "{written}"
    );
    let elsewhere = format!(
        "{beside}- key: route\n  rate_limit:\n    unit: minute\n    replaces:\n      - name: general\n"
    );
    let error = imported(&elsewhere).expect_err("another descriptor's");
    assert_eq!(error.line, 13, "{error}");
    let mut import = Import::new().ignoring_replaces();
    import.add(&elsewhere).expect("rules");
    let written = import.finish();
    assert!(written.contains("\n# Line 13 is left out: the limit \"general\" applies, too.\n"), "{written}");
}

#[test]
fn each_file_has_a_domain_of_its_own() {
    let file = "domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: second, requests_per_unit: 1}\n";
    let mut import = Import::new();
    import.add(file).expect("a domain");
    assert_eq!(import.add(file).expect_err("the same").line, 1);
    import.add(&file.replace("domain: d", "domain: e")).expect("another");
    assert_eq!(Rules::parse(import.finish()).expect("rules").len(), 2);
    // Nothing is a file, too.
    assert_eq!(rules("domain: d").len(), 1);
}

#[test]
fn a_file_whose_limits_are_all_hidden_limits_nothing() {
    let hidden = "domain: d\ndescriptors:\n- key: k\n  value: '*'\n- key: k\n  rate_limit: {unit: hour, requests_per_unit: 5}\n";
    assert!(imported(hidden).expect("rules").contains("# Line 5 is left out"));
    assert_eq!(rules(hidden).len(), 1);
}
