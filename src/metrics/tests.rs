use std::collections::BTreeSet;
use std::path::Path;

use super::{Kind, Value, all, samples};
use crate::limiter::Shared;
use crate::table::Stats;

/// The rows of the tables of metrics in the documentation: name, type, field, meaning.
fn documented() -> Vec<[String; 4]> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/OPERATIONS.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| `ratecell_"));
    rows.map(|row| {
        let cells: Vec<_> =
            row.split(" | ").map(|cell| cell.trim_matches(['|', ' ', '`']).to_owned()).collect();
        cells.try_into().unwrap_or_else(|cells| panic!("{row}: {cells:?}"))
    })
    .collect()
}

#[test]
fn the_documentation_lists_them_in_this_order() {
    let documented = documented();
    let listed: Vec<_> = all()
        .map(|metric| [metric.name, metric.kind.as_str(), metric.field, metric.help].map(str::to_owned))
        .collect();
    assert_eq!(documented[..listed.len()], listed[..]);
    // Those of the exporter and of nginx alone follow, and have no field.
    assert!(documented[listed.len()..].iter().all(|[_, _, field, _]| field == "—"), "{documented:?}");
    let names: BTreeSet<_> = documented.iter().map(|[name, ..]| name).collect();
    assert_eq!(names.len(), documented.len());
}

#[test]
fn the_names_follow_the_conventions() {
    for metric in all() {
        assert!(metric.name.starts_with("ratecell_"), "{metric:?}");
        assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{metric:?}");
        assert!(metric.help.ends_with('.') && !metric.help.contains(['"', '\\', '\n', '|']), "{metric:?}");
    }
}

#[test]
fn every_metric_shows_its_own_field() {
    let mut next = 0;
    let mut number = || {
        next += 1;
        next
    };
    let stats = Stats {
        live: number() as usize,
        live_error: number() as usize,
        slots: number() as usize,
        bytes: number() as usize,
        evicted: number(),
        forgiven: number(),
        shared: number(),
        denied_full: number(),
        allowed_full: number(),
        exhausted: number(),
    };
    let shared = Shared {
        leased: number(),
        used: number(),
        passed: number(),
        given_back: number(),
        misses: number(),
        waits: number(),
        timeouts: number(),
        operations: number(),
        swaps_lost: number(),
        lag_ns: number() * 1_000_000_000,
        healed: number(),
        board_full: number(),
        opened: number(),
        local: number(),
        is_connected: true,
        ..Shared::default()
    };
    let values: Vec<_> = samples(&stats, Some(&shared)).map(|sample| sample.value.as_f64()).collect();
    let mut expected: Vec<_> = (1..=24).map(f64::from).collect();
    expected.push(1.0);
    assert_eq!(values, expected);
    let without: Vec<_> = samples(&stats, None).map(|sample| sample.metric.field).collect();
    assert_eq!(without.len(), 10);
    assert_eq!(without.last(), Some(&"exhausted"));
}

#[test]
fn the_fields_are_those_of_the_stats() {
    let debug = format!("{:?} {:?}", Stats::default(), Shared::default());
    for metric in all() {
        let field = if metric.field == "connected" { "is_connected" } else { metric.field };
        assert!(debug.contains(&format!(" {field}: ")), "{metric:?}");
    }
    let fields = debug.matches(": ").count();
    // The store's name, whether there is an agent, and the warnings are no metrics.
    assert_eq!(fields, all().count() + 3, "{debug}");
}

#[test]
fn values_are_printed_as_numbers() {
    for (value, text) in [
        (Value::Count(u64::MAX), "18446744073709551615"),
        (Value::Real(0.0), "0"),
        (Value::Real(1.5e-9), "0.0000000015"),
        (Value::Real(0.71), "0.71"),
    ] {
        assert_eq!(value.to_string(), text);
    }
}
