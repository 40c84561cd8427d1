//! `ratecell vectors`.

use std::path::Path;

use crate::support::{Files, Run, arg, ratecell};

const HEADER: &str = r#"{"ratecell_vectors":1,"kind":"basic","seed":1,"columns":["now_ns","key","cost","code","remaining","retry_ns","reset_ns","delay_ns"]}"#;

/// Two sections and three construct rows, all right.
const GOOD: [&str; 13] = [
    HEADER,
    r#"{"section":"gcra","policy":{"algorithm":"gcra","limit":2,"period_ns":1000,"burst":2},"resolved":{"emission_num":500,"emission_den":1,"exact":true,"capacity":2}}"#,
    r#"[0,"a",1,1,1,0,500]"#,
    r#"[0,"a",1,1,0,0,1000]"#,
    r#"[0,"a",1,0,0,500,1000,0]"#,
    r#"[0,"b",3,2,2,null,0]"#,
    r#"{"section":"multi","policy":{"algorithm":"multi","layers":[{"algorithm":"leaky_queue","leak":1,"period_ns":1000,"queue":1},{"algorithm":"sliding_window","limit":5,"window_ns":60000000000,"strict":true}]},"resolved":{"layers":[{"capacity":2},{"count_bits":3}],"capacity":2,"cell_bits":128}}"#,
    r#"[0,"a",1,1,1,0,120000000000]"#,
    r#"[0,"a",1,1,0,0,120000000000,1000]"#,
    "",
    r#"{"policy":{"algorithm":"gcra","limit":0,"period_ns":1000},"error":"zero_limit"}"#,
    r#"{"policy":{"algorithm":"multi","layers":[]},"error":"bad_layers"}"#,
    r#"{"policy":{"algorithm":"fixed_window","start":"first","limit":6,"window_ns":60000000000},"resolved":{"count_bits":3,"quantum_ns":1}}"#,
];

/// Runs the good vectors with `replacement` for the text of one line (counted from 1).
fn run_with(line: usize, replacement: &str) -> (Run, String) {
    let mut lines = GOOD;
    lines[line - 1] = replacement;
    let files = Files::new(&[("good.jsonl", lines.join("\n").as_bytes()), ("README.md", b"no vectors")]);
    let path = files.path("good.jsonl");
    (ratecell(&["vectors", arg(files.dir())]), path.display().to_string())
}

#[test]
fn good_vectors_pass() {
    let out = run_with(1, HEADER).0.quiet_success();
    let lines: Vec<_> = out.lines().collect();
    let row: Vec<_> = lines[lines.len() - 2].split_whitespace().collect();
    assert_eq!(row, ["good.jsonl", "2", "9", "9", "0"]);
    assert_eq!(lines.last(), Some(&"9 passed, 0 failed"));
}

#[test]
fn a_changed_figure_fails_and_is_named() {
    let got = "got code 1 remaining 1 retry_ns 0 reset_ns 500 delay_ns 0";
    for (line, changed, passed, expected) in [
        (
            3,
            r#"[0,"a",1,1,1,0,501]"#,
            8,
            format!("section gcra: row [0,\"a\",1,1,1,0,501]: expected code 1 remaining 1 retry_ns 0 reset_ns 501 delay_ns 0, {got}"),
        ),
        (
            3,
            r#"[0,"a",1,1,1,null,500,7]"#,
            8,
            format!("section gcra: row [0,\"a\",1,1,1,null,500,7]: expected code 1 remaining 1 retry_ns null reset_ns 500 delay_ns 7, {got}"),
        ),
        (
            2,
            r#"{"section":"gcra","policy":{"algorithm":"gcra","limit":2,"period_ns":1000,"burst":2},"resolved":{"capacity":3,"exact":true,"quantum_ns":9}}"#,
            9,
            "section gcra: resolved.capacity expected 3, got 2, resolved.quantum_ns expected 9, got null".to_owned(),
        ),
        (
            7,
            r#"{"section":"multi","policy":{"algorithm":"leaky_queue","leak":0,"period_ns":1,"queue":1}}"#,
            7,
            "section multi: expected a policy, got error zero_limit".to_owned(),
        ),
        (
            11,
            r#"{"policy":{"algorithm":"gcra","limit":1,"period_ns":0},"error":"zero_limit"}"#,
            8,
            r#"policy {"algorithm":"gcra","limit":1,"period_ns":0}: expected error zero_limit, got error zero_period"#.to_owned(),
        ),
        (
            11,
            r#"{"policy":{"algorithm":"gcra","limit":1,"period_ns":1000},"error":"zero_limit"}"#,
            8,
            r#"policy {"algorithm":"gcra","limit":1,"period_ns":1000}: expected error zero_limit, got the policy 1/us"#.to_owned(),
        ),
        (
            13,
            r#"{"policy":{"algorithm":"gcra","limit":1,"period_ns":0},"resolved":{}}"#,
            8,
            r#"policy {"algorithm":"gcra","limit":1,"period_ns":0}: expected a policy, got error zero_period"#.to_owned(),
        ),
    ] {
        let (run, path) = run_with(line, changed);
        assert_eq!((run.status, &*run.stderr), (Some(1), ""), "{changed}");
        let lines: Vec<_> = run.stdout.lines().collect();
        assert_eq!(lines[0], format!("{path}:{line}: {expected}"));
        let failed = lines.iter().filter(|line| line.starts_with(&path)).count();
        assert_eq!(lines.last().unwrap(), &format!("{passed} passed, {failed} failed"), "{changed}");
    }
}

/// The first line of a file of policies as text.
const GRAMMAR: &str = r#"{"ratecell_vectors":3,"kind":"grammar","columns":["text"]}"#;

#[test]
fn a_policy_that_is_read_otherwise_fails_and_is_named() {
    let right = [
        GRAMMAR,
        r#"{"text":"2 per min","canonical":"2/m","policy":{"algorithm":"gcra","limit":2,"period_ns":60000000000}}"#,
        r#"{"text":"1k/s","error":"syntax","column":1,"message":"limit is `1k`: write 1000"}"#,
    ];
    let run = |lines: &[&str]| {
        let files = Files::new(&[("grammar.jsonl", lines.join("\n").as_bytes())]);
        (ratecell(&["vectors", arg(files.dir())]), files.path("grammar.jsonl").display().to_string())
    };
    let out = run(&right).0.quiet_success();
    assert!(out.ends_with("\n2 passed, 0 failed\n"), "{out}");

    let explained = "syntax at column 1: limit is `1k`: write 1000";
    for (line, changed, expected) in [
        (
            2,
            r#"{"text":"2 per min","canonical":"2/1m","policy":{"algorithm":"gcra","limit":2,"period_ns":60000000000}}"#,
            "expected 2/1m, got 2/m".to_owned(),
        ),
        (
            2,
            r#"{"text":"2 per min","canonical":"2/m","policy":{"algorithm":"gcra","limit":2,"period_ns":60000000001}}"#,
            "expected 2/60000000001ns, got 2/m".to_owned(),
        ),
        (
            2,
            r#"{"text":"1k/s","canonical":"1000/s","policy":{"algorithm":"gcra","limit":1000,"period_ns":1000000000}}"#,
            format!("expected 1000/s, got {explained}"),
        ),
        (
            3,
            r#"{"text":"1k/s","error":"range","column":1,"message":"limit is `1k`: write 1000"}"#,
            format!("expected range at column 1: limit is `1k`: write 1000, got {explained}"),
        ),
        (
            3,
            r#"{"text":"2/m","error":"syntax","column":1,"message":"no"}"#,
            "expected syntax at column 1: no, got 2/m".to_owned(),
        ),
    ] {
        let mut lines = right;
        lines[line - 1] = changed;
        let (run, path) = run(&lines);
        assert_eq!((run.status, &*run.stderr), (Some(1), ""), "{changed}");
        assert_eq!(run.stdout.lines().next(), Some(&*format!("{path}:{line}: row {changed}: {expected}")));
        assert!(run.stdout.ends_with("\n1 passed, 1 failed\n"), "{}", run.stdout);
    }

    let (wrong, path) = run(&[GRAMMAR, r#"{"text":"2/m"}"#]);
    let error = wrong.error();
    let expected = format!("ratecell: {path}:2: expected a text and what it is read as, or its error: ");
    assert!(error.starts_with(&expected), "{error}");
    let (unknown, path) = run(&[&GRAMMAR.replace('3', "4"), right[1]]);
    let expected = format!("{path}:1: kind grammar of version 4 is not known, none of its rows was run");
    assert_eq!((unknown.status, unknown.stdout.lines().next()), (Some(1), Some(&*expected)));
}

#[test]
fn many_failures_are_counted() {
    let mut text = GOOD[..2].join("\n");
    for _ in 0..30 {
        text += "\n[0,\"a\",0,0,0,0,0]";
    }
    let files = Files::new(&[("bad.jsonl", text.as_bytes())]);
    let run = ratecell(&["vectors", arg(files.dir())]);
    let shown = run.stdout.lines().filter(|line| line.contains("expected code 0")).count();
    assert_eq!((run.status, shown), (Some(1), 20));
    assert!(run.stdout.contains("\n30 failures in all, the first 20 are above\n"), "{}", run.stdout);
    assert!(run.stdout.ends_with("\n0 passed, 30 failed\n"), "{}", run.stdout);
}

#[test]
fn keys_without_room_are_a_failure() {
    let mut text = GOOD[..2].join("\n");
    for key in 0..200_000 {
        text += &format!("\n[0,\"{key}\",1,1,1,0,500]");
    }
    let files = Files::new(&[("crowd.jsonl", text.as_bytes())]);
    let run = ratecell(&["vectors", arg(files.dir())]);
    assert_eq!(run.status, Some(1));
    assert!(run.stdout.contains("crowd.jsonl:2: section gcra: expected room for every key, got "));
    assert!(run.stdout.ends_with("\n200000 passed, 1 failed\n"), "{}", run.stdout);
}

#[test]
fn what_is_not_vectors_is_an_error() {
    let not_a_row = "not a row, expected the columns of the first line: ";
    for (line, text, expected) in [
        (1, "{}", "not a file of vectors, expected {\"ratecell_vectors\":1,...}: missing field"),
        (
            1,
            r#"{"ratecell_vectors":1,"columns":[]}"#,
            "not a file of vectors, expected {\"ratecell_vectors\":1,...}: missing field `kind`",
        ),
        (
            1,
            r#"{"ratecell_vectors":1,"kind":"basic","columns":["now"]}"#,
            "columns are now, expected now_ns key cost code remaining retry_ns reset_ns delay_ns",
        ),
        (2, r#"[0,"a",1,1,1,0,500]"#, "a row before the first section"),
        (3, r#"[-1,"a",1,1,1,0,500]"#, not_a_row),
        (3, r#"[0,"a",1,1,1,0]"#, not_a_row),
        (3, r#"[0,"a",1,1,1,0,0,0,0]"#, not_a_row),
        (3, r#"[18446744073709551616,"a",1,1,1,0,500]"#, not_a_row),
        (
            11,
            r#"{"policy":{}}"#,
            "expected a section, or a policy with either its error or its resolved form",
        ),
        (
            11,
            r#"{"policy":{},"eror":"range"}"#,
            "expected a row, a section or a construct row: unknown field",
        ),
        (11, "nonsense", "expected a row, a section or a construct row: "),
    ] {
        let (run, path) = run_with(line, text);
        let error = run.error();
        assert!(error.starts_with(&format!("ratecell: {path}:{line}: {expected}")), "{error}");
        assert!(!error.contains("line 1 "), "{error}");
    }
}

#[test]
fn a_kind_that_is_not_known_is_named_and_fails() {
    let unknown = r#"{"ratecell_vectors":3,"kind":"weather","seed":7,"columns":["event"]}
[1]"#;
    let good = GOOD.join("\n");
    let files = Files::new(&[("good.jsonl", good.as_bytes()), ("weather.jsonl", unknown.as_bytes())]);
    let path = files.path("weather.jsonl");
    for args in [vec![arg(files.dir())], vec![arg(&files.path("good.jsonl")), arg(&path)]] {
        let run = ratecell(&[&["vectors"], &*args].concat());
        assert_eq!((run.status, &*run.stderr), (Some(1), ""));
        let first = run.stdout.lines().next();
        let expected =
            format!("{}:1: kind weather of version 3 is not known, none of its rows was run", path.display());
        assert_eq!(first, Some(&*expected));
        assert!(run.stdout.ends_with("\n9 passed, 1 failed\n"), "{}", run.stdout);
    }
}

#[test]
fn a_changed_answer_about_logs_fails_and_is_named() {
    let line = r#""line":"1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5""#;
    let nginx = r#""nginx":"$msec $status""#;
    for (kind, row, expected) in [
        ("logs", format!(r#"{{"format":"combined",{line},"skip":"blank"}}"#), "skip: expected \"blank\", got nothing; record: expected nothing, got {"),
        ("logs", format!(r#"{{"format":"s3",{line},"malformed":"quote"}}"#), r#"malformed: expected "quote", got "fields""#),
        ("logs_compile", format!(r#"{{{nginx},"error":"adjacent"}}"#), r#"error: expected "adjacent", got nothing; parts: "#),
        ("logs_files", r#"{"file":"x\n","detected":"combined","read":0,"tried":1}"#.to_owned(), r#"detected: expected "combined", got null"#),
        ("logs_times", r#"{"times":[5,3],"window_ns":1,"digits":9,"spread":"even","order":[0,1],"times_out":[3,5],"late":0}"#.to_owned(), "order: expected [0,1], got [1,0]"),
    ] {
        let text = format!("{{\"ratecell_vectors\":3,\"kind\":\"{kind}\",\"seed\":1,\"columns\":[]}}\n{row}\n");
        let files = Files::new(&[("logs.jsonl", text.as_bytes())]);
        let path = files.path("logs.jsonl");
        let run = ratecell(&["vectors", arg(&path)]);
        let told = format!("{}:2: row {row}: {expected}", path.display());
        assert!(run.stdout.starts_with(&told), "{told}\n{}", run.stdout);
        assert!(run.stdout.ends_with("\n0 passed, 1 failed\n"), "{}", run.stdout);
    }
}

#[test]
fn a_directory_without_vectors_is_an_error() {
    let files = Files::new(&[("README.md", b"no vectors")]);
    let dir = files.dir().display();
    assert_eq!(
        ratecell(&["vectors", arg(files.dir())]).error(),
        format!("ratecell: {dir}: no vectors, expected .jsonl files")
    );
    let line = ratecell(&["vectors", arg(&files.path("missing"))]).error();
    let expected = format!("ratecell: {dir}/missing: cannot be read, expected vectors: ");
    assert!(line.starts_with(&expected), "{line}");
}

#[test]
fn the_published_vectors_pass() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let out = ratecell(&["vectors", arg(&dir)]).quiet_success();
    let last = out.lines().last().unwrap();
    let passed = last.strip_suffix(" passed, 0 failed").unwrap_or_else(|| panic!("{out}"));
    assert!(passed.parse::<u64>().unwrap() > 100_000, "{last}");
    let out = ratecell(&["vectors", arg(&dir.join("edges"))]).quiet_success();
    assert!(out.ends_with("\n22112 passed, 0 failed\n"), "{out}");
    let out = ratecell(&["vectors", arg(&dir.join("callers"))]).quiet_success();
    assert!(out.ends_with("\n5370 passed, 0 failed\n"), "{out}");
    let out = ratecell(&["vectors", arg(&dir.join("rules"))]).quiet_success();
    assert!(out.ends_with("\n9783 passed, 0 failed\n"), "{out}");
}
