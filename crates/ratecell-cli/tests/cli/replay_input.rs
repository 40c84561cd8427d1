//! `ratecell replay`: which lines of which files it reads.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::{Files, Run, arg, ratecell, ratecell_with};

const COMMON: &str = r#"1.2.3.4 - ann [10/Oct/2000:13:55:36 -0700] "GET /a.gif?x=1 HTTP/1.0" 200 2326"#;
const COMBINED: &str =
    r#"::1 - - [10/Oct/2000:13:55:37 -0700] "POST /b HTTP/1.1" 304 - "http://e.org/" "Mozilla/5.0 (\"x\")""#;
const VHOST: &str =
    r#"e.org:443 5.6.7.8 - bob lee [10/Oct/2000:13:55:38 -0700] "PUT /c HTTP/2.0" 404 0 "-" "curl/8""#;

fn parse(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

/// The report of a log by `-p 1/1d --json` and more options.
fn replay(log: &[u8], options: &[&str]) -> Value {
    let run = ratecell_with(&[&["replay", "-", "-p", "1/1d", "--json"], options].concat(), log);
    assert_eq!((run.status, &*run.stderr), (Some(0), ""));
    parse(&run)
}

/// The keys of a log: each line is there twice, and one a day passes.
fn keys(log: &[u8], options: &[&str]) -> Vec<String> {
    let lines = log.split_inclusive(|byte| *byte == b'\n');
    let twice: Vec<u8> = lines.flat_map(|line| [line, line].concat()).collect();
    let json = replay(&twice, options);
    let keys = json["policies"][0]["top_denied"].as_array().unwrap().iter();
    keys.map(|key| key["key"].as_str().unwrap().to_owned()).collect()
}

fn sample_logs() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/edges/samples");
    let mut logs: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.sort();
    logs
}

#[test]
fn each_sample_is_recognised_and_read_as_a_whole() {
    let logs = sample_logs();
    assert_eq!(logs.len(), 18);
    for log in logs {
        let name = log.file_stem().unwrap().to_str().unwrap();
        let format = match name {
            "combined_extra" | "common" => "combined",
            "cloudfront" | "iis" => "w3c",
            "cri" | "docker" | "syslog" => &format!("{name}+combined"),
            "envoy_json" | "nginx_iso" | "nginx_msec" => "json",
            name => name,
        };
        // HAProxy writes no offset.
        let run = ratecell(&["replay", arg(&log), "-p", "1/s", "--json", "--zone", "0"]);
        assert_eq!((run.status, &*run.stderr), (Some(0), ""), "{name}");
        let json = parse(&run);
        assert_eq!(json["files"][0]["format"], format, "{name}");
        assert!(json["records"].as_u64().unwrap() >= 40, "{name}: {json}");
        assert_eq!((&json["malformed"], &json["no_key"]), (&json!(0), &json!(0)), "{name}");
    }
}

#[test]
fn each_field_is_a_key() {
    let log = [COMMON, COMBINED, ""].join("\n");
    for (key, expected) in [
        ("client", vec!["1.2.3.4", "::/64"]),
        ("user", vec!["ann"]),
        ("method", vec!["GET", "POST"]),
        ("path", vec!["/a.gif", "/b"]),
        ("target", vec!["/a.gif?x=1", "/b"]),
        ("agent", vec![r#"Mozilla/5.0 ("x")"#]),
        ("header:referer", vec!["http://e.org/"]),
        ("client+path", vec!["1.2.3.4|/a.gif", "::/64|/b"]),
    ] {
        assert_eq!(keys(log.as_bytes(), &["--key", key]), expected, "{key}");
    }
    assert_eq!(keys(format!("{VHOST}\n").as_bytes(), &["--key", "host"]), ["e.org"]);
    let json = r#"{"time":"2026-01-02T03:04:05Z","status":200,"client":"10.0.0.1","tenant":{"id":7}}"#;
    assert_eq!(keys(format!("{json}\n").as_bytes(), &["--key", "/tenant/id"]), ["7"]);
}

#[test]
fn one_client_is_one_key() {
    let log: String = ["203.0.113.7", "::ffff:203.0.113.7", "2001:db8::1", "2001:db8::2:1", "unix:"]
        .iter()
        .map(|client| format!("{client}{}\n", &COMMON[7..]))
        .collect();
    let policy = &replay(log.as_bytes(), &[])["policies"][0];
    assert_eq!((&policy["keys"], &policy["denied"]), (&json!(3), &json!(2)));
    let denied = policy["top_denied"].as_array().unwrap().iter().map(|key| &key["key"]);
    assert_eq!(denied.collect::<Vec<_>>(), ["2001:db8::/64", "203.0.113.7"]);
}

#[test]
fn costs_and_filters() {
    let log = [COMMON, COMBINED, ""].join("\n");
    let run = |options: &[&str]| {
        let args = [&["replay", "-p", "fixed_window 3/1d", "--json"], options].concat();
        let json = parse(&ratecell_with(&args, log.as_bytes()));
        (json["records"].clone(), json["filtered"].clone(), json["policies"][0]["denied"].clone())
    };
    assert_eq!(run(&["--cost", "4"]), (json!(2), json!(0), json!(2)));
    // 2326 bytes are three KiB, and no bytes are a look.
    assert_eq!(run(&["--cost", "bytes/1024"]), (json!(2), json!(0), json!(0)));
    assert_eq!(run(&["--cost", "bytes/500"]), (json!(2), json!(0), json!(1)));
    assert_eq!(run(&["--cost", "4", "--where", "status=3xx"]), (json!(1), json!(1), json!(1)));
    assert_eq!(run(&["--where", "path^=/", "--where", "bytes>2000"]), (json!(1), json!(1), json!(0)));
    let json = replay(log.as_bytes(), &["--key", "user"]);
    assert_eq!((&json["records"], &json["no_key"]), (&json!(1), &json!(1)));
}

#[test]
fn a_record_without_a_cost_is_counted_and_none_with_one_is_an_error() {
    let json = r#"{"time":"2026-01-02T03:04:05Z","status":200,"client":"10.0.0.1""#;
    let log = format!("{json},\"bytes\":7}}\n{json}}}\n{json}}}\n");
    let warning = "2 of 3 records have no number for --cost bytes/2 and were decided at no cost";
    let run = ratecell_with(&["replay", "-p", "1/1d", "--cost", "bytes/2", "--json"], log.as_bytes());
    assert_eq!((run.status, &*run.stderr), (Some(0), &*format!("ratecell: {warning}\n")));
    assert_eq!((&parse(&run)["records"], &parse(&run)["no_cost"]), (&json!(3), &json!(2)));
    let run = ratecell_with(&["replay", "-p", "1/1d", "--cost", "bytes/2"], log.as_bytes());
    assert!(run.stdout.contains("no cost    2\n"), "{}", run.stdout);
    assert!(run.stdout.contains(&format!("warning: {warning}")), "{}", run.stdout);

    for cost in ["byte", "client", "path/2"] {
        let line = ratecell_with(&["replay", "-p", "1/1d", "--cost", cost], log.as_bytes()).error();
        assert_eq!(line, format!("ratecell: --cost {cost}: none of 3 requests has a number in that field"));
    }
    assert_eq!(replay(log.as_bytes(), &["--cost", "0"])["no_cost"], 0);
}

#[test]
fn the_report_states_what_was_asked() {
    let log = [COMMON, COMBINED, ""].join("\n");
    let asked =
        ["--key", "client+path", "--cost", "status/400", "--where", "status!=4xx", "--where", "path^=/"];
    let assumed = &replay(log.as_bytes(), &asked)["assumed"];
    assert_eq!((&assumed["key"], &assumed["cost"]), (&json!("client+path"), &json!("status/400")));
    assert_eq!(assumed["where"], json!(["status!=4xx", "path^=/"]));
    let out =
        ratecell_with(&[&["replay", "-p", "1/1d"], &asked[..]].concat(), log.as_bytes()).quiet_success();
    for line in
        ["key        client+path\n", "cost       status/400\n", "where      status!=4xx and path^=/\n"]
    {
        assert!(out.contains(line), "{line} in\n{out}");
    }
    let assumed = &replay(log.as_bytes(), &[])["assumed"];
    assert_eq!(
        (&assumed["key"], &assumed["cost"], &assumed["where"]),
        (&json!("client"), &json!("1"), &json!([]))
    );
}

#[test]
fn offsets_count() {
    assert_eq!(replay(COMMON.as_bytes(), &[])["first"], "2000-10-10T20:55:36Z");
}

#[test]
fn files_standard_input_and_gzip_are_read_alike() {
    let log = [COMMON, COMBINED].join("\r\n");
    // Two members, which end within a line.
    let zip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zipped = [zip(&log.as_bytes()[..100]), zip(&log.as_bytes()[100..])].concat();
    let files = Files::new(&[("access.log", log.as_bytes()), ("no-name", &zipped)]);
    let of_standard_input = replay(log.as_bytes(), &[]);
    assert_eq!(of_standard_input["records"], 2);
    assert_eq!(replay(&zipped, &[]), of_standard_input);
    for name in ["access.log", "no-name"] {
        let path = files.path(name);
        let mut json = parse(&ratecell(&["replay", arg(&path), "-p", "1/1d", "--json"]));
        assert_eq!(json["files"][0]["name"], arg(&path));
        json["files"][0]["name"] = json!("standard input");
        assert_eq!(json, of_standard_input, "{name}");
    }
}

#[test]
fn a_damaged_archive_is_an_error() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(format!("{COMMON}\n").repeat(100_000).as_bytes()).unwrap();
    let zipped = encoder.finish().unwrap();
    let run = ratecell_with(&["replay", "-p", "1/s"], &zipped[..zipped.len() - 100]);
    assert!(run.error().starts_with("ratecell: standard input: cannot be read after line "));
}

#[test]
fn several_files_are_read_oldest_first() {
    let line = |day: u32, client: &str| {
        format!("{client} - - [{day:02}/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.0\" 200 5\n")
    };
    let files = Files::new(&[
        ("access.log", line(12, "a").as_bytes()),
        ("access.log.1", format!("{}{}", line(11, "a"), line(12, "a")).as_bytes()),
        ("access.log.2", line(10, "a").as_bytes()),
        ("access.log.3", b"# empty\n"),
        ("other.log", b"{\"ts\":\"2000-10-11T00:00:00Z\",\"client\":\"a\",\"status\":200}\n"),
    ]);
    let names = ["access.log", "access.log.1", "access.log.2", "access.log.3", "other.log"];
    let paths = names.map(|name| files.path(name));
    let args: Vec<_> = ["replay", "-p", "fixed_window 1/1d", "--json", "--order", "file"]
        .into_iter()
        .chain(paths.iter().map(|path| arg(path)))
        .collect();
    let run = ratecell(&args);
    assert_eq!((run.status, &*run.stderr), (Some(0), ""));
    let json = parse(&run);
    assert_eq!(json["files"][0]["skipped"], json!({"comment": 1}));
    let read = json["files"].as_array().unwrap().iter().map(|file| {
        let name = file["name"].as_str().unwrap().rsplit('/').next().unwrap();
        (
            name.to_owned(),
            file["format"].as_str().unwrap_or("none").to_owned(),
            file["records"].as_u64().unwrap(),
        )
    });
    let expected = [
        ("access.log.3", "none", 0),
        ("access.log.2", "combined", 1),
        ("other.log", "json", 1),
        ("access.log.1", "combined", 2),
        ("access.log", "combined", 1),
    ];
    assert_eq!(
        read.collect::<Vec<_>>(),
        expected.map(|(name, format, count)| (name.into(), format.into(), count))
    );
    // In another order a day would be read after the next one, whose window it is then charged to.
    assert_eq!(json["policies"][0]["denied"], 2);
}

#[test]
fn malformed_and_skipped_lines_are_counted_and_the_first_shown() {
    let mut log = [b"\xEF\xBB\xBF", format!("{COMMON}\n").repeat(20).as_bytes()].concat();
    for line in [
        b"garbage".as_slice(),
        b"# comment",
        b"1.2.3.4 - - [31/Feb/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1",
        b"",
        b" \t",
        b"1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP",
        b"\xff\x1b[31m\xfe",
    ] {
        log.extend_from_slice(line);
        log.push(b'\n');
    }
    let json = replay(&log, &[]);
    assert_eq!((&json["records"], &json["malformed"], &json["skipped"]), (&json!(20), &json!(4), &json!(3)));
    let file = &json["files"][0];
    assert_eq!(file["malformed"], json!({"bad_time": 1, "no_time": 2, "request": 1}));
    assert_eq!(file["skipped"], json!({"blank": 2, "comment": 1}));
    let first = file["first_malformed"].as_array().unwrap();
    let lines: Vec<_> = first.iter().map(|line| (&line["line"], &line["reason"])).collect();
    assert_eq!(
        lines,
        [(&json!(21), &json!("no_time")), (&json!(23), &json!("bad_time")), (&json!(26), &json!("request"))]
    );

    let out = ratecell_with(&["replay", "-p", "1/s"], &log).quiet_success();
    for expected in [
        "malformed  4\n",
        "skipped    3\n",
        "           malformed: 1 bad_time, 2 no_time, 1 request\n",
        "           skipped: 2 blank, 1 comment\n",
        "           line 21: no_time: no time: garbage\n",
        "           line 23: bad_time: the time is impossible or in no known form: 1.2.3.4 - - [31/Feb/2000",
    ] {
        assert!(out.contains(expected), "{expected} in\n{out}");
    }
}

#[test]
fn a_format_that_nothing_recognises_is_an_error_that_names_the_best() {
    let log = [COMMON, "x", "y", ""].join("\n");
    assert_eq!(
        ratecell_with(&["replay", "-p", "1/s"], log.as_bytes()).error(),
        "ratecell: standard input: its format is not recognised: the best one, combined, reads 1 of 3 lines, 33 %: give one with --format"
    );
    let run = ratecell_with(&["replay", "-p", "1/s", "--json", "--format", "combined"], log.as_bytes());
    assert_eq!((&parse(&run)["records"], &parse(&run)["malformed"]), (&json!(1), &json!(2)));
    assert_eq!(run.stderr, "ratecell: standard input: combined reads only 1 of the first 3 lines\n");
}

#[test]
fn a_format_of_the_user_s_own() {
    let log = b"1431857103.500|10.0.0.1|GET /a HTTP/1.1|k=v\n1431857104.000|10.0.0.2|GET /b HTTP/1.1|-\n";
    let nginx = ["--format", "nginx:$msec|$remote_addr|$request|$http_x_key"];
    let json = replay(log, &nginx);
    assert_eq!((&json["records"], &json["first"]), (&json!(2), &json!("2015-05-17T10:05:03.5Z")));
    assert_eq!(keys(log, &[&nginx[..], &["--key", "header:X-Key"]].concat()), ["k=v"]);
    assert_eq!(keys(log, &[&nginx[..], &["--key", "path"]].concat()), ["/a", "/b"]);
    let apache = ["--format", "apache:%{msec}t|%a|%r|%{X-Key}i"];
    assert_eq!(keys(log, &[&apache[..], &["--key", "client"]].concat()), ["10.0.0.1", "10.0.0.2"]);
    let wrapped = format!("Jan  2 03:04:00 web1 app: {COMMON}\n");
    assert_eq!(keys(wrapped.as_bytes(), &["--format", "syslog+combined"]), ["1.2.3.4"]);
}

#[test]
fn where_a_field_of_json_is_can_be_said() {
    let log =
        br#"{"time":"2026-01-02T03:04:05Z","client":"10.0.0.1","peer":{"address":"10.0.0.2"},"status":200}
"#;
    assert_eq!(keys(log, &[]), ["10.0.0.1"]);
    assert_eq!(keys(log, &["--pointer", "client=/peer/address"]), ["10.0.0.2"]);
}

#[test]
fn bytes_that_are_not_utf_8_are_keys_too_and_do_no_harm_to_a_terminal() {
    let line =
        |path: &[u8]| [b"a - - [10/Oct/2000:13:55:36 -0700] \"GET /", path, b" HTTP/1.0\" 200 1\n"].concat();
    let log = [line(b"\xff"), line(b"\xfe"), line(b"\xff"), line(b"\x1b[2J")].concat();
    let policy = &replay(&log, &["--key", "path"])["policies"][0];
    assert_eq!((&policy["keys"], &policy["denied"]), (&json!(3), &json!(1)));
    assert_eq!(policy["top_denied"][0]["key"], "/\u{fffd}");

    let twice = [log.clone(), log].concat();
    let out = ratecell_with(&["replay", "-p", "1/1d", "--key", "path"], &twice).quiet_success();
    assert!(out.contains("\u{fffd}[2J") && !out.contains('\x1b'), "{out}");
}

#[test]
fn a_line_that_is_too_long_is_none_and_the_next_one_is_whole() {
    let long = |len: usize| format!("{COMBINED} {}\n", "x".repeat(len));
    let log =
        [long(200_000), format!("{COMMON}\n"), long(3 << 20), format!("{COMMON}\n").repeat(20)].concat();
    let json = replay(log.as_bytes(), &[]);
    assert_eq!((&json["records"], &json["malformed"]), (&json!(22), &json!(1)));
    assert_eq!(json["files"][0]["malformed"], json!({"too_long": 1}));
    assert_eq!(json["policies"][0]["keys"], 2);
}

/// The greatest resident memory in KiB of a replay that has read so many lines: a hundred a second, of a thousand clients.
#[cfg(target_os = "linux")]
fn peak_kib(lines: u32) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ratecell"))
        .args(["replay", "-", "-p", "10/s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut log = String::new();
    for line in 0..lines {
        let (second, client) = (line / 100, line % 1_000);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let (first, last) = (client / 250, client % 250);
        writeln!(
            log,
            "10.0.{first}.{last} - - [17/May/2015:{hour:02}:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" 200 5"
        )
        .unwrap();
        if log.len() > 1 << 16 {
            input.write_all(log.as_bytes()).unwrap();
            log.clear();
        }
    }
    input.write_all(log.as_bytes()).unwrap();
    // It waits for more: of all that was written no more is unread than a pipe holds.
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A log twenty times as long takes no more memory: the shorter one fills the window, too.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_log() {
    let (short, long) = (peak_kib(20_000), peak_kib(400_000));
    assert!(long <= short * 3 / 2 + 4_096, "{short} KiB, then {long} KiB");
}
