//! `ratecell replay`: the formats it reads.

use serde_json::{Value, json};

use crate::support::{Files, Run, arg, ratecell, ratecell_with};

const COMMON: &str = r#"1.2.3.4 - ann [10/Oct/2000:13:55:36 -0700] "GET /a.gif?x=1 HTTP/1.0" 200 2326"#;
const COMBINED: &str =
    r#"::1 - - [10/Oct/2000:13:55:37 -0700] "POST /b HTTP/1.1" 304 - "http://e.org/" "Mozilla/5.0 (\"x\")""#;
const VHOST: &str =
    r#"e.org:443 5.6.7.8 - bob lee [10/Oct/2000:13:55:38 -0700] "PUT /c HTTP/2.0" 404 0 "-" "curl/8""#;

/// Each line twice, so that one per day denies each key once; returns records, malformed and the keys.
fn keys(log: &[u8], options: &[&str]) -> (u64, u64, Vec<String>) {
    let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    let twice: Vec<u8> = lines.iter().flat_map(|line| [*line, *line].concat()).collect();
    let run = ratecell_with(&[&["replay", "-", "-p", "1/1d", "--json"], options].concat(), &twice);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let json = parse(&run);
    let keys = json["policies"][0]["top_denied"].as_array().unwrap().iter();
    let keys = keys.map(|key| key["key"].as_str().unwrap().to_owned()).collect();
    (json["records"].as_u64().unwrap() / 2, json["malformed"].as_u64().unwrap() / 2, keys)
}

fn parse(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

#[test]
fn each_field_of_each_access_log_format() {
    let log = [COMMON, COMBINED, VHOST, ""].join("\n");
    for (key, malformed, expected) in [
        ("ip", 0, vec!["1.2.3.4", "5.6.7.8", "::1"]),
        ("user", 0, vec!["-", "ann", "bob lee"]),
        ("method", 0, vec!["GET", "POST", "PUT"]),
        ("path", 0, vec!["/a.gif", "/b", "/c"]),
        ("agent", 1, vec![r#"Mozilla/5.0 (\"x\")"#, "curl/8"]),
        ("host", 2, vec!["e.org"]),
    ] {
        let (records, got_malformed, keys) = keys(log.as_bytes(), &["--key", key]);
        assert_eq!((records, got_malformed), (3 - malformed, malformed), "{key}");
        assert_eq!(keys, expected, "{key}");
    }
}

#[test]
fn offsets_count() {
    let run = ratecell_with(&["replay", "-p", "1/s", "--json"], COMMON.as_bytes());
    assert_eq!(parse(&run)["first"], "2000-10-10T20:55:36Z");
}

#[test]
fn a_file_and_standard_input_are_read_alike() {
    let log = [COMMON, COMBINED, VHOST].join("\r\n");
    let files = Files::new(&[("access.log", log.as_bytes())]);
    let path = files.path("access.log");
    let of_file = ratecell(&["replay", arg(&path), "-p", "1/m"]);
    assert_eq!(of_file.status, Some(0));
    assert_eq!(ratecell_with(&["replay", "-", "-p", "1/m"], log.as_bytes()), of_file);
    assert_eq!(ratecell_with(&["replay", "-p", "1/m"], log.as_bytes()), of_file);
}

#[test]
fn malformed_lines_are_counted_and_the_first_shown() {
    let mut log = Vec::new();
    for line in [
        b"garbage".as_slice(),
        COMMON.as_bytes(),
        b"1.2.3.4 - - [31/Feb/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1",
        b"1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP",
        b"1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" OK 1",
        b"",
        b"\xff\x1b[31m\xfe",
        b"[10/Oct/2000:13:55:36 -0700]",
        COMBINED.as_bytes(),
    ] {
        log.extend_from_slice(line);
        log.push(b'\n');
    }
    let run = ratecell_with(&["replay", "-p", "1/s", "--json"], &log);
    let json = parse(&run);
    assert_eq!((&json["records"], &json["malformed"]), (&json!(2), &json!(7)));
    let lines: Vec<_> = run.stderr.lines().collect();
    assert_eq!(
        lines,
        [
            "ratecell: standard input:1: no [time]: expected the common or combined log format: garbage",
            "ratecell: standard input:3: the [time] is not as in 17/May/2015:10:05:03 +0000: 1.2.3.4 - - [31/Feb/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1",
            "ratecell: standard input:4: the \"request\" is not closed: 1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP",
            "ratecell: standard input:5: expected the status and the bytes after the \"request\": 1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" OK 1",
            "ratecell: standard input:6: no [time]: expected the common or combined log format: ",
            "ratecell: standard input: 7 malformed lines, the first 5 are above",
        ]
    );
}

#[test]
fn bytes_that_are_not_utf_8_are_keys_too_and_do_no_harm_to_a_terminal() {
    let line = |client: &[u8]| [client, &COMMON.as_bytes()[7..], b"\n"].concat();
    let log = [line(b"\xff"), line(b"\xfe"), line(b"\xff"), line(b"\x1b[2J")].concat();
    let run = ratecell_with(&["replay", "-p", "1/1d", "--json"], &log);
    let policy = &parse(&run)["policies"][0];
    assert_eq!((&policy["keys"], &policy["denied"]), (&json!(3), &json!(1)));
    assert_eq!(policy["top_denied"][0]["key"], "\u{fffd}");

    let twice = [log.clone(), log].concat();
    let out = ratecell_with(&["replay", "-p", "1/1d"], &twice).quiet_success();
    assert!(out.contains("\u{fffd}[2J") && !out.contains('\x1b'), "{out}");
}

#[test]
fn any_text_by_fields_and_patterns() {
    let log = b"1431857103.5 \"the client\" [id=7] x\n1431857104 \"other\" [id=8] y\nno time at all\n";
    let unix = ["--time", "field:1", "--time-format", "unix"];
    for (key, expected) in [
        ("field:2", ["other", "the client"]),
        ("field:3", ["id=7", "id=8"]),
        (r"regex:id=(\d+)", ["7", "8"]),
        (r"regex:id=\d+", ["id=7", "id=8"]),
    ] {
        assert_eq!(
            keys(log, &[&["--key", key], &unix[..]].concat()),
            (2, 1, expected.map(str::to_owned).to_vec()),
            "{key}"
        );
    }
    let run =
        ratecell_with(&[&["replay", "-p", "1/s", "--json", "--key", "field:2"], &unix[..]].concat(), log);
    let json = parse(&run);
    assert_eq!(
        (&json["first"], &json["last"]),
        (&json!("2015-05-17T10:05:03.5Z"), &json!("2015-05-17T10:05:04Z"))
    );
}

#[test]
fn any_time_by_its_format() {
    for (format, text) in [
        ("rfc3339", "2015-05-17T12:05:03+02:00"),
        ("unix", "1431857103"),
        ("unix_ms", "1431857103000"),
        ("unix_ns", "1431857103000000000"),
        ("%Y%m%d%H%M%S", "20150517100503"),
        ("%d/%b/%Y:%H:%M:%S %z", "[17/May/2015:10:05:03 +0000]"),
    ] {
        let args = [
            "replay",
            "-p",
            "1/s",
            "--json",
            "--key",
            "field:1",
            "--time",
            "field:2",
            "--time-format",
            format,
        ];
        let run = ratecell_with(&args, format!("key {text}").as_bytes());
        assert_eq!(parse(&run)["first"], "2015-05-17T10:05:03Z", "{format}");
    }
    let line = "at=2015-05-17T10:05:03Z by=me";
    let args = ["replay", "-p", "1/s", "--json", "--key", "regex:by=(.*)", "--time", r"regex:at=(\S+)"];
    assert_eq!(parse(&ratecell_with(&args, line.as_bytes()))["records"], 1);
}

#[test]
fn a_line_without_an_end_is_cut_and_the_next_one_is_whole() {
    let long = format!("{COMBINED} {}\n{COMMON}\n", "x".repeat(200_000));
    let run = ratecell_with(&["replay", "-p", "1/s", "--json"], long.as_bytes());
    let json = parse(&run);
    assert_eq!((&json["records"], &json["malformed"]), (&json!(2), &json!(0)));
    assert_eq!(json["policies"][0]["keys"], 2);
}
