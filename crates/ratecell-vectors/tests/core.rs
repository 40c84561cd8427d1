//! Every published vector, decided on plain words by `ratecell-core` alone: no table, no atomics, no clock.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use ratecell_core::algorithm::{Algorithm, Kernel, Log, Plan, SlidingLog};
use ratecell_core::{Decision, Outcome, Policy, Request, Zone, with_kernel};
use ratecell_vectors::{Decides, Replays, Tally, replay};

/// One layer's states, by key.
enum Layer {
    Words(Kernel, HashMap<String, u64>),
    Logs(SlidingLog, HashMap<String, Log>),
}

impl Layer {
    fn step(&mut self, key: &str, now_ns: u64, cost: u32, charge: bool) -> Decision {
        self.decide(key, now_ns, &Request::new(key).cost(cost), charge)
    }

    fn decide(&mut self, key: &str, now_ns: u64, request: &Request<'_>, charge: bool) -> Decision {
        match self {
            Self::Words(kernel, words) => {
                let word = words.get(key).copied().unwrap_or(0);
                let step = with_kernel!(kernel, algorithm => algorithm.decide(word, now_ns, request));
                if let (true, Some(charged)) = (charge, step.charged) {
                    words.insert(key.to_owned(), charged);
                }
                step.decision
            }
            Self::Logs(algorithm, logs) => {
                let log = logs.entry(key.to_owned()).or_insert_with(Log::new);
                algorithm.step(log, 0, now_ns, request.units(), charge)
            }
        }
    }
}

/// The layers of a policy: charged all or none.
struct Layers {
    layers: Vec<Layer>,
    policy: Policy,
    zones: HashMap<String, Zone>,
}

impl Layers {
    fn new(policy: &Policy) -> Self {
        let layer = |plan| match plan {
            Plan::Word(kernel) => Layer::Words(kernel, HashMap::new()),
            Plan::Log(algorithm) => Layer::Logs(algorithm, HashMap::new()),
        };
        let layers = policy.layers().iter().map(|made| layer(made.plan())).collect();
        Self { layers, policy: policy.clone(), zones: HashMap::new() }
    }

    fn step(&mut self, key: &str, now_ns: u64, cost: u32, charge: bool) -> Decision {
        let decisions = self.layers.iter_mut().map(|layer| layer.step(key, now_ns, cost, charge));
        Decision::combined(decisions).expect("a policy has a layer")
    }
}

impl Decides for Layers {
    fn decide(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision {
        if let [only] = &mut *self.layers {
            return only.step(key, now_ns, cost, true);
        }
        let peeked = self.step(key, now_ns, cost, false);
        match peeked.outcome() {
            Outcome::Allowed => self.step(key, now_ns, cost, true),
            Outcome::ClockRange => Decision::clock_range(peeked.limit()).of_layer(peeked.layer() as u32),
            _ => self.step(key, now_ns, 0, false).refused_by(&peeked),
        }
    }

    fn decide_in(&mut self, zone: &str, key: &str, cost: u32, now_ns: u64) -> Option<Decision> {
        if !self.zones.contains_key(zone) {
            self.zones.insert(zone.to_owned(), self.policy.zone(zone).ok()?);
        }
        let request = Request::new(key).cost(cost).zone(&self.zones[zone]);
        Some(self.layers.first_mut()?.decide(key, now_ns, &request, true))
    }
}

/// Keeps what fails.
#[derive(Default)]
struct Failures(Vec<String>);

impl Replays for Failures {
    type Decides = Layers;

    fn decides(&mut self, policy: Policy, _: Option<i64>) -> Result<Layers> {
        Ok(Layers::new(&policy))
    }

    fn failed(&mut self, failure: &str) -> Result<()> {
        self.0.push(failure.to_owned());
        Ok(())
    }
}

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn replayed(name: &str, text: &str) -> (Tally, Vec<String>) {
    let mut failures = Failures::default();
    let tally = replay(name, text.as_bytes(), &mut failures).unwrap_or_else(|error| panic!("{error:#}"));
    (tally, failures.0)
}

/// Files with the number of their rows: none fails.
fn assert_published(files: &[(&str, u64)]) {
    let mut total = 0;
    for (name, rows) in files {
        let (tally, failures) = replayed(name, &read(name));
        assert!(failures.is_empty(), "{}", failures[..failures.len().min(20)].join("\n"));
        assert_eq!((tally.rows, tally.passed, tally.failed), (*rows, *rows, 0), "{name}");
        total += rows;
    }
    println!("{total} rows of {} files passed", files.len());
}

#[test]
fn decisions_as_published() {
    assert_published(&[
        ("backwards.jsonl", 7920),
        ("basic.jsonl", 1290),
        ("boundary.jsonl", 16809),
        ("bursts.jsonl", 9496),
        ("calendar.jsonl", 29286),
        ("calendar_construct.jsonl", 160),
        ("callers/calendar_moving.jsonl", 5370),
        ("construct.jsonl", 66),
        ("float.jsonl", 3294),
        ("grammar.jsonl", 299),
        ("huge.jsonl", 1240),
        ("idle.jsonl", 714),
        ("random.jsonl", 88000),
    ]);
}

#[test]
fn client_keys_as_published() {
    assert_published(&[
        ("edges/client_keys.jsonl", 5125),
        ("edges/client_keys_addresses.jsonl", 5000),
        ("edges/client_keys_construct.jsonl", 189),
        ("edges/rfc5952.jsonl", 37),
        ("edges/rfc7239.jsonl", 33),
    ]);
}

#[test]
fn fields_as_published() {
    assert_published(&[
        ("edges/drafts.jsonl", 9),
        ("edges/fields.jsonl", 1888),
        ("edges/fields_construct.jsonl", 287),
        ("edges/fields_several.jsonl", 560),
    ]);
}

#[test]
fn waiting_as_published() {
    assert_published(&[("edges/waiting.jsonl", 7828)]);
}

/// Reservations, permits and changes of the policy, call by call.
#[test]
fn what_is_held_as_published() {
    assert_published(&[
        ("held/change.jsonl", 14014),
        ("held/change_refused.jsonl", 139),
        ("held/concurrency.jsonl", 10283),
        ("held/concurrency_construct.jsonl", 22),
        ("held/reserve.jsonl", 30008),
        ("held/reserve_unknown.jsonl", 6889),
    ]);
}

#[test]
fn rules_as_published() {
    assert_published(&[
        ("rules/rules_path.jsonl", 2701),
        ("rules/rules_evaluate.jsonl", 3250),
        ("rules/rules_construct.jsonl", 332),
        ("rules/rules_decide.jsonl", 3500),
    ]);
}

/// A file with one of its figures changed fails in one row, which is named, and in no other.
#[test]
fn a_changed_figure_fails() {
    for (name, figure, changed) in [
        ("basic.jsonl", r#"[1000000000000,"a",0,1,10,0,0]"#, r#"[1000000000000,"a",0,1,9,0,0]"#),
        ("construct.jsonl", r#""error":"zero_limit""#, r#""error":"range""#),
        ("grammar.jsonl", r#""error":"syntax""#, r#""error":"range""#),
        ("edges/client_keys.jsonl", r#"["@",[],"unix","end"]"#, r#"["@",[],"unknown","end"]"#),
        ("edges/client_keys.jsonl", r#"["@",[],"unix","end"]"#, r#"["@",[],"unix","short"]"#),
        (
            "edges/client_keys.jsonl",
            r#"["203.0.113.7",[],"203.0.113.7","end"]"#,
            r#"["203.0.113.7",[],"203.0.113.8","end"]"#,
        ),
        ("edges/client_keys_addresses.jsonl", r#"["127.1",null,null]"#, r#"["127.1","127.0.0.1",null]"#),
        (
            "edges/client_keys_construct.jsonl",
            r#""v6":129},"error":"bad_width""#,
            r#""v6":129},"error":null"#,
        ),
        (
            "edges/fields.jsonl",
            r#"["RateLimit","\"api\";r=150;t=1"]"#,
            r#"["RateLimit","\"api\";r=150;t=2"]"#,
        ),
        (
            "edges/fields.jsonl",
            r#"["RateLimit-Policy","100;w=1;burst=200"]"#,
            r#"["RateLimit-Policy","100;w=1"]"#,
        ),
        ("edges/fields_construct.jsonl", r#""error":"bad_name""#, r#""error":"bad_unit""#),
        ("edges/waiting.jsonl", r#"["timer",99999999,[],100000000]"#, r#"["timer",99999999,[],100000001]"#),
        (
            "edges/waiting.jsonl",
            r#"["answer",0,1,1,0,0,[["finish",1,"go",null]],null]"#,
            r#"["answer",0,1,1,0,0,[],null]"#,
        ),
        (
            "held/concurrency.jsonl",
            r#"["release",3,10099999999999,1,1,0,0,1]"#,
            r#"["release",3,10099999999999,1,1,0,0,0]"#,
        ),
        (
            "held/concurrency.jsonl",
            r#"["renew",3,10059999999999,1,0,0,10000000001]"#,
            r#"["renew",3,10059999999999,0,0,1,10000000001]"#,
        ),
        ("held/change_refused.jsonl", r#"{"error":"different_table"}"#, r#"{"error":"range"}"#),
        ("held/concurrency_construct.jsonl", r#""error":"zero_limit""#, r#""error":"range""#),
        ("rules/rules_path.jsonl", r#"["path","//admin",["/admin"]]"#, r#"["path","//admin",["/x"]]"#),
        ("rules/rules_path.jsonl", r#"["host","a..","a."]"#, r#"["host","a..","a"]"#),
        ("rules/rules_construct.jsonl", r#""error":"bad_version""#, r#""error":"bad_value""#),
        ("rules/rules_construct.jsonl", r#""why":"zero_limit""#, r#""why":"range""#),
        (
            "rules/rules_evaluate.jsonl",
            r#"["pages","20/s","pages;client=::/64",1,"enforce"]"#,
            r#"["pages","20/s","pages;client=::1",1,"enforce"]"#,
        ),
        (
            "rules/rules_decide.jsonl",
            r#"1,null,0,0,"pages",20,19,50000000,[]]"#,
            r#"1,null,0,0,"pages",20,19,50000001,[]]"#,
        ),
    ] {
        let text = read(name);
        let spoiled = text.replacen(figure, changed, 1);
        assert_ne!(spoiled, text, "{name}: no {figure}");
        let line = 1 + text.split(figure).next().map_or(0, |before| before.matches('\n').count());
        let (tally, failures) = replayed(name, &spoiled);
        assert_eq!((tally.passed + 1, tally.failed), (tally.rows, 1), "{figure} as {changed}: {failures:?}");
        assert!(failures[0].starts_with(&format!("{name}:{line}: ")), "{failures:?}");
    }
}

/// Of each kind: a line that is none of its rows is an error, which names the line.
#[test]
fn what_is_no_row_is_an_error() {
    for (kind, line, expected) in [
        ("grammar", r#"["2/m"]"#, "expected a text and what it is read as, or its error"),
        ("client_keys", r#"["@",[]]"#, "expected a peer, its fields, the key and the search's end"),
        ("client_keys", r#"{"width":{"v4":7,"v6":64},"trust":null}"#, "bad_width: "),
        ("client_keys_addresses", r#"["1.2.3.4",null]"#, "expected a text and its two keys"),
        ("client_keys_construct", r#"{"width":{"v4":4294967296,"v6":64}}"#, "expected a width, a trust and "),
        (
            "fields",
            r#"{"section":"decided/0","policies":[{"layers":[{"text":"5","capacity":1}]}]}"#,
            "expected a policy: ",
        ),
        (
            "fields",
            r#"{"decision":{},"style":"x"}"#,
            "expected decisions, a style, an instant and the fields",
        ),
        ("fields_construct", r#"{"policy":{"partition":"f","layers":[]}}"#, "expected a policy's label and "),
        ("waiting", "[1]", "expected an event, its instant, the actions and the next instant"),
        ("waiting", r#"["sleep",0,[],null]"#, "no event: "),
        ("waiting", r#"["answer",0,1,0,null,0,[],null]"#, "no event: "),
        ("waiting", r#"["timer",0.0,[],null]"#, "expected an instant: "),
        ("waiting", "nonsense", "not a row, expected JSON: "),
        ("reserve", "7", "expected a section with its policy: "),
        ("concurrency_construct", "[1]", "expected a policy, and its resolved form or its error: "),
        ("rules_path", r#"["path","/"]"#, "expected what is asked, of what, and the answer"),
        ("rules_construct", "{}", "expected a file of rules and what comes of it"),
        ("rules_evaluate", r#"["evaluate",{},{}]"#, "expected a section first"),
        ("rules_decide", r#"{"rules":"rule = 1"}"#, "line 1: ratecell_rules: missing_field: "),
    ] {
        let text = format!("{{\"ratecell_vectors\":3,\"kind\":\"{kind}\",\"columns\":[]}}\n\n{line}\n");
        let error = replay("file", text.as_bytes(), &mut Failures::default()).expect_err(line);
        let error = format!("{error:#}");
        assert!(error.starts_with(&format!("file:3: {expected}")), "{error}");
    }
}
