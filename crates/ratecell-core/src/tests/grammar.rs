//! What the documents say of the policies' grammar, against what is read and printed.

use std::prelude::v1::*;
use std::vec;

use crate::algorithm::SPECS;
use crate::algorithm::params::{COMMON_OPTIONS, Key, Params};
use crate::algorithm::words::UNITS;

const DEFINITION: &str = include_str!("../../../../vectors/README.md");

/// The cells of each row of the table that begins with these columns.
fn table<'a>(text: &'a str, columns: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().map(|line| line.trim_start_matches("/// "));
    let rows = lines.skip_while(|line| !line.starts_with(columns)).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// What stands in a cell between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The names of the options among what a cell quotes.
fn options(cell: &str) -> Vec<&str> {
    quoted(cell).into_iter().filter_map(|quoted| Some(quoted.split_once('=')?.0)).collect()
}

fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name()).collect()
}

#[test]
fn the_units_are_as_defined() {
    let rows = table(DEFINITION, "| printed |");
    assert_eq!(rows.len(), UNITS.len());
    for (row, unit) in rows.iter().zip(&UNITS) {
        assert_eq!((quoted(row[0]), quoted(row[1])), (vec![unit.name], unit.others.to_vec()));
        assert_eq!(row[2], unit.ns.to_string(), "{}", unit.name);
    }
}

#[test]
fn the_algorithms_and_their_options_are_as_defined() {
    for (text, options_at) in [(DEFINITION, 3), (include_str!("../policy.rs"), 1)] {
        let rows = table(text, "| algorithm |");
        assert_eq!(rows.len(), SPECS.len() + 1);
        for (row, form) in rows.iter().zip(SPECS) {
            assert_eq!(quoted(row[0]), [form.name]);
            assert_eq!(options(row[options_at]), names(form.options), "{}", form.name);
        }
        let all = rows.last().expect("a row for all");
        assert_eq!((all[0], options(all[options_at])), ("all", names(&COMMON_OPTIONS)));
    }
}

#[test]
fn decimals_are_taken_where_it_is_defined() {
    for (row, form) in table(DEFINITION, "| algorithm |").iter().zip(SPECS) {
        let taken = (form.quota.is_rate)(&Params::default());
        assert_eq!(taken, row[2] != "no", "{}", form.name);
    }
}

/// Each name of a unit is among the published texts, and each algorithm.
#[test]
fn every_name_has_a_vector() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/grammar.jsonl");
    let vectors = std::fs::read_to_string(file).expect("the vectors of the grammar");
    let accepted: Vec<_> = vectors.lines().filter(|line| line.contains("\"canonical\"")).collect();
    let texts = || accepted.iter().filter_map(|line| line.split('"').nth(3));
    let units = UNITS.iter().flat_map(|unit| unit.others.iter().chain([&unit.name]));
    for unit in units {
        let ends_so = |word: &str| word.trim_start_matches(|c: char| !c.is_ascii_alphabetic()) == *unit;
        let found = texts().any(|text| text.split([' ', '/', '=']).any(ends_so));
        assert!(found, "no text has the unit {unit}");
    }
    for form in SPECS {
        assert!(
            texts().any(|text| text.split(' ').any(|word| word == form.name)),
            "no text of {}",
            form.name
        );
    }
}

#[test]
fn all_options_are_those_of_the_algorithms() {
    let mut of_forms: Vec<_> =
        SPECS.iter().flat_map(|form| form.options).chain(&COMMON_OPTIONS).map(|key| key.name()).collect();
    let mut all = names(&Key::ALL);
    for names in [&mut of_forms, &mut all] {
        names.sort_unstable();
        names.dedup();
    }
    assert_eq!(all, of_forms);
}
