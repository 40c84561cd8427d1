//! `ratecell replay`: the counts, against counts made here from the definitions of the policies.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Files, arg, ratecell, ratecell_with};

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
    const CLIENTS: [&str; 5] = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "::1", "example.org"];
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

fn policy_json(policy: &str, counts: &Counts, top: usize) -> String {
    let mut denied: Vec<_> = counts.iter().filter(|(_, (_, denied))| *denied > 0).collect();
    denied.sort_by_key(|(client, (_, denied))| (u64::MAX - denied, **client));
    let keys: Vec<_> = denied
        .iter()
        .take(top)
        .map(|(client, (allowed, denied))| {
            format!(r#"{{"key":"{client}","denied":{denied},"allowed":{allowed}}}"#)
        })
        .collect();
    format!(
        r#"{{"policy":"{policy}","allowed":{},"denied":{},"keys":{},"keys_denied":{},"top_denied":[{}]}}"#,
        counts.values().map(|(allowed, _)| allowed).sum::<u64>(),
        counts.values().map(|(_, denied)| denied).sum::<u64>(),
        counts.len(),
        denied.len(),
        keys.join(","),
    )
}

#[test]
fn the_json_is_exactly_the_counts() {
    let records = disordered();
    let files = Files::new(&[("access.log", &log(&records))]);
    let path = files.path("access.log");
    let args = ["replay", arg(&path), "--policy", "fixed_window 30/60s", "--policy", "gcra 1/3s burst=9"];
    let args = [&args[..], &["--json", "--top", "2"]].concat();
    let run = ratecell(&args);
    assert_eq!((run.status, run.stdout), (Some(0), report_json(&records)));
    let (count, furthest) = out_of_order(&records);
    assert!(count > 50 && furthest > 60, "{count} by up to {furthest} s");
    let warning = format!("ratecell: {count} of 2400 records are earlier than one before them, by up to 1m ");
    assert!(run.stderr.starts_with(&warning) && run.stderr.contains("--sort"), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);

    let mut sorted = records;
    sorted.sort_by_key(|(second, _)| *second);
    assert_eq!(ratecell(&[&args[..], &["--sort"]].concat()).quiet_success(), report_json(&sorted));
}

/// What `--policy 'fixed_window 30/60s' --policy 'gcra 1/3s burst=9' --json --top 2` prints.
fn report_json(records: &[Record]) -> String {
    let (window, gcra) = (fixed_window(records, 30), gcra(records, 3, 9));
    let denied = |counts: &Counts| counts.values().map(|(_, denied)| denied).sum::<u64>();
    assert!(denied(&window) > 0 && denied(&gcra) > 0);
    let (first, last) = (records[0].0, records[records.len() - 1].0);
    let (out_of_order, furthest) = out_of_order(records);
    format!(
        r#"{{"records":{},"malformed":0,"first":"{}","last":"{}","out_of_order":{out_of_order},"out_of_order_by_s":{furthest}.0,"policies":[{},{}]}}"#,
        records.len(),
        rfc3339(first),
        rfc3339(last),
        policy_json("fixed_window 30/m", &window, 2),
        policy_json("1/3s burst=9", &gcra, 2),
    ) + "\n"
}

/// How many records are earlier than one before them, and the most seconds that one of them is.
fn out_of_order(records: &[Record]) -> (usize, i64) {
    let behind = |(i, (second, _)): (usize, &Record)| {
        records[..i].iter().map(|(before, _)| before - second).max().filter(|behind| *behind > 0)
    };
    let behind = records.iter().enumerate().filter_map(behind);
    (behind.clone().count(), behind.max().unwrap_or(0))
}

fn rfc3339(second: i64) -> String {
    format!("2015-05-17T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[test]
fn the_tables_show_the_same_counts() {
    let records = disordered();
    let counts = fixed_window(&records, 30);
    let run = ratecell_with(&["replay", "--policy", "fixed_window 30/1m"], &log(&records));
    let out = run.quiet_success();
    assert!(
        out.contains("\nwarning: ") && out.contains(" records are earlier than one before them"),
        "{out}"
    );
    let lines: BTreeSet<String> =
        out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for (client, (allowed, denied)) in &counts {
        let percent = 100.0 * *denied as f64 / (allowed + denied) as f64;
        let row = format!("{client} {denied} {allowed} {percent:.2}");
        assert_eq!(lines.contains(&row), *denied > 0, "{row} in\n{out}");
    }
    assert!(lines.contains("records 2400") && lines.contains("malformed 0"), "{out}");
    assert!(lines.contains(&format!("first {}", rfc3339(records[0].0))), "{out}");
}

#[test]
fn time_zero_is_the_midnight_before_the_first_day() {
    // Windows of two days: the first one ends with 17 May, the second one holds 18 and 19 May.
    let log = |day: &str| format!("a - - [{day}/May/2015:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    for (days, denied) in [(["17", "18"], 0), (["18", "17"], 1), (["17", "17"], 1)] {
        let log = days.map(log).concat();
        let run = ratecell_with(&["replay", "-p", "fixed_window 1/2d", "--json"], log.as_bytes());
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(json["policies"][0]["denied"], denied, "{days:?}");
    }
}

#[test]
fn before_time_zero_is_time_zero() {
    let line =
        |(client, day)| format!("{client} - - [{day}/May/2015:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    // The 13th and the 14th are one day where the record of the 17th has set time zero.
    let log = [("a", 17), ("b", 13), ("b", 14)].map(line).concat();
    let run = ratecell_with(&["replay", "-p", "fixed_window 1/1d", "--json"], log.as_bytes());
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["policies"][0]["denied"], 1);
    assert_eq!(json["first"], "2015-05-17T12:00:00Z");
    assert_eq!(json["last"], "2015-05-14T12:00:00Z");
}

#[test]
fn a_log_out_of_order_denies_what_the_same_log_in_order_does_not() {
    // A record a second, and each two of them have changed places.
    let records: Vec<Record> = (0..60).map(|i| (36_000 + (i ^ 1), "client")).collect();
    let log = log(&records);
    let args = ["replay", "-p", "1/s", "--json"];
    let run = ratecell_with(&args, &log);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&json["out_of_order"], &json["out_of_order_by_s"]), (&30.into(), &1.0.into()));
    assert_eq!(json["policies"][0]["denied"], 30);
    assert_eq!(
        run.stderr,
        "ratecell: 30 of 60 records are earlier than one before them, by up to 1s; they may be denied for that alone: sort the log by time, or use --sort\n"
    );

    let out = ratecell_with(&[&args[..], &["--sort"]].concat(), &log).quiet_success();
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&json["out_of_order"], &json["policies"][0]["denied"]), (&0.into(), &0.into()));
    assert_eq!((&json["first"], &json["last"]), (&rfc3339(36_000).into(), &rfc3339(36_059).into()));
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
    assert!(run.stderr.starts_with("ratecell: 1/d: the state of "), "{}", run.stderr);
    assert!(run.stderr.ends_with("its counts are not exact: try --max-keys 4000\n"), "{}", run.stderr);

    let run = ratecell_with(&args, log.as_bytes());
    assert!(run.stdout.contains("warning: 1/d: the state of "), "{}", run.stdout);

    let exact = [&args[..3], &["--max-keys", "4000"]].concat();
    assert!(!ratecell_with(&exact, log.as_bytes()).quiet_success().contains("warning"));
}
