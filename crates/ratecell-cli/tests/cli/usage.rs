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
            "replay x -p 1/s --key client+",
            "invalid value 'client+' for '--key <KEY>': expected a field such as client, user or path, header:NAME, a /json/pointer, or several of them joined by +",
        ),
        (
            "replay x -p 1/s --format clf",
            "invalid value 'clf' for '--format <FORMAT>': `clf` is no format: expected combined, vhost_combined, json, traefik, caddy, envoy, haproxy, s3, alb, w3c, nginx:LOG_FORMAT or apache:LOGFORMAT, and perhaps syslog+, docker+ or cri+ before it",
        ),
        (
            "replay x -p 1/s --format nginx:$status",
            "invalid value 'nginx:$status' for '--format <FORMAT>': no_time: no field has a time, as $time_local, $time_iso8601, $msec and %t have",
        ),
        (
            "replay x -p 1/s --format apache:%t%h%u",
            "invalid value 'apache:%t%h%u' for '--format <FORMAT>': adjacent: two fields with nothing between them cannot be told apart",
        ),
        (
            "replay x -p 1/s --zone CET",
            "invalid value 'CET' for '--zone <ZONE>': `CET`: expected +hh:mm or +hhmm, also with -, Z, UTC, or seconds east of UTC such as 3600 or -18000",
        ),
        (
            "replay x -p 1/s --zone +01:60",
            "invalid value '+01:60' for '--zone <ZONE>': `+01:60`: expected +hh:mm or +hhmm, also with -, Z, UTC, or seconds east of UTC such as 3600 or -18000",
        ),
        (
            "replay x -p 1/s --window 60",
            "invalid value '60' for '--window <TIME>': expected a time such as 60s, 5m or 0s",
        ),
        (
            "replay x -p 1/s --cost bytes/0",
            "invalid value 'bytes/0' for '--cost <COST>': `bytes/0`: expected a number below 2^32, a field such as bytes, or bytes/1024",
        ),
        (
            "replay x -p 1/s --where status",
            "invalid value 'status' for '--where <FILTER>': `status`: expected a field, =, !=, ^=, < or >, and a value, such as status=4xx or path^=/api",
        ),
        (
            "replay x -p 1/s --where status>=400",
            "invalid value 'status>=400' for '--where <FILTER>': `status>=400`: `=400` is no whole number, as < and > need",
        ),
        (
            "replay x -p 1/s --where status!=4XX",
            "invalid value 'status!=4XX' for '--where <FILTER>': `status!=4XX`: `4XX` is no status: expected one such as 404, or a class, 1xx to 9xx",
        ),
        (
            "replay x -p 1/s --pointer who=/a",
            "--pointer: `who` is no field: expected one of time, client, user, request, method, target, protocol, status, bytes, host, referer, agent, x_forwarded_for",
        ),
        ("replay x -p 1/s --pointer client=a", "--pointer: `a`: expected a JSON pointer such as /a/b"),
        ("replay x -p 1/s --top -1", "unexpected argument '-1' found"),
        ("check -p 1/s", "the following required arguments were not provided: <KEY>"),
        ("check -p 1/s --times 0 k", "invalid value '0' for '--times <N>': 0 is not in 1..=4294967295"),
        ("vectors", "the following required arguments were not provided: <FILE|DIR>..."),
        ("vektors", "unrecognized subcommand 'vektors'"),
    ] {
        let args: Vec<_> = args.split(' ').collect();
        assert_eq!(ratecell(&args).error(), format!("ratecell: {expected}"), "{args:?}");
    }
}

#[test]
fn an_argument_with_line_ends_keeps_the_reason_on_one_line() {
    for (args, expected) in [
        (
            &["replay", "x", "-p", "1/s", "--window", "a\n\nb\x1b[2J"][..],
            "invalid value 'a\\n\\nb\\u{1b}[2J' for '--window <TIME>': expected a time such as 60s, 5m or 0s",
        ),
        (
            &["replay", "x", "-p", "1/s", "--where", "\n\nstatus"],
            "invalid value '\\n\\nstatus' for '--where <FILTER>': `\\n\\nstatus`: expected a field, =, !=, ^=, < or >, and a value, such as status=4xx or path^=/api",
        ),
        (&["vek\n\ntors"], "unrecognized subcommand 'vek\\n\\ntors'"),
        (&["check", "-p", "1/s", "k", "a\n\nb"], "unexpected argument 'a\\n\\nb' found"),
        (&["replay", "-p", "1/s", "--a\n\nb"], "unexpected argument '--a\\n\\nb' found"),
        (
            &["replay", "x", "-p", "1/s", "--at", "no\n\nw"],
            "invalid value 'no\\n\\nw' for '--at <AT>' [possible values: stamp, arrival]",
        ),
        (
            &["replay", "x", "-p", "1/s", "--pointer", "w\n\nho=/a"],
            "--pointer: `w\\n\\nho` is no field: expected one of time, client, user, request, method, target, protocol, status, bytes, host, referer, agent, x_forwarded_for",
        ),
    ] {
        assert_eq!(ratecell(args).error(), format!("ratecell: {expected}"), "{args:?}");
    }
    let line = ratecell(&["replay", "/no\n\nlog", "-p", "1/s"]).error();
    assert!(line.starts_with("ratecell: /no\\n\\nlog: cannot be read, expected a log file: "), "{line}");
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
    assert!(out.contains("Each row counts once, as passed or failed"), "{out}");
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
fn a_log_without_a_request() {
    let line = ratecell(&["replay", "-p", "1/s"]).error();
    assert_eq!(line, "ratecell: standard input: no request to decide: no lines");

    let line = ratecell_with(&["replay", "-", "-p", "1/s", "--json"], b"a b c\n\n").error();
    assert_eq!(
        line,
        "ratecell: standard input: no known format reads any of its first 1 lines: give one with --format"
    );

    let args = ["replay", "-p", "1/s", "--format", "combined"];
    let line = ratecell_with(&args, b"a b c\n\x1b[2J\n").error();
    assert_eq!(
        line,
        "ratecell: standard input: no request to decide: 2 malformed lines; standard input:1: no_time: no time: a b c"
    );

    for options in [&[][..], &["--format", "combined"], &["--format", "w3c"]] {
        let args = [&["replay", "-p", "1/s"], options].concat();
        let line = ratecell_with(&args, b"\xEF\xBB\xBF#Version: 1.0\n\n #x\r\n").error();
        assert_eq!(line, "ratecell: standard input: no request to decide: no lines but comments");
        let line = ratecell_with(&args, b"\n \t\r\n").error();
        assert_eq!(line, "ratecell: standard input: no request to decide: no lines");
    }

    let log = b"a - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5\n";
    let args = ["replay", "-p", "1/s", "--where", "status=404"];
    let line = ratecell_with(&args, log).error();
    assert_eq!(line, "ratecell: standard input: no request to decide: 1 records that --where leaves out");
    let line = ratecell_with(&["replay", "-p", "1/s", "--key", "header:x-key"], log).error();
    assert_eq!(line, "ratecell: standard input: no request to decide: 1 records without the --key");
}

#[test]
fn standard_input_is_read_once() {
    let line = ratecell(&["replay", "-", "x", "-", "-p", "1/s"]).error();
    assert_eq!(line, "ratecell: `-` is given twice: expected standard input at most once");
}

#[test]
fn what_is_packed_otherwise_is_named() {
    for (mark, name) in [
        (&b"\xFD7zXZ\0\0\x04"[..], "xz"),
        (b"\x28\xB5\x2F\xFD\x04\x58", "zstd"),
        (b"BZh91AY&SY", "bzip2"),
        (b"BZh9\x17\x72\x45\x38\x50\x90", "bzip2"),
        (b"PK\x03\x04\x14\0", "zip"),
    ] {
        let line = ratecell_with(&["replay", "-p", "1/s", "--format", "combined"], mark).error();
        assert_eq!(line, format!("ratecell: standard input: is {name}: only gzip is read"));
    }
}

#[test]
fn a_pointer_without_a_format_says_which_one() {
    let log = b"{\"when\":\"2015-05-17T10:05:03Z\"}\n";
    let line = ratecell_with(&["replay", "-p", "1/s", "--pointer", "time=/when"], log).error();
    assert_eq!(
        line,
        "ratecell: standard input: no known format reads any of its first 1 lines: give --format json, which reads by --pointer"
    );
    let mixed = [&log[..], b"{\"time\":\"2015-05-17T10:05:03Z\",\"status\":200}\n"].concat();
    let line = ratecell_with(&["replay", "-p", "1/s", "--pointer", "time=/when"], &mixed).error();
    assert!(line.ends_with(" 50 %: give --format json, which reads by --pointer"), "{line}");
}

#[test]
fn a_time_without_an_offset_ends_the_run() {
    let log = b"a - - [17/May/2015:10:05:03] \"GET / HTTP/1.1\" 200 5\n";
    let line = ratecell_with(&["replay", "-p", "1/s"], log).error();
    assert_eq!(
        line,
        "ratecell: standard input:1: the time has no offset from UTC: give its zone with --zone, such as --zone +01:00"
    );
    for zone in ["+01:30", "+0130", "5400"] {
        let out = ratecell_with(&["replay", "-p", "1/s", "--zone", zone], log).quiet_success();
        assert!(out.contains("first      2015-05-17T08:35:03Z"), "{out}");
        assert!(out.contains("zone       +01:30 where a time has no offset\n"), "{out}");
        let json = ratecell_with(&["replay", "-p", "1/s", "--json", "--zone", zone], log).quiet_success();
        assert!(json.contains(r#""zone":"+01:30""#), "{json}");
    }
    let out = ratecell_with(&["replay", "-p", "1/s", "--zone", "-01:30"], log).quiet_success();
    assert!(out.contains("first      2015-05-17T11:35:03Z"), "{out}");
}

#[test]
fn a_table_without_room() {
    let line = ratecell(&["replay", "-p", "1/s", "--max-keys", "0"]).error();
    assert_eq!(line, "ratecell: --max-keys: max_keys is 0: expected at least 1");
}
