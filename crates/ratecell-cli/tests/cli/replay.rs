//! `ratecell replay`: the counts, against counts made here from the definitions of the policies.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::ratecell_with;

/// A record of 17 May 2015: seconds since midnight UTC, and the client.
type Record = (i64, &'static str);

/// 16 May 2015, 00:00 UTC: the day before the records.
const EPOCH_DAY: i64 = 86_400;

fn line((second, client): Record) -> String {
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{client} - - [17/May/2015:{hour:02}:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"agent\"\n"
    )
}

fn log(records: &[Record]) -> Vec<u8> {
    records.iter().map(|record| line(*record)).collect::<String>().into_bytes()
}

/// Bursts of several clients over ten minutes, whose times step back by up to two minutes.
fn disordered() -> Vec<Record> {
    const CLIENTS: [&str; 5] = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "unix:", "example.org"];
    let mut state = 1_u32;
    let mut draw = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let record = |i: i64| {
        let client = CLIENTS[(draw(5) * draw(5) / 4) as usize];
        let back = if draw(20) == 0 { draw(120) } else { 0 };
        (36_000 + i / 4 - i64::from(back), client)
    };
    (0..2400).map(record).collect()
}

/// Allowed and denied, by client.
type Counts = BTreeMap<&'static str, (u64, u64)>;

fn count(records: &[Record], mut allows: impl FnMut(i64, &'static str) -> bool) -> Counts {
    let mut counts = Counts::new();
    for (second, client) in records {
        let (allowed, denied) = counts.entry(client).or_default();
        *(if allows(EPOCH_DAY + second, client) { allowed } else { denied }) += 1;
    }
    counts
}

/// fixed_window LIMIT/1m: a clock behind a window counts as in it.
fn fixed_window(records: &[Record], limit: u64) -> Counts {
    let mut windows: BTreeMap<_, (i64, u64)> = BTreeMap::new();
    count(records, |now, client| {
        let (window, used) = windows.entry(client).or_default();
        if now / 60 > *window {
            (*window, *used) = (now / 60, 0);
        }
        let allowed = *used < limit;
        *used += u64::from(allowed);
        allowed
    })
}

/// gcra 1/PERIODs burst=BURST.
fn gcra(records: &[Record], period: i64, burst: i64) -> Counts {
    let mut tats: BTreeMap<_, i64> = BTreeMap::new();
    count(records, |now, client| {
        let tat = tats.entry(client).or_default();
        let next = now.max(*tat) + period;
        let allowed = next - now <= burst * period;
        if allowed {
            *tat = next;
        }
        allowed
    })
}

fn policy_json(policy: &str, counts: &Counts, top: usize) -> Value {
    let mut denied: Vec<_> = counts.iter().filter(|(_, (_, denied))| *denied > 0).collect();
    denied.sort_by_key(|(client, (_, denied))| (u64::MAX - denied, **client));
    let keys = denied
        .iter()
        .take(top)
        .map(|(client, (allowed, denied))| json!({"key": client, "denied": denied, "allowed": allowed}));
    json!({
        "policy": policy,
        "allowed": counts.values().map(|(allowed, _)| allowed).sum::<u64>(),
        "denied": counts.values().map(|(_, denied)| denied).sum::<u64>(),
        "keys": counts.len(),
        "keys_denied": denied.len(),
        "top_denied": keys.collect::<Vec<_>>(),
    })
}

/// A policy's report without what compares it with other assumptions.
fn without_others(policy: &Value) -> Value {
    let mut policy = policy.clone();
    let fields = policy.as_object_mut().unwrap();
    for other in ["other_denied", "differ", "differ_share", "together_denied"] {
        fields.remove(other).unwrap();
    }
    policy
}

const FILE_ORDER: [&str; 4] = ["--order", "file", "--spread", "together"];
const TIME_ORDER: [&str; 4] = ["--window", "2m", "--spread", "together"];

#[test]
fn the_json_is_exactly_the_counts() {
    let records = disordered();
    let mut sorted = records.clone();
    sorted.sort_by_key(|(second, _)| *second);
    let log = log(&records);
    for (options, records, other) in [(FILE_ORDER, &records, &sorted), (TIME_ORDER, &sorted, &records)] {
        let args = ["replay", "--policy", "fixed_window 30/60s", "--policy", "gcra 1/3s burst=9"];
        let args = [&args[..], &["--json", "--top", "2"], &options].concat();
        let json = json(&ratecell_with(&args, &log).quiet_success());
        let policies: Vec<_> = json["policies"].as_array().unwrap().iter().map(without_others).collect();
        let (window, gcra) = (fixed_window(records, 30), gcra(records, 3, 9));
        assert_eq!(
            policies,
            [policy_json("fixed_window 30/m", &window, 2), policy_json("1/3s burst=9", &gcra, 2)]
        );
        assert!(denied(&window) > 0 && denied(&gcra) > 0);
        assert_eq!((&json["records"], &json["malformed"]), (&json!(2400), &json!(0)));
        assert_eq!(
            (&json["first"], &json["last"]),
            (&json!(rfc3339(sorted[0].0)), &json!(rfc3339(sorted[2399].0)))
        );
        // With an even spread the other assumption of the first is another one.
        if options == TIME_ORDER {
            assert_eq!(json["policies"][0]["other_denied"], denied(&fixed_window(other, 30)));
            assert_eq!(json["other"], "--order file --spread together");
        }
    }
}

fn denied(counts: &Counts) -> u64 {
    counts.values().map(|(_, denied)| denied).sum()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn rfc3339(second: i64) -> String {
    format!("2015-05-17T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// The words of each line of a table.
fn rows(out: &str) -> BTreeSet<String> {
    out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_tables_show_the_same_counts() {
    let records = disordered();
    let counts = fixed_window(&records, 30);
    let args = [&["replay", "--policy", "fixed_window 30/1m"][..], &FILE_ORDER].concat();
    let out = ratecell_with(&args, &log(&records)).quiet_success();
    let lines = rows(&out);
    for (client, (allowed, denied)) in &counts {
        let percent = 100.0 * *denied as f64 / (allowed + denied) as f64;
        let row = format!("{client} {denied} {allowed} {percent:.2}");
        assert_eq!(lines.contains(&row), *denied > 0, "{row} in\n{out}");
    }
    assert!(lines.contains("records 2400"), "{out}");
}

/// A line of the Common format, with the fraction of its second.
fn stamped(client: &str, stamp: &str) -> String {
    format!("{client} - - [17/May/2015:{stamp} +0000] \"GET / HTTP/1.1\" 200 5\n")
}

#[test]
fn what_ends_late_is_decided_at_its_stamp() {
    // A record a second, and each two of them have changed places: only their order denies any.
    let records: Vec<Record> = (0..60).map(|i| (36_000 + (i ^ 1), "client")).collect();
    let args = ["replay", "-p", "1/s", "--json"];
    let json = json(&ratecell_with(&args, &log(&records)).quiet_success());
    let policy = &json["policies"][0];
    assert_eq!(
        (&policy["denied"], &policy["other_denied"], &policy["differ"]),
        (&json!(0), &json!(30), &json!(30))
    );
    assert_eq!(policy["differ_share"], 0.5);
    let assumed = &json["assumed"];
    assert_eq!(
        (&assumed["order"], &assumed["window_s"], &assumed["late"]),
        (&json!("time"), &json!(60.0), &json!(0))
    );
    assert_eq!((&assumed["spread"], &assumed["at"]), (&json!("even"), &json!("stamp")));
    assert_eq!(assumed["sharing"], 0);
}

#[test]
fn those_of_one_second_are_spread_over_it() {
    // Ten calm requests a second, in a log without fractions.
    let log: String = (0..50).map(|i| stamped("a", &format!("10:05:{:02}", i / 10))).collect();
    let run = |options: &[&str]| {
        let args =
            [&["replay", "-p", "10/s burst=5", "-p", "fixed_window 50/1h", "--json"], options].concat();
        json(&ratecell_with(&args, log.as_bytes()).quiet_success())
    };
    let even = run(&[]);
    let [quick, slow] = [&even["policies"][0], &even["policies"][1]];
    assert_eq!((&quick["denied"], &quick["together_denied"]), (&json!(0), &json!(25)));
    // Within an hour it makes no difference when in the second they came.
    assert_eq!((&slow["denied"], &slow["together_denied"]), (&json!(0), &Value::Null));
    assert_eq!(
        (&even["assumed"]["sharing"], &even["files"][0]["resolution_ns"]),
        (&json!(50), &json!(1_000_000_000))
    );

    let together = run(&["--spread", "together"]);
    assert_eq!(together["policies"][0]["denied"], 25);
    assert_eq!(together["policies"][0]["together_denied"], Value::Null);
    assert_eq!(together["other"], "--order file --spread together");
    let file = run(&FILE_ORDER);
    assert_eq!(
        (&file["policies"][0]["denied"], &file["policies"][0]["other_denied"]),
        (&json!(25), &json!(0))
    );
    assert_eq!(
        (&file["other"], &file["assumed"]["window_s"]),
        (&json!("--order time --spread even"), &Value::Null)
    );
}

/// In the order of the file only neighbours can be spread over their stamp.
#[test]
fn what_shares_a_stamp_is_told_in_the_order_of_its_decisions() {
    let log: String = (0..8).map(|i| stamped("a", &format!("10:05:0{}", i % 2))).collect();
    for (options, expected) in [
        (&[][..], "8 records share their stamp with another"),
        (&FILE_ORDER[..], "8 records share their stamp with another"),
        (&FILE_ORDER[..2], "0 records share their stamp with the record before or after it"),
    ] {
        let args = [&["replay", "-p", "fixed_window 30/1h"][..], options].concat();
        let out = ratecell_with(&args, log.as_bytes()).quiet_success();
        let shared = out.lines().find_map(|line| line.strip_prefix("shared     "));
        assert_eq!(shared, Some(expected), "{options:?}");
    }
}

#[test]
fn stamps_with_fractions_are_spread_over_less() {
    // Three in a millisecond, and 1/s of them passes: the second of a pair 1 ms later never does.
    let log =
        [stamped("a", "10:05:00.000"), stamped("a", "10:05:00.000"), stamped("a", "10:05:00.500")].concat();
    let args = ["replay", "-p", "1/400us", "--json"];
    let json = json(&ratecell_with(&args, log.as_bytes()).quiet_success());
    assert_eq!(json["files"][0]["resolution_ns"], 1_000_000);
    assert_eq!(
        (&json["policies"][0]["denied"], &json["policies"][0]["together_denied"]),
        (&json!(0), &json!(1))
    );
}

#[test]
fn a_window_that_is_too_small_is_told_and_the_one_that_is_enough_works() {
    let log = [
        stamped("a", "10:10:00"),
        stamped("a", "10:08:20"),
        stamped("a", "10:12:00"),
        stamped("a", "10:08:30"),
    ]
    .concat();
    let args = ["replay", "-p", "1/s", "--json"];
    let run = ratecell_with(&args, log.as_bytes());
    assert_eq!(
        run.stderr,
        "ratecell: 1 of 4 records came too late for the window and were decided later than their stamps: --window 3m 30s would have been enough\n"
    );
    assert_eq!(json(&run.stdout)["assumed"]["enough_window_s"], 210.0);
    let enough = [&args[..], &["--window", "3m 30s"]].concat();
    assert_eq!(json(&ratecell_with(&enough, log.as_bytes()).quiet_success())["assumed"]["late"], 0);
}

#[test]
fn arrival_is_earlier_by_the_duration() {
    // Both came at 03:04:05, and one took ten seconds.
    let line = |ms: u32, second: u32| {
        format!(
            r#"{{"time":"2026-01-02T03:04:{second:02}.000Z","client":"a","status":200,"request_time":"{}.{:03}"}}"#,
            ms / 1000,
            ms % 1000
        ) + "\n"
    };
    let log = line(0, 5) + &line(10_000, 15);
    let args = ["replay", "-p", "1/s", "--json"];
    assert_eq!(json(&ratecell_with(&args, log.as_bytes()).quiet_success())["policies"][0]["denied"], 0);
    let args = [&args[..], &["--at", "arrival"]].concat();
    let json = json(&ratecell_with(&args, log.as_bytes()).quiet_success());
    assert_eq!((&json["last"], &json["assumed"]["at"]), (&json!("2026-01-02T03:04:05Z"), &json!("arrival")));
}

#[test]
fn the_order_of_the_files_says_how_far_it_steps_back() {
    let log =
        ["10:10:00", "10:08:20", "10:12:00", "10:08:30", "10:12:00"].map(|time| stamped("a", time)).concat();
    for spread in ["even", "together"] {
        let args = ["replay", "-p", "1/s", "--order", "file", "--spread", spread];
        let run = |options: &[&str], log: &str| {
            ratecell_with(&[&args[..], options].concat(), log.as_bytes()).quiet_success()
        };
        let out = run(&[], &log);
        assert!(out.contains("\n           times step back by up to 3m 30s\n"), "{out}");
        assert_eq!(json(&run(&["--json"], &log))["assumed"]["step_back_s"], 210.0);
        let in_order = stamped("a", "10:10:00") + &stamped("a", "10:10:00");
        assert!(!run(&[], &in_order).contains("step back"));
        assert_eq!(json(&run(&["--json"], &in_order))["assumed"]["step_back_s"], 0.0);
    }
    let args = ["replay", "-p", "1/s", "--window", "1h", "--json"];
    let json = json(&ratecell_with(&args, log.as_bytes()).quiet_success());
    assert_eq!(json["assumed"]["step_back_s"], Value::Null);
}

#[test]
fn an_arrival_that_is_not_known_is_told() {
    let line =
        |rest: &str| format!(r#"{{"time":"2026-01-02T03:04:05Z","client":"a","status":200{rest}}}"#) + "\n";
    let log = line("") + &line(r#","request_time":"1.5""#) + &line("");
    let told = "2 of 3 records have no duration: decided at their stamps";
    let args = ["replay", "-p", "1/s", "--at", "arrival"];
    let run = ratecell_with(&[&args[..], &["--json"]].concat(), log.as_bytes());
    assert_eq!((run.status, &*run.stderr), (Some(0), &*format!("ratecell: {told}\n")));
    assert_eq!(json(&run.stdout)["assumed"]["no_duration"], 2);
    let run = ratecell_with(&args, log.as_bytes());
    assert!(run.stdout.contains(&format!("warning: {told}")), "{}", run.stdout);
    assert!(run.stdout.contains("decided    at the arrival where that is known, "), "{}", run.stdout);

    // At the stamps nothing is amiss, nor where the stamps are the arrivals.
    let args = ["replay", "-p", "1/s", "--json"];
    assert_eq!(json(&ratecell_with(&args, log.as_bytes()).quiet_success())["assumed"]["no_duration"], 0);
    let samples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/edges/samples");
    let of_starts = std::fs::read(samples.join("s3.log")).unwrap();
    let args = [&args[..], &["--at", "arrival"]].concat();
    assert_eq!(json(&ratecell_with(&args, &of_starts).quiet_success())["assumed"]["no_duration"], 0);
}

#[test]
fn time_zero_is_the_midnight_before_the_first_day() {
    // Windows of two days: the first one ends with 17 May, the second one holds 18 and 19 May.
    let log = |day: &str| format!("a - - [{day}/May/2015:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    for (days, denied) in [(["17", "18"], 0), (["18", "17"], 1), (["17", "17"], 1)] {
        let log = days.map(log).concat();
        let args = [&["replay", "-p", "fixed_window 1/2d", "--json"][..], &FILE_ORDER].concat();
        let json = json(&ratecell_with(&args, log.as_bytes()).quiet_success());
        assert_eq!(json["policies"][0]["denied"], denied, "{days:?}");
    }
}

#[test]
fn before_time_zero_is_time_zero() {
    let line =
        |(client, day)| format!("{client} - - [{day}/May/2015:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    // The 13th and the 14th are one day where the record of the 17th has set time zero.
    let log = [("a", 17), ("b", 13), ("b", 14)].map(line).concat();
    let args = [&["replay", "-p", "fixed_window 1/1d", "--json"][..], &FILE_ORDER].concat();
    let json = json(&ratecell_with(&args, log.as_bytes()).quiet_success());
    assert_eq!(json["policies"][0]["denied"], 1);
    assert_eq!(json["first"], "2015-05-13T12:00:00Z");
    assert_eq!(json["last"], "2015-05-17T12:00:00Z");
}

#[test]
fn evicted_keys_are_told() {
    let mut log = String::new();
    for client in 0..2000 {
        log += &format!("c{client} - - [17/May/2015:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    }
    let args = ["replay", "-p", "1/1d", "--max-keys", "100"];
    let run = ratecell_with(&[&args[..], &["--json"]].concat(), log.as_bytes());
    assert_eq!(run.status, Some(0));
    assert!(run.stderr.starts_with("ratecell: 1/d: the state of a key was evicted "), "{}", run.stderr);
    assert!(run.stderr.contains(" times for want of room, "), "{}", run.stderr);
    assert!(run.stderr.ends_with("its counts are not exact: try --max-keys 4000\n"), "{}", run.stderr);

    let run = ratecell_with(&args, log.as_bytes());
    assert!(run.stdout.contains("warning: 1/d: the state of "), "{}", run.stdout);

    let exact = [&args[..3], &["--max-keys", "4000"]].concat();
    assert!(!ratecell_with(&exact, log.as_bytes()).quiet_success().contains("warning"));
}
