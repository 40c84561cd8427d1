//! `ratecell suggest`: what it finds, against what `ratecell replay` counts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::ratecell_with;

/// Requests of 300 calm clients, each once in 150 s, and of one that asks twice in each second of the first half minute
/// of every hour; over three hours.
fn log() -> Vec<u8> {
    let mut log = String::new();
    for second in 0..10_800 {
        for number in 0..2 {
            write(&mut log, second, &format!("10.0.{number}.{}", second % 150));
            if second % 3600 < 30 {
                write(&mut log, second, "192.0.2.1");
            }
        }
    }
    log.into_bytes()
}

fn write(log: &mut String, second: u32, client: &str) {
    let (hour, minute, second) = (10 + second / 3600, second / 60 % 60, second % 60);
    let _ = writeln!(
        log,
        "{client} - - [17/May/2015:{hour}:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"agent\""
    );
}

fn suggest(log: &[u8], options: &[&str]) -> Value {
    let out = ratecell_with(&[&["suggest", "--json"], options].concat(), log).quiet_success();
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

#[test]
fn what_is_suggested_denies_the_greedy_alone() {
    let json = suggest(&log(), &[]);
    assert_eq!(json["wish"], "deny nobody who behaves");
    assert_eq!(json["rates"][0]["most_by"], "192.0.2.1");
    assert_eq!((&json["rates"][2]["p99"], &json["rates"][2]["most"]), (&json!(1), &json!(60)));
    assert_eq!(json["behaves"][3], json!({"window": "1h", "most": 72}));
    // Two thirds of 10,799.5 s, at a whole second.
    assert_eq!(json["cut"], "2015-05-17T11:59:59Z");
    let best = &json["policies"][0];
    assert_eq!(json["suggested"], best["policy"]);
    assert_eq!((&best["holds"], &best["fitted"]["behaving_denied"]), (&json!(true), &json!(0)));
    assert_eq!(best["top_denied"].as_array().unwrap().len(), 1);
    assert_eq!(best["top_denied"][0]["key"], "192.0.2.1");
    // 12 policies: the day is longer than the log.
    assert_eq!(json["policies"].as_array().unwrap().len(), 12);
}

#[test]
fn each_count_is_that_of_a_replay() {
    let log = log();
    for wish in [&["--deny-at-most", "0.1%"][..], &["--protect", "3/s"], &["--deny-nobody"]] {
        let suggested = suggest(&log, wish);
        for policy in suggested["policies"].as_array().unwrap() {
            let text = policy["policy"].as_str().unwrap();
            let replay = ratecell_with(&["replay", "--json", "-p", text], &log).quiet_success();
            let replay: Value = serde_json::from_str(&replay).unwrap();
            let replayed = &replay["policies"][0];
            let sum =
                |field| policy["fitted"][field].as_u64().unwrap() + policy["rest"][field].as_u64().unwrap();
            assert_eq!(replayed["denied"], sum("denied"), "{text}");
            assert_eq!(replay["records"], sum("requests"), "{text}");
            // Of clients that are denied as often, others may be named.
            let most = |report: &Value| {
                let keys = report["top_denied"].as_array().unwrap().iter();
                keys.map(|key| (key["denied"].clone(), key["allowed"].clone())).collect::<Vec<_>>()
            };
            assert_eq!(most(replayed), most(policy), "{text}");
        }
    }
}

#[test]
fn the_text_ends_with_a_policy_and_its_reasons() {
    let log = log();
    let out = ratecell_with(&["suggest", "--deny-at-most", "0.1%"], &log).quiet_success();
    let json = suggest(&log, &["--deny-at-most", "0.1%"]);
    let policy = json["suggested"].as_str().unwrap();
    assert!(out.ends_with(&format!("\nsuggested  {policy}\n")), "{out}");
    assert!(out.contains("\nwish       deny at most 0.1 % of the requests\n"), "{out}");
    let neighbour = json["policies"][0]["neighbour"].as_str().unwrap();
    assert!(out.contains(&format!("; {neighbour}, the next one, would deny too much. Of ")), "{out}");
    let _: ratecell::Policy = policy.parse().unwrap();
}

#[test]
fn the_share_that_is_denied_at_most_is_of_those_that_the_wish_is_for() {
    for (wish, expected) in [
        (&["--deny-nobody"][..], " % of clients that behave are denied, with a confidence of 95 %."),
        (&["--deny-at-most", "0.1%"], " % of all clients are denied, with a confidence of 95 %."),
    ] {
        let out = ratecell_with(&[&["suggest"], wish].concat(), &log()).quiet_success();
        assert!(out.contains(expected), "{out}");
    }
}

#[test]
fn costs_that_no_limit_reaches_are_told() {
    let mut log = String::new();
    for second in 0..60 {
        for request in 0..6 {
            write(&mut log, second, &format!("10.0.0.{}", request % 2));
        }
    }
    let log = log.replace(" 200 5 ", " 200 4000000000 ");
    let run = ratecell_with(&["suggest", "--json", "--cost", "bytes"], log.as_bytes());
    let told = "ratecell: no limit below 2^32 in any of these periods is loose enough: choose another --cost than bytes\n";
    assert_eq!((run.status, &*run.stderr), (Some(0), told));
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&json["suggested"], &json["policies"]), (&Value::Null, &json!([])));
}

#[test]
fn what_nobody_crowds_needs_no_limit() {
    let out = ratecell_with(&["suggest", "--protect", "1000/s"], &log()).quiet_success();
    assert!(out.ends_with(": no limit is needed\n"), "{out}");
}

#[test]
fn where_no_limit_for_each_is_enough_the_next_step_is_told() {
    let mut log = String::new();
    for second in 0..600 {
        (0..5).for_each(|number| {
            write(&mut log, second, &format!("10.{number}.{}.{}", second / 200, second % 200));
        });
    }
    let run = ratecell_with(&["suggest", "--protect", "4/s", "--json"], log.as_bytes());
    let told = "even fixed_window 1/m allows more than what is wished: limit all clients together, by a rule with an empty key";
    assert_eq!((run.status, &*run.stderr), (Some(0), &*format!("ratecell: {told}\n")));
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&json["suggested"], &json["policies"]), (&Value::Null, &json!([])));
}

#[test]
fn a_log_that_shows_no_rate_is_refused() {
    let mut one = String::new();
    (0..60).for_each(|second| write(&mut one, second, "10.0.0.1"));
    let mut second = String::new();
    (0..60).for_each(|client| write(&mut second, 7, &format!("10.0.0.{client}")));
    for (log, options, expected) in [
        (
            &one,
            &[][..],
            "60 requests: all requests are of one client, so that none can be told from others: choose another key, or a log of more clients",
        ),
        (
            &second,
            &[],
            "60 requests: all requests are within three seconds, which shows no rate: give a longer log",
        ),
        (
            &second,
            &["--order", "file"],
            "--order file: expected --order time: what earlier requests suggest is tried on later ones",
        ),
        (
            &one,
            &["--deny-at-most", "0.1"],
            "invalid value '0.1' for '--deny-at-most <PERCENT>': expected a percentage from 0% to 100%, such as 0.1%",
        ),
        (
            &one,
            &["--protect", "fast"],
            "invalid value 'fast' for '--protect <RATE>': expected a rate such as 200/s or 5000/m: ",
        ),
        (
            &one,
            &["--protect", "1/s", "--deny-nobody"],
            "the argument '--protect <RATE>' cannot be used with '--deny-nobody'",
        ),
    ] {
        let error = ratecell_with(&[&["suggest"], options].concat(), log.as_bytes()).error();
        assert!(error.starts_with(&format!("ratecell: {expected}")), "{error}");
    }
    let timeless = "10.0.0.1 - - \"GET / HTTP/1.1\" 200 5\n";
    let error = ratecell_with(&["suggest", "--format", "combined"], timeless.as_bytes()).error();
    let expected =
        "ratecell: standard input: no request to decide: 1 malformed lines; standard input:1: no_time: ";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn a_policy_that_nothing_fits_is_told_by_replay() {
    let run = ratecell_with(&["replay", "--json", "-p", "2/s", "--cost", "bytes"], &log());
    let told = "ratecell: 2/s: denies every request, as each costs more than the 2 units that can pass at once: expected a greater limit, or another --cost than bytes\n";
    assert_eq!((run.status, &*run.stderr), (Some(0), told));
}
