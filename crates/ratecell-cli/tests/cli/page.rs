//! `ratecell replay --report`: the page, against the counts of the same replay.

use serde_json::Value;

use crate::support::{Files, Run, arg, ratecell_with};

/// Requests of three clients over an hour, of which one asks twice as often as it may; its name is no HTML.
fn log() -> Vec<u8> {
    let mut log = String::new();
    for second in 0..3600 {
        let client = match second % 4 {
            0 | 2 => "<b>&",
            1 => "ann",
            _ => "bob",
        };
        log += &format!(
            "{{\"time\":\"2026-01-02T03:{:02}:{:02}Z\",\"client\":\"{client}\",\"status\":200}}\n",
            second / 60,
            second % 60
        );
    }
    log.into_bytes()
}

fn replay(log: &[u8], options: &[&str]) -> (Run, String) {
    let files = Files::new(&[]);
    let page = files.path("page.html");
    let run = ratecell_with(&[&["replay", "--json", "--report", arg(&page)], options].concat(), log);
    let html = std::fs::read_to_string(&page).unwrap_or_default();
    (run, html)
}

/// The cells of each row of all tables, without their markup.
fn rows(html: &str) -> Vec<Vec<String>> {
    let cells = |row: &str| {
        let cells = row.split("<td").skip(1).filter_map(|cell| {
            let (_, cell) = cell.split_once('>')?;
            let text = cell
                .split("</td>")
                .next()?
                .split('<')
                .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
            Some(text.collect::<String>().replace('\u{2009}', ""))
        });
        cells.collect()
    };
    html.split("<tr>").skip(1).map(cells).collect()
}

#[test]
fn the_tables_have_the_counts_of_the_replay() {
    let log = log();
    for options in [
        &["-p", "1/4s burst=3", "-p", "fixed_window 20/1m"][..],
        &["-p", "1/4s burst=3", "--order", "file", "--spread", "together"],
    ] {
        let (run, html) = replay(&log, options);
        let json: Value = serde_json::from_str(&run.quiet_success()).unwrap();
        let rows = rows(&html);
        for policy in json["policies"].as_array().unwrap() {
            let [allowed, denied] = ["allowed", "denied"].map(|field| policy[field].as_u64().unwrap());
            let name = policy["policy"].as_str().unwrap();
            let summary = rows.iter().find(|row| row.first().is_some_and(|cell| cell == name)).unwrap();
            assert_eq!((&*summary[1], &*summary[4]), (&*denied.to_string(), "&lt;b&gt;&amp;"), "{summary:?}");
            // The spans of a course, which follow each other, hold every request.
            let section = html.split("<section><h2>").find(|section| section.starts_with(name)).unwrap();
            let spans = self::rows(section.split("<h3>").next().unwrap());
            let sum = |column: usize| {
                spans
                    .iter()
                    .filter(|row| row.len() == 4)
                    .map(|row| row[column].parse::<u64>().unwrap())
                    .sum::<u64>()
            };
            assert_eq!((sum(1), sum(2), sum(3)), (allowed + denied, allowed, denied), "{name}");
            assert!(denied > 0);
        }
    }
}

#[test]
fn neighbours_have_the_counts_of_their_own_replays() {
    let neighbours = ["1/8s burst=3", "4/8s burst=3", "2/8s burst=1", "2/8s burst=6"];
    let (run, html) = replay(&log(), &["-p", "2/8s burst=3"]);
    run.quiet_success();
    let what_if = html.split("<h3>").find(|part| part.starts_with("What if")).unwrap();
    let shown = rows(what_if);
    let options: Vec<_> = neighbours.iter().flat_map(|policy| ["-p", policy]).collect();
    let (run, _) = replay(&log(), &options);
    let json: Value = serde_json::from_str(&run.quiet_success()).unwrap();
    for policy in json["policies"].as_array().unwrap() {
        let [denied, keys] = ["denied", "keys_denied"].map(|field| policy[field].as_u64().unwrap());
        let name = policy["policy"].as_str().unwrap();
        let found = shown.iter().any(|row| {
            row.len() == 4
                && (&*row[1], &*row[3]) == (&*denied.to_string(), &*keys.to_string())
                && row[0].parse::<ratecell::Policy>().unwrap() == name.parse().unwrap()
        });
        assert!(found, "{name}: {denied} of {keys} clients in {shown:?}");
    }
}

#[test]
fn times_are_those_of_the_log() {
    let line = |offset: &str| {
        format!("203.0.113.7 - - [02/Jan/2026:03:04:05 {offset}] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n")
    };
    let files = Files::new(&[
        ("east.log", line("+0530").as_bytes()),
        ("later.log", line("+0530").as_bytes()),
        ("west.log", line("-0800").as_bytes()),
    ]);
    let [east, later, west, page] =
        ["east.log", "later.log", "west.log", "page.html"].map(|name| files.path(name));
    for (logs, expected) in [
        (
            &[&east][..],
            "From 2026-01-02 03:04:05 to 2026-01-02 03:04:05. Times are those of the log, UTC+05:30.",
        ),
        (&[&east, &later], "Times are those of the log, UTC+05:30."),
        (&[&west], "Times are those of the log, UTC\u{2212}08:00."),
        (&[&east, &west], "From 2026-01-01 21:34:05 to 2026-01-02 11:04:05. Times are in UTC."),
    ] {
        let mut arguments = vec!["replay", "-p", "1/s", "--report", arg(&page)];
        arguments.extend(logs.iter().map(|log| arg(log)));
        ratecell_with(&arguments, b"").quiet_success();
        let html = std::fs::read_to_string(&page).unwrap();
        assert!(html.contains(expected), "{expected} in\n{html}");
    }
}

#[test]
fn a_page_has_the_digest_of_each_file() {
    // As sha256sum has it.
    let line = "{\"time\":\"2026-01-02T03:04:05Z\",\"client\":\"a\"}\n";
    let (run, html) = replay(line.as_bytes(), &["-p", "1/s"]);
    run.quiet_success();
    assert!(html.contains("c92f2e31fccc4f4540d4e19c50b0303362c06d5abd139e57453f5420c4d38add"), "{html}");
}

#[test]
fn the_page_needs_nothing_else_and_runs_nothing() {
    let (run, html) = replay(&log(), &["-p", "1/4s burst=3"]);
    run.quiet_success();
    assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{html}");
    for foreign in ["<script", "<link", "<img", "src=", "href=", "@import", "<b>&"] {
        assert!(!html.contains(foreign), "{foreign} in\n{html}");
    }
    let texts = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!texts.contains("http") && texts.contains("prefers-color-scheme: dark"), "{html}");
    // A bar over the course, a curve, and two time lines.
    assert_eq!(html.matches("<svg ").count() - html.matches("class=\"defs\"").count(), 4);
    assert!(html.contains("at the stamp, in the order of time within a window of 1m"), "{html}");
}

#[test]
fn every_log_has_a_page() {
    let one = |client: &str| {
        format!("{{\"time\":\"2026-01-02T03:04:05Z\",\"client\":\"{client}\",\"status\":200}}\n")
    };
    let many: String = (0..3000).map(|client| one(&format!("c{client}"))).collect();
    for (log, options, expected) in [
        (one("a"), &["-p", "1/s"][..], "1/s denies 0.00 % of the requests, and 0 of 1 clients"),
        (
            one("a"),
            &["-p", "1/s", "--cost", "status"],
            "1/s denies 100.00 % of the requests, and 1 of 1 clients",
        ),
        (many, &["-p", "1/s"], "1/s denies 0.00 % of the requests, and 0 of 3\u{2009}000 clients"),
    ] {
        let (run, html) = replay(log.as_bytes(), options);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        assert!(html.contains(&format!("<h2>{expected}</h2>")), "{expected} in\n{html}");
    }
}

#[test]
fn a_page_counts_exactly_where_the_replay_had_no_room() {
    let request = |at: u32| {
        let (minute, second) = (at / 60, at % 60);
        format!("{{\"time\":\"2026-01-02T03:{minute:02}:{second:02}Z\",\"client\":\"c{}\"}}\n", at % 500)
    };
    let log: String = (0..3000).map(request).collect();
    let (run, html) = replay(log.as_bytes(), &["-p", "1/d", "--max-keys", "16"]);
    assert!(run.stderr.contains("for want of room"), "{}", run.stderr);
    let section = html.split("<section><h2>").nth(1).unwrap();
    assert!(section.contains("No key is erased for want of room here"), "{section}");
    let spans = rows(section.split("<h3>").next().unwrap());
    let allowed = spans.iter().filter(|row| row.len() == 4).map(|row| row[2].parse::<u64>().unwrap());
    assert_eq!(allowed.sum::<u64>(), 500);
}

#[test]
#[cfg(unix)]
fn a_page_names_a_file_whose_name_is_no_unicode() {
    use std::os::unix::ffi::OsStrExt;
    let files = Files::new(&[]);
    let named = files.dir().join(std::ffi::OsStr::from_bytes(b"a\xff.log"));
    std::fs::write(&named, log()).unwrap();
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_ratecell"));
    program.args(["replay", "-p", "1/s", "--report"]).arg(files.path("page.html")).arg(&named);
    let output = program.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let html = std::fs::read_to_string(files.path("page.html")).unwrap();
    assert!(html.contains("a\u{fffd}.log"), "{html}");
}

#[test]
fn a_page_that_cannot_be_written_is_told() {
    let run = ratecell_with(&["replay", "-p", "1/s", "--report", "/no/folder/page.html"], &log());
    let error = run.error();
    assert!(error.starts_with("ratecell: --report /no/folder/page.html: cannot be written: "), "{error}");
    let run = ratecell_with(&["replay", "--rules", "x", "--report", "y"], b"");
    assert!(run.error().contains("cannot be used with"));
}
