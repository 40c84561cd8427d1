//! Bad input: one line that names what was wrong and what was expected, and exit status 2.

use crate::support::{Files, arg, ratecell, ratecell_with};

#[test]
fn bad_arguments() {
    for (args, expected) in [
        ("replay x", "the following required arguments were not provided: --policy <POLICY>"),
        (
            "replay x --policy 10",
            "invalid value '10' for '--policy <POLICY>': syntax at column 1: `10`: expected LIMIT/PERIOD, such as 100/s or 5000/1h",
        ),
        (
            "check k --policy 0/s",
            "invalid value '0/s' for '--policy <POLICY>': zero_limit at column 1: limit is 0: expected 1 to 4294967295",
        ),
        (
            "replay x -p 1/s --key name",
            "invalid value 'name' for '--key <KEY>': expected ip, user, method, path, agent, host, field:N or regex:RE",
        ),
        (
            "replay x -p 1/s --key field:0",
            "invalid value 'field:0' for '--key <KEY>': field `0`: expected a whole number from 1",
        ),
        (
            "replay x -p 1/s --key regex:a(b",
            "invalid value 'regex:a(b' for '--key <KEY>': regex `a(b`: unclosed group",
        ),
        ("replay x -p 1/s --time 4", "invalid value '4' for '--time <WHERE>': expected field:N or regex:RE"),
        (
            "replay x -p 1/s --time-format unix",
            "the following required arguments were not provided: --time <WHERE>",
        ),
        (
            "replay x -p 1/s --time field:1 --time-format iso",
            "invalid value 'iso' for '--time-format <FORMAT>': expected rfc3339, unix, unix_ms, unix_ns or a strptime pattern with %",
        ),
        ("replay x -p 1/s --top -1", "unexpected argument '-1' found"),
        ("check -p 1/s", "the following required arguments were not provided: <KEY>"),
        ("check -p 1/s --times 0 k", "invalid value '0' for '--times <N>': 0 is not in 1..=4294967295"),
        ("vectors", "the following required arguments were not provided: <DIR>"),
        ("vektors", "unrecognized subcommand 'vektors'"),
    ] {
        let args: Vec<_> = args.split(' ').collect();
        assert_eq!(ratecell(&args).error(), format!("ratecell: {expected}"), "{args:?}");
    }
}

#[test]
fn no_arguments_show_the_help_as_an_error() {
    let run = ratecell(&[]);
    assert_eq!((run.status, &*run.stdout), (Some(2), ""));
    assert!(run.stderr.contains("Usage: ratecell <COMMAND>"), "{}", run.stderr);
}

#[test]
fn the_help_that_was_asked_for_is_no_error() {
    let out = ratecell(&["vectors", "--help"]).quiet_success();
    assert!(out.contains("Each decision row and each construct row counts once"), "{out}");
}

#[test]
fn a_log_that_cannot_be_read() {
    let files = Files::new(&[]);
    let missing = files.path("missing.log");
    let line = ratecell(&["replay", arg(&missing), "-p", "1/s"]).error();
    let expected = format!("ratecell: {}: cannot be read, expected a log file: ", missing.display());
    assert!(line.starts_with(&expected), "{line}");

    let line = ratecell(&["replay", arg(files.dir()), "-p", "1/s"]).error();
    assert_eq!(line, format!("ratecell: {}: is a directory, expected a log file", files.dir().display()));
}

#[test]
fn a_log_without_a_record() {
    let line = ratecell(&["replay", "-p", "1/s"]).error();
    assert_eq!(
        line,
        "ratecell: standard input: no record: it is empty; expected an access log, or --key and --time to read another"
    );

    let run = ratecell_with(&["replay", "-", "-p", "1/s", "--json"], b"a b c\n\n");
    assert_eq!((run.status, &*run.stdout), (Some(2), ""));
    let lines: Vec<_> = run.stderr.lines().collect();
    assert_eq!(
        lines,
        [
            "ratecell: standard input:1: no [time]: expected the common or combined log format: a b c",
            "ratecell: standard input:2: no [time]: expected the common or combined log format: ",
            "ratecell: standard input: no record: all 2 lines are malformed; expected an access log, or --key and --time to read another",
        ]
    );
}

#[test]
fn a_table_without_room() {
    let line = ratecell(&["replay", "-p", "1/s", "--max-keys", "0"]).error();
    assert_eq!(line, "ratecell: --max-keys: max_keys is 0: expected at least 1");
}
