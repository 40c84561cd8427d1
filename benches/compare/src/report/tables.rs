//! The tables, as Markdown.

use std::fmt::Write;

use super::{MEMORY, STORMS};
use crate::grouped;
use crate::measure::{Series, Spread};
use crate::results::{Column, HugePages, Results};
use crate::stores::Answer;

/// Three digits, or as many as there are.
fn short(number: f64) -> String {
    let digits = if number < 10.0 { 1 } else { 0 };
    format!("{number:.digits$}")
}

/// Median, best decile, and the median ratio to the table's baseline.
fn cell(series: &Series, column: &Column) -> String {
    let Spread { median, best_decile } = series.ns();
    let ratio = column.row(column.baseline).map(|baseline| series.over(baseline).median);
    let ratio = ratio.map(|ratio| format!(" ×{ratio:.2}")).unwrap_or_default();
    format!("{} [{}]{ratio}", short(median), short(best_decile))
}

/// What a row answered in all its columns.
fn share(columns: &[&Column], row: &str) -> String {
    if row.starts_with("floor") {
        return String::new();
    }
    let shares = columns.iter().filter_map(|column| column.row(row)).map(Series::allowed);
    // The one that is furthest from what it should be.
    let worst = match columns.first().map(|column| column.answer) {
        Some(Answer::Allowed) => shares.fold(1.0, f64::min),
        _ => shares.fold(0.0, f64::max),
    };
    format!("{worst:.4}")
}

fn header(text: &mut String, title: &str, columns: &[&str]) {
    writeln!(text, "\n### {title}\n").expect("a string");
    line(text, columns.iter().map(|column| (*column).to_owned()));
    line(text, columns.iter().map(|_| "---".to_owned()));
}

fn line(text: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    writeln!(text, "| {} |", cells.join(" | ")).expect("a string");
}

fn measured(text: &mut String, title: &str, columns: &[&Column]) {
    let names = columns.iter().map(|column| column.name.as_str());
    let head: Vec<&str> = ["store"].into_iter().chain(names).chain(["share allowed"]).collect();
    header(text, title, &head);
    let Some(first) = columns.first() else { return };
    for (row, _) in &first.rows {
        let cells = columns
            .iter()
            .map(|column| column.row(row).map(|series| cell(series, column)).unwrap_or_default());
        line(text, [(*row).to_owned()].into_iter().chain(cells).chain([share(columns, row)]));
    }
}

fn storms(text: &mut String, results: &Results) {
    let mut sizes: Vec<u32> = results.storms.iter().map(|storm| storm.keys).collect();
    sizes.dedup();
    for keys in sizes {
        let storms: Vec<_> = results.storms.iter().filter(|storm| storm.keys == keys).collect();
        let Some(first) = storms.first() else { continue };
        let mut from = 0;
        let parts = first.parts.iter().map(|part| {
            let name = format!("{from} to {} %", part.percent);
            from = part.percent;
            name
        });
        let parts: Vec<String> = parts.collect();
        let parts = parts.iter().map(String::as_str);
        let mut columns = vec!["store", "build, ms"];
        columns.extend(parts.clone());
        let title = format!("{STORMS} built for {} keys", grouped(keys));
        header(text, &format!("{title}: ns a key"), &columns);
        for storm in &storms {
            let ns = storm.parts.iter().map(|part| short(Spread::of(part.ns_per_key.clone()).median));
            line(text, [storm.store.to_owned(), format!("{:.1}", storm.build_ms)].into_iter().chain(ns));
        }
        columns.remove(1);
        header(
            text,
            &format!("{title}: one insertion, µs: median / worst in every run / worst in any"),
            &columns,
        );
        for storm in &storms {
            let worst = storm.parts.iter().map(|part| {
                let numbers = [part.median_us, part.worst_us, part.worst_once_us];
                numbers.map(short).join(" / ")
            });
            line(text, [storm.store.to_owned()].into_iter().chain(worst));
        }
    }
}

fn memory(text: &mut String, results: &Results) {
    header(
        text,
        &format!("{MEMORY}: resident bytes a key"),
        &["store", "keys", "bytes of a key", "bytes a key"],
    );
    for memory in &results.memory {
        let numbers =
            [grouped(memory.keys), memory.key_len.to_string(), format!("{:.1}", memory.bytes_per_key)];
        line(text, [memory.store.to_owned()].into_iter().chain(numbers));
    }
}

pub(super) fn all(results: &Results) -> String {
    let mut text = String::new();
    for title in results.tables() {
        let columns = results.columns.iter().filter(|column| column.table == title);
        measured(&mut text, title, &columns.collect::<Vec<_>>());
    }
    if !results.storms.is_empty() {
        storms(&mut text, results);
        memory(&mut text, results);
    }
    text
}

/// How much of the tables has the pages that they asked for.
pub(super) fn huge_pages(results: &Results) -> String {
    let mut text = String::new();
    for pages in &results.huge_pages {
        let HugePages { keys, answer, resident, .. } = *pages;
        let (keys, answer, megabytes) = (grouped(keys), answer.name(), resident >> 20);
        let percent = pages.percent();
        writeln!(text, "- on huge pages, {keys} keys, {answer}: {percent:.0} % of {megabytes} MB")
            .expect("a string");
    }
    text
}

pub(super) fn instructions(results: &Results) -> String {
    let mut text = String::new();
    if !results.instructions.is_empty() {
        line(&mut text, ["case", "instructions"].into_iter().map(str::to_owned));
        line(&mut text, ["---", "---"].into_iter().map(str::to_owned));
        for (case, count) in &results.instructions {
            line(&mut text, [case.clone(), format!("{count:.1}")].into_iter());
        }
    }
    text
}
